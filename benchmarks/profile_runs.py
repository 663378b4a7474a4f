"""Where a run's time goes: CPU by thread, then by room and by function, for the loop's thread, the writer's and the readers'.

    python -m benchmarks.profile_runs [--runs 1000] [--at-once 100] [--top 25] [--by cumulative]

The unit is `benchmarks.ours`'s. The first table is measured without a profiler: wall time and the CPU that each thread used per run, the commits,
statements and reads per run. The others are of a second round under cProfile with a clock of the thread's own CPU, so waiting for the disk, the lock of the
interpreter or the loop does not count. The profiler makes small functions look dearer than they are: trust the first table for totals and
the others for shares. Needs Python 3.11, whose profiler is one per thread.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.ours import runs_at_once, unit_house
from tests.engine.house import House

OURS = "siteward-"
"""How the store's threads are named."""
LOOP = "loop"
WARM_UP = 200


def thread_cpu() -> dict[str, float]:
    """CPU seconds so far of the loop's thread and of each of the store's."""
    found: dict[str, float] = {}
    for thread in threading.enumerate():
        name = LOOP if thread is threading.main_thread() else thread.name
        if thread.ident is not None and (name == LOOP or name.startswith(OURS)):
            found[name] = time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
    return found


@contextmanager
def profiled_threads(into: dict[str, cProfile.Profile]) -> Iterator[None]:
    """Profile every thread of the store that starts in the block."""
    run = threading.Thread.run

    def profiled(thread: threading.Thread) -> None:
        if not thread.name.startswith(OURS):
            run(thread)
            return
        profile = into[thread.name] = cProfile.Profile(time.thread_time)
        profile.runcall(run, thread)

    threading.Thread.run = profiled  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        threading.Thread.run = run  # type: ignore[method-assign]


@contextmanager
def counted(house: House) -> Iterator[Counter[str]]:
    """Count what is asked of the store in the block."""
    counts: Counter[str] = Counter()
    store = house.store

    def counting(name: str, method: Any) -> Any:
        def called(*args: Any) -> Any:
            counts[name] += 1
            if name != "reads":
                counts["statements"] += len(args)
            return method(*args)

        return called

    kinds = {"submit": "submits", "send": "submits", "read": "reads", "fetch": "reads"}
    for method, name in kinds.items():
        if hasattr(store, method):
            setattr(store, method, counting(name, getattr(store, method)))
    begun = store.writer.commits
    yield counts
    counts["commits"] = store.writer.commits - begun
    for method in kinds:
        vars(store).pop(method, None)


async def bare(folder: Path, runs: int, at_once: int) -> None:
    """The table without a profiler."""
    async with unit_house(folder) as house:
        await runs_at_once(house, WARM_UP, at_once)
        before = thread_cpu()
        spent = await runs_at_once(house, runs, at_once)
        used = {name: seconds - before.get(name, 0.0) for name, seconds in thread_cpu().items()}
        with counted(house) as counts:
            await runs_at_once(house, runs, at_once)
    print(
        f"{runs} runs, {at_once} at once: {runs / spent:,.0f} runs/s, {spent / runs * 1e6:,.0f} us of wall time a run"
    )
    for name, seconds in sorted(used.items(), key=lambda item: -item[1]):
        print(f"{seconds / runs * 1e6:>10,.0f} us of CPU a run  {seconds / spent:>6.0%} busy  {name}")
    print("  a run: " + ", ".join(f"{count / runs:.2f} {name}" for name, count in sorted(counts.items())))


async def profiled(folder: Path, runs: int, at_once: int, profile: cProfile.Profile) -> None:
    """One round under the profiler."""
    async with unit_house(folder) as house:
        await runs_at_once(house, WARM_UP, at_once)
        profile.enable()
        await runs_at_once(house, runs, at_once)
        profile.disable()


def room_of(file: str) -> str:
    """`engine/accept.py` of the project, the package of what is installed, `built in` for C."""
    if file in ("~", "") or file.startswith("<"):
        return "built in"
    parts = Path(file).parts
    if "siteward" in parts:
        return "/".join(parts[len(parts) - 1 - parts[::-1].index("siteward") + 1 :]).removeprefix("core/")
    if "site-packages" in parts:
        return parts[parts.index("site-packages") + 1]
    return "/".join(parts[-2:]) if parts[-2] in ("asyncio", "concurrent", "sqlite3") else parts[-1]


def tables(name: str, profiles: list[cProfile.Profile], runs: int, top: int, by: str) -> None:
    """The rooms, then the functions, of one kind of thread."""
    stats = pstats.Stats(*profiles).stats  # type: ignore[attr-defined]
    total = sum(row[2] for row in stats.values()) or 1.0
    rooms: dict[str, float] = defaultdict(float)
    for (file, _, _), (_, _, own, _, callers) in stats.items():
        if room_of(file) != "built in":
            rooms[room_of(file)] += own
            continue
        # What a C function costs belongs to those who call it.
        for (caller, _, _), (_, _, own_for_caller, _) in callers.items():
            rooms[room_of(caller)] += own_for_caller
    print(f"\n-- {name}: {total / runs * 1e6:,.0f} us a run under the profiler")
    print(f"{'us a run':>9} {'share':>6}  room (with the C functions that it calls)")
    for room, own in sorted(rooms.items(), key=lambda item: -item[1])[:top]:
        print(f"{own / runs * 1e6:>9,.1f} {own / total:>6.1%}  {room}")
    column = 3 if by == "cumulative" else 2
    print(f"{'us a run':>9} {'share':>6} {'calls':>7}  function ({by})")
    for (file, line, function), row in sorted(stats.items(), key=lambda item: -item[1][column])[:top]:
        where = function if room_of(file) == "built in" else f"{room_of(file)}:{line} {function}"
        print(f"{row[column] / runs * 1e6:>9,.1f} {row[column] / total:>6.1%} {row[1] / runs:>7.1f}  {where}")


def main() -> None:
    if sys.version_info >= (3, 12):
        sys.exit("The profile by thread needs Python 3.11: from 3.12 on there is one profiler for all threads.")
    reads = argparse.ArgumentParser(description="Where a run's time goes.")
    reads.add_argument("--runs", type=int, default=1000)
    reads.add_argument("--at-once", type=int, default=100)
    reads.add_argument("--top", type=int, default=25)
    reads.add_argument("--by", choices=("own", "cumulative"), default="own")
    asked = reads.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(bare(Path(scratch), asked.runs, asked.at_once))
    threads: dict[str, cProfile.Profile] = {}
    loop = cProfile.Profile(time.thread_time)
    with tempfile.TemporaryDirectory() as scratch, profiled_threads(threads):
        asyncio.run(profiled(Path(scratch), asked.runs, asked.at_once, loop))
    tables("the loop's thread", [loop], asked.runs, asked.top, asked.by)
    for kind in ("writer", "reader"):
        of_kind = [profile for name, profile in sorted(threads.items()) if name.startswith(f"{OURS}{kind}")]
        if of_kind:
            # These threads also did the warm-up: their figures are per run of both.
            tables(f"{kind}: {len(of_kind)} threads", of_kind, asked.runs + WARM_UP, asked.top, asked.by)


if __name__ == "__main__":
    main()
