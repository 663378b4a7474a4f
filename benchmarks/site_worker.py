"""A large site in a process of its own, fed at a steady rate for as long as each line of JSON on its input says (`benchmarks.large_site`).

In: `{"seconds": 20, "rate": 1000}`. Out, once: `{"ready": {...}}`; for each: processor time of the whole process in cores (what makes the events included), the time
from when an event was due to be sent until `accept` returned (its row, and its runs' first rows, are committed), how many were under way at most in the
first and the last tenth of the time, how long the rest took after the last was sent, and the runs made.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.harness import percentile
from benchmarks.large_site import SENT, ZONED, matching, sent, watching, with_workflows
from benchmarks.ours import done_runs
from benchmarks.peers.worker import Told
from siteward.core.events.event import Event
from tests.engine.house import House

TICK: Final = 0.005
"""Seconds between two bursts: at 1,000 a second five events arrive together."""


@dataclass
class Fed:
    """What became of what was sent."""

    took: list[float] = field(default_factory=list)
    under_way: int = 0
    most: dict[int, int] = field(default_factory=dict)
    """The most that were under way, by tenth of the time."""

    async def one(self, house: House, event: Event, due: float) -> None:
        self.under_way += 1
        try:
            await house.engine.accept(event)
            self.took.append(time.perf_counter() - due)
        finally:
            self.under_way -= 1


def processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def feed(house: House, events: Iterator[Event], seconds: float, rate: int) -> dict[str, Any]:
    """Send, wait for the rest, and tell."""
    fed, per_tick, ticks = Fed(), max(1, round(rate * TICK)), round(seconds / TICK)
    made, used, begun = await done_runs(house), processor(), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for tick in range(ticks):
            due = begun + tick * TICK
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            for event in itertools.islice(events, per_tick):
                group.create_task(fed.one(house, event, due))
            tenth = tick * 10 // ticks
            fed.most[tenth] = max(fed.most.get(tenth, 0), fed.under_way)
        sent_in = time.perf_counter() - begun
    await house.engine._drivers.idle()
    rest = time.perf_counter() - begun - sent_in
    cores = (processor() - used) / (time.perf_counter() - begun)
    return {
        "cores": cores,
        "events": len(fed.took),
        "events_a_second": len(fed.took) / sent_in,
        "p50_ms": percentile(fed.took, 0.5) * 1000,
        "p99_ms": percentile(fed.took, 0.99) * 1000,
        "first_tenth": fed.most[0],
        "last_tenth": fed.most[max(fed.most)],
        "rest_s": rest,
        "runs": await done_runs(house) - made,
    }


async def run(folder: Path, workflows: int) -> None:
    told = Told()
    busiest = workflows == 0
    house = with_workflows(folder, matching() if busiest else watching(workflows))
    await house.open()
    events = sent(ZONED[:1] if busiest else SENT)
    told.say({"ready": {"workflows": sum(1 for _ in house.engine.catalog), "sqlite": "WAL, synchronous=FULL"}})
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        asked = json.loads(line)
        told.say(await feed(house, events, asked["seconds"], asked["rate"]))
    await house.close()


def main() -> None:
    reads = argparse.ArgumentParser()
    reads.add_argument("--workflows", type=int, required=True, help="0: one per camera, and every event starts a run")
    reads.add_argument("--folder", type=Path, help="of a database with a past; a new one without")
    asked = reads.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(run(asked.folder or Path(scratch), asked.workflows))


if __name__ == "__main__":
    main()
