"""How long the loop is held by one callback while the demo's story is played: start, log-in, a vehicle, Look, the guard's answer, the gate.

Every callback of the loop is timed. Printed are median, p99 and the longest of several stories, and what held the loop longest. The pages that a
person watches, and every other run of the site, wait for that long.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from asyncio import events
from contextlib import suppress
from pathlib import Path
from typing import Any

from siteward.core.commands.visitor import play_story
from siteward.core.demo_site import write_demo_site
from siteward.core.host import open_host
from siteward.core.web import serving

STORIES = 5
WORST = 8


class Timed:
    """Times every callback of the loop while the block runs."""

    def __init__(self) -> None:
        self.held: list[tuple[float, str]] = []
        self._run: Any = events.Handle._run

    def __enter__(self) -> Timed:
        run, held = self._run, self.held

        def timed(handle: Any) -> None:
            begun = time.perf_counter()
            try:
                run(handle)
            finally:
                spent = time.perf_counter() - begun
                held.append((spent, "" if spent < 0.005 else _named(handle)))

        events.Handle._run = timed  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *_: object) -> None:
        events.Handle._run = self._run  # type: ignore[method-assign]


def _named(handle: Any) -> str:
    """The task behind a callback and the line where it stands afterwards, else the callback."""
    task = getattr(handle._callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        with suppress(RuntimeError):
            stack = task.get_stack(limit=8)
            at = " < ".join(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" for frame in reversed(stack))
            return f"{task.get_name()} {task.get_coro()!r} {at}"[:220]
    return repr(handle._callback)[:220]


async def story(folder: Path) -> None:
    """One story, as `siteward demo --once` plays it."""
    async with open_host(folder) as host:
        await host.start()
        async with serving(host, "127.0.0.1", 0) as address:
            await play_story(host, address, "Let in")


def main() -> None:
    longest, everything = [], []
    for _ in range(STORIES):
        with tempfile.TemporaryDirectory() as scratch, Timed() as timed:
            write_demo_site(Path(scratch))
            asyncio.run(story(Path(scratch)))
        everything += timed.held
        longest.append(max(spent for spent, _ in timed.held) * 1000)
    spent = sorted(one for one, _ in everything)
    print(f"{STORIES} stories, {len(spent)} callbacks")
    print(
        f"p50 {statistics.median(spent) * 1000:.2f} ms  p99 {spent[int(len(spent) * 0.99)] * 1000:.1f} ms  longest "
        f"{statistics.median(longest):.0f} ms (median of {STORIES}; {min(longest):.0f}-{max(longest):.0f})"
    )
    for one, name in sorted(everything, reverse=True)[:WORST]:
        print(f"{one * 1000:8.1f} ms  {name}")


if __name__ == "__main__":
    main()
