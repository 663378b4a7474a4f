"""The engine as the benchmarks run it: the unit of work, and a fixed number of them under way at once.

The unit is event -> `if` -> one recorded action -> done, every row durable: on SQLite with WAL and `synchronous=FULL`, or on PostgreSQL with
`synchronous_commit` on, as the host runs it. The house is the engine tests' own (real steps, triggers, conditions and records, a real database), on the machine's clock.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy import func, select

from siteward.core.clock import SystemClock
from siteward.core.collecting import settle_collector
from siteward.core.engine.engine import Engine
from siteward.core.events.event import Event
from siteward.core.store.schema import workflow_runs
from tests.engine.house import House

WORKFLOW = """
contract: workflow.v1
name: Count
limits: { cooldown: 0s, one_at_a_time: track, per_hour: 100000 }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
if:
  - site_mode: [disarmed]
then:
  - log: "seen"
"""

_PROCESS = f"{os.getpid()}-{time.time_ns()}"


@asynccontextmanager
async def unit_house(folder: Path, url: str | None = None) -> AsyncIterator[House]:
    """An open house with the unit's workflow On, on SQLite in the folder or on a migrated database."""
    house = House(folder, url=url)
    house.clock = SystemClock()  # type: ignore[assignment]
    await house.open()
    try:
        await house.save(WORKFLOW)
        settle_collector()
        yield house
    finally:
        await house.close()


def new_id(number: int) -> str:
    """An event's id that no other process has given to this database."""
    return f"{_PROCESS}-{number}"


async def one_run(engine: Engine, event: Event) -> None:
    """From an event to the last row of its run."""
    for run_id in await engine.accept(event):
        await engine.ended(run_id)


async def runs_at_once(house: House, runs: int, at_once: int, took: Callable[[float], None] | None = None) -> float:
    """Seconds for `runs` units with `at_once` under way at each moment. `took` is given the seconds of each. Raises `AssertionError` where
    a run did not end as done."""
    numbers = itertools.count()
    before = await done_runs(house)
    events = [house.vehicle(track=f"t{number}") for number in range(runs)]

    async def worker() -> None:
        for number in numbers:
            if number >= runs:
                return
            started = time.perf_counter()
            await one_run(house.engine, events[number])
            if took is not None:
                took(time.perf_counter() - started)

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(worker())
    spent = time.perf_counter() - begun
    done = await done_runs(house) - before
    assert done == runs, f"{done} of {runs} runs are done"
    return spent


async def done_runs(house: House) -> int:
    """How many runs ended as done."""
    query = select(func.count()).select_from(workflow_runs).where(workflow_runs.c.state == "done")
    return int((await house.rows(query))[0]["count_1"])
