"""Builds of the engine that break a promise on purpose. The matrix must find each; `finds` is what the check says that finds it.

They break it at seams that stay: the statements that go to the store, the site's answers, what an integration is handed.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from siteward.core.engine import acting
from siteward.core.engine.engine import Engine
from siteward.core.events.event import Event
from siteward.core.plugins.objects import ActionCall
from siteward.core.store.errors import CommitFailed
from siteward.core.store.store import Store
from siteward.core.store.writer import Op
from tests.crash.deaths import through
from tests.crash.world import CrashSite


def _rewritten(rewrite: Callable[[tuple[Op, ...]], Iterable[Op]]) -> None:
    """Let `rewrite` say what is sent to the database."""
    send = Store.send
    through(lambda store, *ops: send(store, *rewrite(ops)))


def _without(unwanted: Callable[[Op], bool]) -> None:
    _rewritten(lambda ops: (op for op in ops if not unwanted(op)))


def _changed(change: Callable[[Op], Op]) -> None:
    _rewritten(lambda ops: map(change, ops))


def _is_intent(op: Op) -> bool:
    return op.sql.startswith("INSERT INTO workflow_run_steps") and op.params.get("status") == "intent"


def _with(op: Op, **params: Any) -> Op:
    return Op(op.sql, {**op.params, **params}, op.expect)


def skip_the_intent() -> None:
    """It acts without having committed its intent."""
    _without(_is_intent)


def result_before_acting() -> None:
    """It commits the result of a step, and then acts."""
    _changed(lambda op: _with(op, status="done") if _is_intent(op) else op)


def repeat_what_moves() -> None:
    """It sends a move again when it finds no result of it."""
    _changed(
        lambda op: _with(op, result=op.params["result"].replace('"once"', '"keyed_retry"')) if _is_intent(op) else op
    )


def acknowledge_before_commit() -> None:
    """It tells a source that an event is accepted before its row is committed."""
    accept, drain = Engine.accept, Engine.drain
    accepting: list[asyncio.Task[Any]] = []

    async def at_once(self: Engine, event: Event) -> tuple[str, ...]:
        accepting.append(asyncio.create_task(accept(self, event)))
        return ()

    async def draining(self: Engine) -> None:
        while accepting:
            await accepting.pop()
        await drain(self)

    Engine.accept = at_once  # type: ignore[method-assign]
    Engine.drain = draining  # type: ignore[method-assign]


def drop_the_fence() -> None:
    """It writes a run without asking whether the run is still its own."""
    _changed(lambda op: Op(op.sql.replace(" AND fence = :fence", ""), op.params, op.expect))


def forget_to_take_the_wait() -> None:
    """It wakes a run and leaves its wait open."""
    _without(lambda op: op.sql.startswith("UPDATE waits SET state = 'taken'"))


def forget_freshness() -> None:
    """It takes every word as fresh, when it decides and in what it hands to who moves."""
    CrashSite.fresh_for = lambda self, target: 1e6  # type: ignore[method-assign]


def new_key_at_each_retry() -> None:
    """It sends each attempt under a key of its own."""
    numbers = itertools.count()

    def call(*, key: str, **fields: Any) -> ActionCall:
        return ActionCall(key=f"{key}#{next(numbers)}", **fields)

    vars(acting)["ActionCall"] = call


def _at_start(sql: str) -> None:
    start = Engine.start

    async def starting(self: Engine) -> None:
        await self._parts.store.submit(Op(sql))
        await start(self)

    Engine.start = starting  # type: ignore[method-assign]


def end_waits_at_start() -> None:
    """A restart takes every wait for over."""
    _at_start("UPDATE waits SET due_at = 0 WHERE state = 'open' AND due_at IS NOT NULL AND kind <> 'schedule'")


def begin_waits_anew() -> None:
    """A restart makes waits longer."""
    _at_start("UPDATE waits SET due_at = due_at + 7 WHERE state = 'open' AND due_at IS NOT NULL AND kind <> 'schedule'")


def match_without_a_mark() -> None:
    """It makes the runs of an event and does not write that it did."""
    _without(lambda op: op.sql.startswith("UPDATE events SET matched"))


def records_apart() -> None:
    """It writes the records of a step in a transaction of their own."""

    send = Store.send

    async def apart(store: Store, ops: Sequence[Op]) -> None:
        for ours in (True, False):
            await send(store, *(op for op in ops if _is_record(op) is ours))

    def sending(store: Store, *ops: Op) -> asyncio.Future[None]:
        return asyncio.ensure_future(apart(store, ops)) if any(map(_is_record, ops)) else send(store, *ops)

    through(sending)


def _is_record(op: Op) -> bool:
    return op.sql.startswith(("INSERT INTO logs", "INSERT INTO alerts"))


def swallow_a_failed_commit() -> None:
    """It goes on as if a commit that failed had not."""
    send = Store.send

    def hopeful(store: Store, *ops: Op) -> asyncio.Future[None]:
        return asyncio.ensure_future(_hoping(send(store, *ops)))

    through(hopeful)


async def _hoping(sent: asyncio.Future[None]) -> None:
    with suppress(CommitFailed):
        await sent


@dataclass(frozen=True)
class Fault:
    """A build and the stories in which it shows: kills at these boundaries of a scenario, one story each, until one is found wrong. Without boundaries one
    story without a kill. `hiccup`: at one of the first writes; `frozen`: the first process stands still at one of them, the second at another."""

    breaks: Callable[[], None]
    finds: str
    scenario: str
    at: tuple[str, ...] = ()
    down: str = "soon"
    hiccup: bool = False
    frozen: bool = False


FAULTS: Mapping[str, Fault] = {
    fault.breaks.__name__: fault
    for fault in (
        Fault(skip_the_intent, "was sent while its step said None on the disk", "effects"),
        Fault(result_before_acting, "was sent while its step said done on the disk", "effects"),
        Fault(repeat_what_moves, "was done 2 times", "everything", ("act.after",)),
        Fault(acknowledge_before_commit, "was acknowledged and is lost", "chain", ("commit.before",)),
        Fault(drop_the_fence, "was written 2 times", "everything", ("step.answered",), frozen=True),
        Fault(forget_to_take_the_wait, "never came to rest", "silence"),
        Fault(forget_freshness, "s after the word that allowed it", "everything", ("answer.committed",), "late"),
        Fault(new_key_at_each_retry, "went out under 3 keys", "retries"),
        Fault(end_waits_at_start, "was to wait", "waits", ("step.committed",)),
        Fault(begin_waits_anew, "was to wait", "waits", ("step.committed",)),
        Fault(match_without_a_mark, "was never matched", "chain"),
        Fault(records_apart, "was written 2 times", "chain", ("commit.after",)),
        Fault(swallow_a_failed_commit, "it ended otherwise than undisturbed", "chain", hiccup=True),
    )
}
