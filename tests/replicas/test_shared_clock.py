"""Processes on several machines count alike: from the start of their database's server, whatever anybody's wall clock does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from siteward.core.clock import RANGE_SECONDS
from siteward.core.shared_clock import SharedClock
from siteward.core.store.statements import Op
from siteward.core.store.store import Store
from siteward.sdk.simulated_clock import START, SimulatedClock


class ServerClock:
    """A database's server, as far as its clock goes."""

    def __init__(self) -> None:
        self.seconds = 500.0
        self.began = "Monday"
        self.off: str | None = None

    async def fetch(self, sql: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [{"seconds": self.seconds, "began": self.began, "off": self.off}]

    async def submit(self, op: Op) -> None:
        if op.params["before"] == self.off:
            self.off = op.params["off"]


class Machines:
    """Two machines that were started at different times, and the time that passes for all."""

    def __init__(self) -> None:
        self.server = ServerClock()
        self.own = [SimulatedClock(START, 1000.0), SimulatedClock(START, 77.0)]

    async def clock(self, number: int) -> SharedClock:
        return await SharedClock.agreed(self.own[number], self.server)  # type: ignore[arg-type]

    async def pass_time(self, seconds: float) -> None:
        self.server.seconds += seconds
        for own in self.own:
            await own.advance(seconds)


async def test_two_machines_count_alike() -> None:
    machines = Machines()
    first = await machines.clock(0)
    await machines.pass_time(30)
    second = await machines.clock(1)
    assert first.since_boot() == second.since_boot()


async def test_a_server_that_was_started_anew_begins_a_range_of_its_own() -> None:
    machines = Machines()
    first = await machines.clock(0)
    before = first.since_boot()
    machines.server.began, machines.server.seconds = "Tuesday", 1.0
    await first.agree()
    assert abs(first.since_boot() - before) > RANGE_SECONDS / 2


async def test_a_server_whose_clock_is_set_moves_nobody_and_who_comes_later_counts_like_the_others() -> None:
    machines = Machines()
    first, before = await machines.clock(0), await machines.clock(0)
    machines.server.seconds += 3600
    await machines.pass_time(3)
    await first.agree()
    await before.agree()
    assert first.since_boot() == before.since_boot()
    assert machines.server.off is not None
    assert json.loads(machines.server.off)["seconds"] == -3600
    later = await machines.clock(1)
    assert later.since_boot() == first.since_boot()
    await machines.pass_time(3)
    for one in (first, before, later):
        await one.agree()
    assert first.since_boot() == before.since_boot() == later.since_boot()


async def test_a_real_server_says_how_long_it_runs(postgres_url: str) -> None:
    store = await Store.open(postgres_url)
    first = await SharedClock.agreed(SimulatedClock(START, 5.0), store)
    second = await SharedClock.agreed(SimulatedClock(START, 9999.0), store)
    # The simulated clocks stand still while the server is asked.
    assert 0 <= second.since_boot() - first.since_boot() < 30
    await store.close()
