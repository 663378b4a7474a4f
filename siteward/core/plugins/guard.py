"""Foreign code is called here and nowhere else: what it raises becomes a value, and what never returns is left behind."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")

GRACE_SECONDS = 1.0
"""How long a cancelled set-up may take to clean up."""


@dataclass(frozen=True, slots=True)
class Worked(Generic[T]):
    """What the code returned."""

    value: T


@dataclass(frozen=True, slots=True)
class Raised:
    """What the code raised: the error, the last line of its traceback, and the file and line that raised it."""

    error: BaseException
    last_line: str
    where: str


@dataclass(frozen=True, slots=True)
class Hung:
    """It had not returned after `seconds`."""

    seconds: float


def attempt(work: Callable[[], T]) -> Worked[T] | Raised:
    """Call foreign code. A `SystemExit` of an import is an error of the integration, not the end of the host."""
    try:
        return Worked(work())
    except (Exception, SystemExit) as error:  # noqa: BLE001 (foreign code: whatever it raises stays its own)
        return raised(error)


async def attempt_in_thread(work: Callable[[], T], seconds: float) -> Worked[T] | Raised | Hung:
    """Call foreign code that may block, in a thread of its own, so that neither the loop nor the exit of the host waits for it."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Worked[T] | Raised] = loop.create_future()

    def settle(outcome: Worked[T] | Raised) -> None:
        if not result.done():
            result.set_result(outcome)

    def body() -> None:
        outcome = attempt(work)
        with suppress(RuntimeError):  # the loop ended meanwhile: nobody waits for this any more
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=body, name="integration", daemon=True).start()
    done, _ = await asyncio.wait([result], timeout=seconds)
    return result.result() if done else Hung(seconds)


async def attempt_async(work: Callable[[], Awaitable[T]], seconds: float) -> Worked[T] | Raised | Hung:
    """Await foreign code for at most `seconds`. It runs in a task of its own, so that the deadline is ours and not its own: code that ignores
    its cancellation is left behind, and said to hang."""
    task = _owned(to_value(work))
    try:
        # Most code has answered after one round of the loop, which costs no timer.
        await asyncio.sleep(0)
        if not task.done():
            await asyncio.wait([task], timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task], timeout=GRACE_SECONDS)
        raise
    if task.done():
        return task.result()
    task.cancel()
    await asyncio.wait([task], timeout=GRACE_SECONDS)
    return Hung(seconds)


async def to_value(work: Callable[[], Awaitable[T]]) -> Worked[T] | Raised:
    """Await foreign code in this task, for as long as it takes: what it raises becomes a value, and only who cancels this task cancels."""
    try:
        return Worked(await work())
    except asyncio.CancelledError as error:
        # Raised by the code itself where nobody cancelled it: it waited for a task of its own that is gone.
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return raised(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (foreign code: whatever it raises stays its own)
        return raised(error)


_running: set[asyncio.Task[Any]] = set()
"""Tasks of foreign code until they end; the loop alone would hold them weakly."""


def _owned(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    task = asyncio.create_task(work)
    _running.add(task)
    task.add_done_callback(_running.discard)
    return task


def raised(error: BaseException) -> Raised:
    """An error as a record keeps it."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    where = f"{last.filename}:{last.lineno}" if last else ""
    return Raised(error, traceback.format_exception_only(error)[-1].strip(), where)
