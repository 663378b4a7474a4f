"""A disk that is full or broken: the engine takes no events and says so, reports nothing as done, moves nothing that is not on the disk, and goes on
by itself when there is room again. Real disks, as `disks.py` makes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from siteward.core.plugins.objects import ActionCall
from siteward.core.store.errors import CommitFailed
from siteward.core.store.schema import alerts, events, workflow_approvals
from tests.engine.house import GUARD, House

from .disks import KINDS, Disk, disk
from .guests import goes_by

GATE = """
contract: workflow.v1
name: Gate
limits: { cooldown: 0s }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
if:
  - site_mode: [disarmed]
then:
  - gate.open: { gate: main_gate }
  - log: "opened"
always:
  - log: "always"
"""
ASKS = """
contract: workflow.v1
name: Asks
limits: { cooldown: 0s }
when:
  detect.vehicle_in_zone: { cameras: [yard], zone: apron }
then:
  - ask_person: { who: role:guard, message: "A car", replies: [Let in], timeout: 1h }
    Let in:
      - gate.open: { gate: main_gate }
"""
PATIENT = """
contract: workflow.v1
name: Patient
limits: { cooldown: 0s }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - wait: 10s
  - log: "waited"
"""


@pytest.fixture(params=KINDS)
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    with disk(request.param, tmp_path / "disk") as made:
        yield made


@pytest.fixture
async def house(small: Disk) -> AsyncIterator[House]:
    made = House(small.folder)
    await made.open()
    yield made
    small.free()
    await made.close()


async def full(house: House, small: Disk) -> None:
    """Fill the disk, up to the first write that it refuses: the last pages of the log take some more."""
    small.fill()
    for _ in range(2000):
        try:
            await house.engine.accept(house.event("plate.recognized.v1", {"filler": "x" * 3000}))
        except CommitFailed:
            return
    raise AssertionError("the disk took everything")


async def test_no_event_is_taken_and_all_is_well_once_there_is_room(house: House, small: Disk) -> None:
    await house.save(GATE)
    await full(house, small)
    event = house.vehicle()
    with pytest.raises(CommitFailed, match="database"):
        await house.engine.accept(event)
    assert (house.outside.calls, await house.states()) == ([], [])
    assert await house.rows(select(events).where(events.c.id == event.id)) == []
    assert "no event is taken" in str(house.engine.trouble)
    small.free()
    await house.happens(event)
    assert (await house.states(), len(house.outside.calls)) == (["done"], 1)


async def test_it_is_told_in_one_alert_when_it_is_over(house: House, small: Disk) -> None:
    await house.save(GATE)
    await full(house, small)
    await goes_by(house, 31)
    assert await house.engine_alerts() == []
    small.free()
    await goes_by(house, 300)
    assert house.engine.trouble is None
    (alert,) = await house.rows(select(alerts).where(alerts.c.kind == "engine"))
    assert alert["title"] == "The database gave no answer for 5m31s"
    assert "1 events were not taken" in alert["message"]
    await goes_by(house, 31)
    assert len(await house.engine_alerts()) == 1


async def test_a_gate_that_opened_as_the_disk_filled_up_is_unknown_and_not_opened_again(
    house: House, small: Disk
) -> None:
    await house.save(GATE)

    async def fills(call: ActionCall) -> None:
        await full(house, small)

    house.outside.before["gate.open"] = fills
    (run_id,) = await house.engine.accept(house.vehicle())
    await house.engine._drivers.idle()
    assert (await house.run(run_id))["state"] == "running"
    assert (await house.steps(run_id))["then.0"] == "intent"
    small.free()
    house.outside.before.clear()
    await house.passes(31)
    assert (await house.run(run_id))["state"] == "unknown"
    assert len(house.outside.named("gate.open")) == 1
    assert await house.logged() == ["always"]
    assert "Gate: gate.open unknown" in await house.engine_alerts()


async def test_nothing_moves_whose_intent_is_not_on_the_disk(house: House, small: Disk) -> None:
    await house.save(GATE)
    mode = house.site.site_mode

    async def fills() -> str:
        # Asked just before the run would be written.
        await full(house, small)
        return await mode()

    house.site.site_mode = fills  # type: ignore[method-assign]
    event = house.vehicle()
    with_trouble = await asyncio.gather(house.engine.accept(event), return_exceptions=True)
    await house.engine._drivers.idle()
    assert house.outside.calls == []
    small.free()
    house.site.site_mode = mode  # type: ignore[method-assign]
    if isinstance(with_trouble[0], CommitFailed):
        await house.engine.accept(event)
    await house.passes(31)
    assert (await house.states(), len(house.outside.calls)) == (["done"], 1)


async def test_a_reply_that_cannot_be_kept_opens_nothing_and_can_be_given_again(house: House, small: Disk) -> None:
    await house.save(ASKS)
    await house.happens(house.vehicle(camera="cam-2"))
    (question,) = await house.rows(workflow_approvals)
    await full(house, small)
    with pytest.raises(CommitFailed):
        await house.engine.answer(question["id"], "Let in", GUARD)
    await goes_by(house, 31)
    assert house.outside.calls == []
    small.free()
    assert [row["state"] for row in await house.rows(workflow_approvals)] == ["open"]
    await house.engine.answer(question["id"], "Let in", GUARD)
    await house.engine.drain()
    assert (await house.states(), len(house.outside.calls)) == (["done"], 1)


async def test_a_wait_that_ended_meanwhile_goes_on_when_there_is_room(house: House, small: Disk) -> None:
    await house.save(PATIENT)
    await house.happens(house.vehicle())
    await full(house, small)
    await goes_by(house, 60)
    assert (await house.states(), await house.logged()) == (["waiting"], [])
    small.free()
    await house.passes(31)
    assert (await house.states(), await house.logged()) == (["done"], ["waited"])
