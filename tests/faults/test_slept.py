"""A machine that slept for three hours over thousands of due waits and hundreds of schedules, and the days on which clocks change: each thing happens
once, what was missed is told, and nothing comes twice.

`SITEWARD_FAULTS=full` takes 5,000 waits and 200 schedules; without it there are fewer.
"""

from __future__ import annotations

import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from siteward.core.store.schema import alerts, events, logs, waits
from siteward.core.store.writer import Op
from siteward.sdk.simulated_clock import SimulatedClock
from tests.engine.house import House

FULL = os.environ.get("SITEWARD_FAULTS") == "full"
WAITS, SCHEDULES = (5_000, 200) if FULL else (300, 12)
SLEPT = 3 * 3600.0
WAITING = """
contract: workflow.v1
name: Waiting
limits: { cooldown: 0s, one_at_a_time: track, per_hour: 100000 }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - wait: 10m
  - log: "waited for {track}"
"""
SCHEDULED = """
contract: workflow.v1
name: Schedule %s
limits: { cooldown: 0s }
when:
  schedule: %s
then:
  - log: "%s"
"""


async def test_a_machine_that_slept_does_each_thing_once(house: House) -> None:
    await house.save(WAITING)
    for number in range(WAITS):
        await house.engine.accept(house.vehicle(track=f"t{number}"))
    await house.engine.drain()
    kinds = ("{ every: 15m }", '{ at: "11:30" }', '{ cron: "20 * * * *" }', '{ at: "13:05" }')
    for number in range(SCHEDULES):
        await house.save(SCHEDULED % (number, kinds[number % 4], f"schedule {number % 4}"))
    assert (await house.states()).count("waiting") == WAITS
    await house.passes(SLEPT)  # it is 13:00 in Berlin
    logged = Counter(await house.logged())
    assert {name for name, times in logged.items() if name.startswith("waited") and times == 1} == {
        f"waited for t{number}" for number in range(WAITS)
    }
    # The newest of the times that are younger than an hour; 11:30 is older, 13:05 is not there yet.
    each = SCHEDULES // 4
    assert {name: times for name, times in logged.items() if name.startswith("schedule")} == {
        "schedule 0": each,
        "schedule 2": each,
    }
    told = Counter(row["message"] for row in await house.rows(alerts) if "missed" in row["title"])
    assert told == {
        "Missed since 2026-03-02 10:15; fired for the newest time only.": each,
        "Missed since 2026-03-02 10:20; fired for the newest time only.": each,
        "Missed at 2026-03-02 11:30: 1h30m late, more than the grace of 1h.": each,
    }
    await house.passes(5 * 60)
    assert Counter(await house.logged())["schedule 3"] == each
    assert not any(row["state"] == "open" and row["run_id"] for row in await house.rows(waits))


Day = tuple[int, int, int]
DAYS: dict[str, tuple[Day, Day, str]] = {
    "Europe/Berlin": ((2026, 3, 29), (2026, 10, 25), "02:30"),
    "America/New_York": ((2026, 3, 8), (2026, 11, 1), "02:30"),
    "Australia/Lord_Howe": ((2026, 10, 4), (2026, 4, 5), "02:15"),
}
"""Where clocks go forward and back, and a time in the gap (at Lord Howe it is half an hour)."""


async def fired(house: House, zone: str, day: Day, schedule: str) -> list[str]:
    """When a schedule fires on a day, from its midnight to the next, as the site's clocks show it. Every wake is the timer's own time."""
    begin = datetime(*day, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    end = (datetime(*day, tzinfo=ZoneInfo(zone)) + timedelta(days=1)).replace(fold=1).astimezone(UTC)
    house.clock = SimulatedClock(begin - timedelta(seconds=30))
    house.site.zone = zone
    await house.restart()
    await house.save(SCHEDULED % ("one", schedule, "fired"))
    while (due := await house.engine._next_due()) is not None and due < end:
        await house.passes((due - house.clock.now()).total_seconds())
    await house.store.submit(Op("UPDATE workflows SET state = 'off'"))
    seen = [row for row in await house.rows(select(events).order_by(events.c.at)) if row["type"] == "schedule"]
    assert len(seen) == len(await house.rows(logs))
    return [datetime.fromtimestamp(row["at"], ZoneInfo(zone)).strftime("%H:%M %z") for row in seen]


@pytest.mark.parametrize("zone", DAYS)
async def test_a_time_in_the_hour_that_is_missing_fires_once_at_its_end(house: House, zone: str) -> None:
    forward, _, at = DAYS[zone]
    (only,) = await fired(house, zone, forward, f'{{ at: "{at}" }}')
    assert only.startswith("02:30 +1100" if zone.endswith("Howe") else "03:00")


@pytest.mark.parametrize("kind", ["at", "cron"])
@pytest.mark.parametrize("zone", DAYS)
async def test_a_time_in_the_hour_that_comes_twice_fires_once(house: House, zone: str, kind: str) -> None:
    _, back, _ = DAYS[zone]
    at = {"Europe/Berlin": "02:30", "America/New_York": "01:30", "Australia/Lord_Howe": "01:45"}[zone]
    hour, minute = at.split(":")
    written = f'{{ at: "{at}" }}' if kind == "at" else f'{{ cron: "{int(minute)} {int(hour)} * * *" }}'
    (only,) = await fired(house, zone, back, written)
    assert only.startswith(at)


@pytest.mark.parametrize("change", ["forward", "back"])
@pytest.mark.parametrize("zone", DAYS)
async def test_a_rhythm_goes_by_elapsed_time_over_the_change(house: House, zone: str, change: str) -> None:
    forward, back, _ = DAYS[zone]
    day = forward if change == "forward" else back
    # The day has an hour less or more; at Lord Howe half an hour.
    half = zone.endswith("Howe")
    expected = {"forward": 47 if half else 23, "back": 49 if half else 25}
    found = await fired(house, zone, day, f"{{ every: {'30m' if half else '1h'} }}")
    assert len(found) == len(set(found)) == expected[change]
