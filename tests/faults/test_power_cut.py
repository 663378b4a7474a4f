"""A power cut between what allows a move and the move, on a box without a clock of its own: after it the wall clock goes on where it stood, and only
the count of the machine's starts tells that any time may have passed. (At each moment, with real processes: `test_frozen_and_cut.py`.)"""

from __future__ import annotations

from datetime import timedelta

import pytest

from siteward.sdk.simulated_clock import START, SimulatedClock
from tests.engine.house import House

RESIDENTS = """
contract: workflow.v1
name: Residents
limits: { cooldown: 0s }
when:
  event: { type: plate.recognized.v1, cameras: [gate] }
then:
  - %s
  - if: [{ in_list: { list: residents, value: "{plate}" } }]
    true:
      - %s
      - gate.open: { gate: main_gate }
"""
WAIT, LOG = "wait: 5s", "log: x"


@pytest.mark.parametrize("range_", [-3e8, 3e8], ids=["counts-lower", "counts-higher"])
@pytest.mark.parametrize(("before", "after"), [(WAIT, LOG), (LOG, WAIT)], ids=["before-the-rule", "after-the-rule"])
async def test_what_a_rule_allowed_before_it_opens_nothing(
    house: House, before: str, after: str, range_: float
) -> None:
    house.site.lists["residents"] = [{"plate": "B AA 1"}]
    await house.save(RESIDENTS % (before, after))
    run_id = await house.happens(house.plate("B AA 1"))
    assert await house.states() == ["waiting"]
    await house.close()
    # An hour without power, after which the clock shows twenty seconds more.
    house.clock = SimulatedClock(START + timedelta(seconds=20), 20.0 + range_)
    await house.open()
    await house.engine.drain()
    assert ((await house.run(run_id))["state"], house.outside.calls) == ("expired", [])
    assert await house.engine_alerts() == ["Residents: gate.open expired"]


@pytest.mark.parametrize(("before", "after"), [(WAIT, LOG), (LOG, WAIT)], ids=["before-the-rule", "after-the-rule"])
async def test_a_restart_of_the_host_alone_takes_nothing_away(house: House, before: str, after: str) -> None:
    house.site.lists["residents"] = [{"plate": "B AA 1"}]
    await house.save(RESIDENTS % (before, after))
    await house.happens(house.plate("B AA 1"))
    await house.restart()
    await house.passes(5)
    assert (await house.states(), len(house.outside.calls)) == (["done"], 1)
