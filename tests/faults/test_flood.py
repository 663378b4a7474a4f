"""A flood of the same: a hundred thousand events in a burst are one run and one question, are all counted, and leave nothing behind but their own rows.

`SITEWARD_FAULTS=full` sends all of them; without it fewer, which take the same way.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Table, func, select

from siteward.core.store.schema import (
    alerts,
    counters,
    events,
    logs,
    outbox,
    waits,
    workflow_approvals,
    workflow_run_steps,
    workflow_runs,
)
from tests.engine.house import House

EVENTS = 100_000 if os.environ.get("SITEWARD_FAULTS") == "full" else 3_000
AT_ONCE = 250
GROWTH_MEGABYTES = 40
"""What caches and the allocator may take; a list of a hundred thousand events takes more."""
GROWS = (alerts, counters, logs, waits, workflow_approvals, workflow_run_steps, workflow_runs)
ASKS = """
contract: workflow.v1
name: Gate
limits: { cooldown: 0s }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - ask_person: { who: role:guard, message: "A car", replies: [Let in], timeout: 1h }
    Let in:
      - gate.open: { gate: main_gate }
"""
COOLS = """
contract: workflow.v1
name: Cools
limits: { cooldown: 10m }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - log: "seen"
"""


async def flood(house: House, number: int) -> None:
    for _ in range(number // AT_ONCE):
        await asyncio.gather(*(house.engine.accept(house.vehicle()) for _ in range(AT_ONCE)))


async def counted(house: House, *tables: Table) -> dict[str, int]:
    found = {}
    for table in tables:
        (row,) = await house.rows(select(func.count().label("rows")).select_from(table))
        found[table.name] = row["rows"]
    return found


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def test_a_burst_of_the_same_is_one_run_and_one_question_and_all_are_counted(house: House) -> None:
    await house.save(ASKS)
    await flood(house, AT_ONCE)
    await house.engine.drain()
    rows, memory = await counted(house, *GROWS), resident_megabytes()
    told = await counted(house, outbox)
    await flood(house, EVENTS - AT_ONCE)
    await house.engine.drain()
    (run,) = await house.rows(workflow_runs)
    assert (run["state"], run["seen_again"]) == ("waiting", EVENTS - 1)
    assert [row["state"] for row in await house.rows(workflow_approvals)] == ["open"]
    assert await counted(house, *GROWS) == rows
    assert await counted(house, events) == {"events": EVENTS}
    assert (await counted(house, outbox))["outbox"] - told["outbox"] <= 1
    assert resident_megabytes() - memory < GROWTH_MEGABYTES
    assert house.outside.calls == []


async def test_the_same_event_again_and_again_is_one_row(house: House) -> None:
    await house.save(ASKS)
    event = house.vehicle()
    for _ in range(4):
        await asyncio.gather(*(house.engine.accept(event) for _ in range(AT_ONCE)))
    (run,) = await house.rows(workflow_runs)
    assert run["seen_again"] == 0
    assert await counted(house, events, workflow_approvals) == {"events": 1, "workflow_approvals": 1}


async def test_what_a_cooldown_refuses_is_counted_in_one_row(house: House) -> None:
    await house.save(COOLS)
    await flood(house, 1000)
    await house.engine.drain()
    assert await house.logged() == ["seen"]
    refused = Counter({row["name"]: row["count"] for row in await house.rows(counters)})
    seen = (await house.rows(workflow_runs))[0]["seen_again"]
    assert refused["refused.cooldown"] + seen == 999


@pytest.mark.parametrize("chain", [3, 4, 100])
async def test_a_flood_that_comes_back_to_its_cause_ends_with_the_chain(house: House, chain: int) -> None:
    await house.save(COOLS)
    for _ in range(20):
        await house.happens(replace(house.vehicle(), chain=chain))
    assert await house.states() == []
