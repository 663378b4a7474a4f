"""A thousand days in seconds: schedules, waits, questions that nobody answers and cooldowns, over every change of the clocks, with a restart now and then.

Everything comes exactly when the calendar says, nothing is left open, and nothing grows. `SITEWARD_MODEL_ZONES=Europe/Berlin,America/New_York` names the
zones of the long run.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections import Counter
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.engine.house import House

from .calendar import at_times, changes, rhythm

DAYS = 1000
ZONES = os.environ.get("SITEWARD_MODEL_ZONES", "Europe/Berlin").split(",")
RESTART_EVERY = timedelta(days=97)
CARS_EVERY = timedelta(days=60)

FILE = """
contract: workflow.v1
name: %s
limits: { cooldown: 0s }
when:
  schedule: %s
then:
"""
SCHEDULES = {
    # On Sundays the clocks change: 02:30 is the time that is skipped, and the one that comes twice.
    "night": (FILE % ("Night", '{ at: "02:30", days: [sun] }'), '  - log: "night"'),
    "rest": (FILE % ("Rest", '{ cron: "30 0 * 3,10,11 0" }'), '  - wait: 3h\n  - log: "rested"'),
    "asks": (
        FILE % ("Asks", '{ cron: "0 22 1 * *" }'),
        '  - ask_person: { who: role:guard, message: "All well?", replies: [Yes], timeout: 10m, default: "Yes" }\n    "Yes": [log: "asked"]',
    ),
    "rounds": (FILE % ("Rounds", "{ every: 200h }"), '  - log: "round"'),
}
CARS = """
contract: workflow.v1
name: Cars
limits: { cooldown: 60s }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - log: "car"
"""


@pytest.mark.parametrize("zone", ZONES)
async def test_a_thousand_days_come_as_the_calendar_says(tmp_path: Path, zone: str) -> None:
    house = House(tmp_path)
    house.site.zone = zone
    await house.open()
    for head, body in SCHEDULES.values():
        await house.save(head + body)
    await house.save(CARS)
    begin = house.clock.now()
    end = begin + timedelta(days=DAYS)
    days = Days(house, end)
    await days.live()

    wall = ZoneInfo(zone)
    assert changes(wall, begin, end) >= 4
    rests = [
        moment
        for moment in at_times(wall, time(0, 30), ("sun",), begin, end)
        if moment.astimezone(wall).month in (3, 10, 11)
    ]
    expected = {
        "night": at_times(wall, time(2, 30), ("sun",), begin, end),
        "rested": [moment + timedelta(hours=3) for moment in rests],
        "asked": [
            moment + timedelta(minutes=10)
            for moment in at_times(wall, time(22), ALL_DAYS, begin, end)
            if moment.astimezone(wall).day == 1
        ],
        "round": rhythm(200 * 3600, begin, end),
        "car": [moment for moment in days.cars if moment not in days.too_soon],
    }
    assert {name: days.came[name] for name in expected} == expected
    assert days.asked_for_help == 0
    await _nothing_is_left(house)
    days.nothing_grew()
    await house.close()


ALL_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class Days:
    """Lives from one due time to the next."""

    def __init__(self, house: House, end: datetime) -> None:
        self.house = house
        self.end = end
        self.came: dict[str, list[datetime]] = {}
        self.cars: list[datetime] = []
        self.too_soon: set[datetime] = set()
        self.asked_for_help = 0
        self._sizes: list[Counter[str]] = []
        self._restart_at = house.clock.now() + RESTART_EVERY
        self._cars_at = house.clock.now() + CARS_EVERY

    async def live(self) -> None:
        while (now := self.house.clock.now()) < self.end:
            upcoming = min(await self._next_due(), self._restart_at, self._cars_at, self.end)
            await self.house.passes((upcoming - now).total_seconds())
            await self._look()
            if upcoming >= self._restart_at:
                await self.house.restart()
                self._restart_at += RESTART_EVERY
                self._sizes.append(_alive_objects())
            if upcoming >= self._cars_at:
                await self._three_cars()
                self._cars_at += CARS_EVERY

    async def _three_cars(self) -> None:
        """The second comes within the cooldown of the first."""
        for number, seconds in enumerate((0, 59, 1)):
            await self.house.passes(seconds)
            self.cars.append(self.house.clock.now())
            if number == 1:
                self.too_soon.add(self.house.clock.now())
            await self.house.happens(self.house.vehicle())
        await self._look()

    async def _next_due(self) -> datetime:
        (row,) = await self.house.store.fetch("SELECT MIN(due_at) AS due FROM waits WHERE state = 'open'")
        return datetime.fromtimestamp(row["due"], UTC)

    async def _look(self) -> None:
        """What was written since the last look, and when."""
        for row in await self.house.store.fetch("SELECT message, at FROM logs ORDER BY at"):
            moment = datetime.fromtimestamp(row["at"], UTC)
            came = self.came.setdefault(row["message"], [])
            if not came or moment > came[-1]:
                came.append(moment)
        (alerts,) = await self.house.store.fetch("SELECT COUNT(*) AS count FROM alerts")
        self.asked_for_help = alerts["count"]

    def nothing_grew(self) -> None:
        """Between the second restart and the last, no kind of object became more."""
        early, late = self._sizes[1], self._sizes[-1]
        grown = {kind: (early[kind], late[kind]) for kind in late if late[kind] > early[kind] + 200}
        assert not grown, grown


def _alive_objects() -> Counter[str]:
    gc.collect()
    return Counter(type(one).__qualname__ for one in gc.get_objects())


async def _nothing_is_left(house: House) -> None:
    """Each schedule has its one due time, no run is alive, and what is old has left the database."""
    await house.passes(3600)
    await asyncio.sleep(0.1)
    open_waits = await house.store.fetch("SELECT kind FROM waits WHERE state = 'open'")
    assert [row["kind"] for row in open_waits] == ["schedule"] * len(SCHEDULES)
    alive = await house.store.fetch("SELECT id FROM workflow_runs WHERE state IN ('running', 'waiting')")
    assert alive == []
    month_ago = (house.clock.now() - timedelta(days=34)).timestamp()
    for table, column in (("workflow_runs", "started_at"), ("events", "accepted_at"), ("logs", "at"), ("outbox", "at")):
        old = await house.store.fetch(f"SELECT {column} FROM {table} WHERE {column} < {month_ago}")
        assert old == [], f"{len(old)} old rows of {table}"
