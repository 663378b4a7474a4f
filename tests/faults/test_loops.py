"""Workflows that start each other: the third in a chain is the last, what is refused is counted with a reason, and nothing goes on after it, whatever
crashes in between."""

from __future__ import annotations

from collections import Counter

import pytest
from sqlalchemy import select

from siteward.core.store.schema import alerts, counters, events, workflow_runs
from tests.engine.house import House

RAISES = """
contract: workflow.v1
name: %s
limits: { cooldown: 0s, one_at_a_time: track }
when:
  %s
then:
  - alert: { severity: low, title: "%s" }
"""
PING = RAISES % (
    "Ping",
    'any:\n    - detect.vehicle_in_zone: { cameras: [gate], zone: apron }\n    - alert: { source: "workflow:Pong" }',
    "ping",
)
PONG = RAISES % ("Pong", 'alert: { source: "workflow:Ping" }', "pong")


@pytest.mark.parametrize("restarts", [False, True])
async def test_two_that_start_each_other_stop_at_the_third(house: House, restarts: bool) -> None:
    for text in (PING, PONG):
        await house.save(text)
    first = house.vehicle(track="t1")
    await house.engine.accept(first)
    if restarts:
        await house.restart()
    await house.engine.drain()
    await house.passes(3600)
    runs = sorted(await house.rows(workflow_runs), key=lambda row: row["chain"])
    names = [house.engine.catalog.get(row["workflow_id"]).name for row in runs]
    assert [(name, row["chain"]) for name, row in zip(names, runs, strict=True)] == [
        ("Ping", 1),
        ("Pong", 2),
        ("Ping", 3),
    ]
    assert {row["correlation_id"] for row in runs} == {first.id}
    assert [row["title"] for row in await house.rows(select(alerts).order_by(alerts.c.id))] == ["ping", "pong", "ping"]
    refused = [row for row in await house.rows(counters) if row["name"] == "refused.chain"]
    assert [row["count"] for row in refused] == [1]
    assert "3 workflows already led to this event" in refused[0]["sample"]


async def test_a_crowd_that_all_start_each_other_comes_to_an_end(house: House) -> None:
    everybody = "any:\n    - detect.vehicle_in_zone: { cameras: [gate], zone: apron }\n    - alert: {}"
    for number in range(4):
        await house.save(RAISES % (f"W{number}", everybody, f"w{number}"))
    await house.happens(house.vehicle(track="t1"))
    await house.passes(3600)
    chains = Counter(row["chain"] for row in await house.rows(workflow_runs))
    assert set(chains) == {1, 2, 3}
    # One at a time for each workflow and camera bounds the rest: at most four, three others for each, three others for each of those.
    assert chains[1] == 4 and chains[2] <= 12 and chains[3] <= 36
    before = await house.rows(events)
    await house.passes(3600)
    assert await house.rows(events) == before
