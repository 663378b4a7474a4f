"""What a crash, a full disk or another process left is taken up, and nothing is done twice for it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import select

from siteward.core.engine import rows
from siteward.core.engine.seam import RunState
from siteward.core.store.errors import CommitFailed, LostRace
from siteward.core.store.schema import counters, events, workflow_run_steps, workflow_runs
from siteward.core.store.writer import Op

from .house import House

GATE = """
contract: workflow.v1
name: Gate
limits: { cooldown: 0s }
when:
  detect.vehicle_in_zone: { cameras: [gate, yard], zone: apron }
if:
  - site_mode: [disarmed]
then:
  - gate.open: { gate: main_gate }
  - log: "opened"
always:
  - log: "always"
"""


class Hiccups:
    """Makes the answer of a chosen commit get lost: before it was kept, or after."""

    def __init__(self, house: House, *, kept: bool) -> None:
        self._send = house.store.send
        self._kept = kept
        self.when: str | None = None
        self.lost = 0
        house.store.send = self  # type: ignore[method-assign]

    def __call__(self, *ops: Op) -> asyncio.Future[Any]:
        wanted = self.when is not None and any(self.when in op.sql or self.when in op.params.values() for op in ops)
        if not wanted:
            return self._send(*ops)
        self.when = None
        self.lost += 1
        return asyncio.ensure_future(self._lose(*ops))

    async def _lose(self, *ops: Op) -> None:
        if self._kept:
            await self._send(*ops)
        raise CommitFailed("The connection was lost in the commit.")


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "not-kept"])
@pytest.mark.parametrize("when", ["intent", "UPDATE workflow_runs SET position", "INSERT INTO workflow_runs"])
async def test_a_lost_answer_of_a_commit_never_opens_the_gate_twice(house: House, when: str, kept: bool) -> None:
    await house.save(GATE)
    hiccups = Hiccups(house, kept=kept)
    hiccups.when = when
    await house.happens(house.vehicle())
    await house.engine.drain()
    assert hiccups.lost == 1
    assert len(house.outside.named("gate.open")) <= 1
    (state,) = await house.states()
    assert state in ("done", "unknown")
    assert (await house.logged()).count("always") == 1
    if state == "unknown":
        assert await house.engine_alerts() == ["Gate: gate.open unknown"]


async def test_an_intent_whose_commit_failed_sends_nothing(house: House) -> None:
    await house.save(GATE)
    hiccups = Hiccups(house, kept=True)
    hiccups.when = "intent"
    await house.happens(house.vehicle())
    assert house.outside.calls == []
    assert await house.states() == ["unknown"]


async def test_an_event_whose_commit_failed_is_not_accepted(house: House) -> None:
    await house.save(GATE)
    hiccups = Hiccups(house, kept=False)
    hiccups.when = "INSERT INTO events (id"
    event = house.vehicle()
    hiccups.when = event.id
    with pytest.raises(CommitFailed):
        await house.engine.accept(event)
    assert await house.rows(events) == []
    assert await house.happens(event) is not None


async def test_an_event_that_was_accepted_and_not_matched_is_matched_at_the_start(house: House) -> None:
    await house.save(GATE)
    await house.store.submit(rows.new_event(house.vehicle(), house.clock.now().timestamp()))
    await house.restart()
    await house.engine.drain()
    assert await house.states() == ["done"]


async def test_a_broken_run_ends_with_an_alert_and_holds_up_nobody(house: House) -> None:
    await house.save(GATE)
    send = house.store.send
    poisoned = False

    def poison(*ops: Op) -> asyncio.Future[Any]:
        nonlocal poisoned
        if not poisoned and any("INSERT INTO logs" in op.sql for op in ops):
            poisoned = True
            return send(*ops, Op("INSERT INTO nowhere VALUES (1)"))
        return send(*ops)

    house.store.send = poison  # type: ignore[method-assign]
    await asyncio.gather(*(house.engine.accept(house.vehicle(camera=camera)) for camera in ("cam-1", "cam-2")))
    await house.engine.drain()
    assert sorted(await house.states()) == ["done", "failed"]
    assert await house.engine_alerts() == ["A run of Gate broke"]


async def test_a_driver_that_lost_its_run_changes_nothing(house: House) -> None:
    """Another process took the run while this one was frozen between its intent and its act."""
    await house.save(GATE)

    async def taken(call: Any) -> None:
        await house.store.submit(Op("UPDATE workflow_runs SET fence = fence + 7, lease_owner = 'another'"))

    house.outside.before["gate.open"] = taken
    (run_id,) = await house.engine.accept(house.vehicle())
    await house.engine._drivers.idle()
    step = next(row for row in await house.rows(workflow_run_steps) if row["kind"] == "gate.open")
    assert step["status"] == "intent"
    assert await house.logged() == []
    await house.engine.drain()
    assert (await house.run(run_id))["state"] == "unknown"
    assert len(house.outside.named("gate.open")) == 1


async def test_a_claim_fences_off_who_claimed_before(house: House) -> None:
    await house.save(GATE)
    run_id = str(await house.happens(house.vehicle()))
    await house.store.submit(Op("UPDATE workflow_runs SET state = 'running'"))
    fence = (await house.run(run_id))["fence"]
    for owner in ("a", "b"):
        await house.store.submit(rows.claim_run(run_id, owner))
    claimed = await house.run(run_id)
    assert (claimed["fence"], claimed["lease_owner"]) == (fence + 2, "b")
    with pytest.raises(LostRace):
        await house.store.submit(rows.move_run(run_id, fence + 1, {}, RunState.RUNNING))
    await house.store.submit(Op("UPDATE workflow_runs SET state = 'done'"))


async def test_a_second_run_of_the_same_key_is_refused_by_the_database_itself(house: House) -> None:
    await house.save(GATE)
    await house.happens(house.vehicle())
    row = (await house.rows(workflow_runs))[0] | {"state": "waiting", "ended_at": None}
    for event_id in ("one", "two"):
        await house.store.submit(rows.new_event(house.vehicle(id=event_id), 0.0))
    await house.store.submit(rows.new_run(row | {"id": "first", "event_id": "one"}))
    with pytest.raises(LostRace):
        await house.store.submit(rows.new_run(row | {"id": "second", "event_id": "two"}))
    await house.store.submit(Op("UPDATE workflow_runs SET state = 'done' WHERE id = 'first'"))


async def test_stopping_lets_a_move_end_and_starts_nothing_more(house: House) -> None:
    await house.save(GATE)
    begun, go = asyncio.Event(), asyncio.Event()

    async def slowly(call: Any) -> None:
        begun.set()
        await go.wait()

    house.outside.before["gate.open"] = slowly
    (run_id,) = await house.engine.accept(house.vehicle())
    await begun.wait()
    stopping = asyncio.create_task(house.engine.stop())
    await asyncio.sleep(0)
    go.set()
    await stopping
    assert (await house.steps(run_id))["then.0"] == "done"
    assert await house.engine.accept(house.vehicle(camera="cam-2"))
    assert len(house.outside.named("gate.open")) == 1
    await house.store.close()
    house.outside.before.clear()
    await house.open()
    await house.engine.drain()
    assert await house.states() == ["done", "done"]
    assert len(house.outside.named("gate.open")) == 2


async def test_counters_do_not_grow_with_events_that_nobody_wants(house: House) -> None:
    await house.save(GATE)
    for _ in range(20):
        await house.happens(house.event("nobody.wants.this"))
    assert await house.rows(select(counters)) == []
