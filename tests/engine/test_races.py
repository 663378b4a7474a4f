"""What happens at the same moment, or just before a process ends: one wins, nobody is forgotten, and Off stays Off."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from typing import Any

import pytest
from sqlalchemy import select

from siteward.core.contract.document import State
from siteward.core.engine import acting
from siteward.core.engine.runner import Drove
from siteward.core.engine.views import Run
from siteward.core.errors import ConfigurationInvalid, Conflict
from siteward.core.plugins.objects import ActionCall
from siteward.core.store.errors import ReadFailed
from siteward.core.store.schema import counters, events, waits, workflow_approvals, workflow_runs, workflows
from siteward.core.store.writer import Op

from .house import GUARD, House
from .test_acting import ASKS
from .test_waiting import WAITS_FOR

LOGS = """
contract: workflow.v1
name: Logs
limits: { cooldown: %s }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - log: "seen"
"""
EVERY_QUARTER = """
contract: workflow.v1
name: Rounds
when:
  schedule: { every: 15m }
then:
  - log: "round"
"""
OF_A_PLATE = """
contract: workflow.v1
name: Plates
limits: { cooldown: 0s }
when:
  event: { type: plate.recognized.v1, cameras: [gate] }
then:
  - ask_person: { who: role:guard, message: "A car", replies: [Let in], timeout: 1h }
    Let in:
      - gate.open: { gate: main_gate }
"""


async def test_one_event_sent_two_hundred_times_at_once_is_one_run_and_one_question(house: House) -> None:
    await house.save(ASKS % "")
    event = house.vehicle()
    await asyncio.gather(*(house.engine.accept(event) for _ in range(200)))
    await house.engine.drain()
    assert await house.states() == ["waiting"]
    assert len(await house.rows(workflow_approvals)) == 1


async def test_two_hundred_vehicles_at_once_are_one_question_and_all_are_counted(house: House) -> None:
    await house.save(ASKS % "")
    await asyncio.gather(*(house.engine.accept(house.vehicle()) for _ in range(200)))
    await house.engine.drain()
    (run,) = await house.rows(workflow_runs)
    assert (run["state"], run["seen_again"]) == ("waiting", 199)
    assert all(row["matched"] is not None for row in await house.rows(events))


# -- Off, edits and what the engine holds in memory ---------------------------------------------------------------------
async def test_off_during_a_save_stays_off(house: House) -> None:
    workflow_id = await house.save(ASKS % "")
    house.store.submit = during(house, "SET name", house.engine.set_state, workflow_id, State.OFF, "user:admin")  # type: ignore[method-assign]
    await house.engine.save_workflow(ASKS % "- log: new", "user:admin", workflow_id)
    await house.happens(house.vehicle())
    assert await house.states() == []
    assert house.engine.catalog.get(workflow_id).state is State.OFF


async def test_off_while_integrations_change_stays_off(house: House) -> None:
    workflow_id = await house.save(ASKS % "")
    read = house.store.read
    turned = False

    async def turning(query: Any, params: Any = None) -> Any:
        nonlocal turned
        found = await read(query, params)
        if not turned and "workflow_versions" in str(query):
            turned = True
            await house.engine.set_state(workflow_id, State.OFF, "user:admin")
        return found

    house.store.read = turning  # type: ignore[method-assign]
    await house.engine.refresh()
    assert turned
    assert house.engine.catalog.get(workflow_id).state is State.OFF
    await house.happens(house.vehicle())
    assert await house.states() == []


async def test_a_version_that_nobody_looked_at_is_not_turned_on(house: House) -> None:
    workflow_id = await house.save(ASKS % "", State.TEST)
    await house.engine.save_workflow(ASKS % "- log: other", "user:eve", workflow_id)
    with pytest.raises(Conflict):
        await house.engine.set_state(workflow_id, State.ON, "user:admin", base_version=1)
    assert house.engine.catalog.get(workflow_id).state is State.TEST
    assert (await house.rows(workflows))[0]["state"] == "test"


async def test_what_went_on_meanwhile_is_not_changed_by_who_may_only_change_tests(house: House) -> None:
    workflow_id = await house.save(ASKS % "")
    with pytest.raises(Conflict):
        await house.engine.save_workflow(ASKS % "- log: x", "user:eve", workflow_id, 1, base_state=State.TEST)
    assert house.engine.catalog.get(workflow_id).version == 1


async def test_off_that_a_crash_cut_short_ends_the_waiting_runs_at_the_next_start(house: House) -> None:
    workflow_id = await house.save(ASKS % "")
    await house.happens(house.vehicle())
    await house.engine.stop()
    async with asyncio.timeout(5):
        await house.store.submit(rows_of_off(workflow_id))
    await house.store.close()
    await house.open()
    await house.engine.drain()
    assert await house.states() == ["cancelled"]
    assert [row["state"] for row in await house.rows(workflow_approvals)] == ["cancelled"]


async def test_a_saved_file_is_judged_beside_the_loop(house: House) -> None:
    judged: list[int] = []
    parts = house.engine._versions._parts

    def validate(*given: Any) -> Any:
        judged.append(threading.get_ident())
        return parts.validate(*given)

    house.engine._versions._parts = dataclasses.replace(parts, validate=validate)
    await house.save(ASKS % "")
    assert len(judged) == 1
    assert judged != [threading.get_ident()]


async def test_plans_do_not_pile_up_with_the_edits(house: House) -> None:
    workflow_id = await house.save(ASKS % "")
    for number in range(20):
        await house.engine.save_workflow(ASKS % f"- log: edit {number}", "user:admin", workflow_id)
    assert len(house.engine.catalog._plans) == 1


async def test_a_save_without_the_code_for_a_step_takes_no_events_and_says_so(house: House) -> None:
    house.skills = dataclasses.replace(house.skills, actions={})
    await house.restart()
    workflow_id = await house.save(ASKS % "", State.TEST)
    await house.happens(house.vehicle())
    assert await house.states() == []
    assert "gate.open" in str((await house.rows(workflows))[0]["attention"])
    with pytest.raises(ConfigurationInvalid, match=r"gate\.open"):
        await house.engine.set_state(workflow_id, State.ON, "user:admin")


async def test_schedules_looked_at_twice_at_once_are_kept_once(house: House) -> None:
    await house.save(EVERY_QUARTER)
    await house.store.submit(cancel_schedules())
    await asyncio.gather(*(house.engine.refresh() for _ in range(5)))
    found = await house.rows(select(waits).where(waits.c.kind == "schedule", waits.c.state == "open"))
    assert len(found) == 1


# -- clocks --------------------------------------------------------------------------------------------------------------
async def test_a_clock_that_is_set_back_silences_no_gate(house: House) -> None:
    await house.save(LOGS % "10m")
    await house.happens(house.vehicle())
    await house.clock.jump(-3600)
    await house.happens(house.vehicle())
    assert await house.logged() == ["seen", "seen"]
    await house.happens(house.vehicle())
    assert await house.logged() == ["seen", "seen"]


# -- the gate and the next car -------------------------------------------------------------------------------------------
async def test_a_car_that_comes_while_the_gate_opens_for_another_is_asked_about(house: House) -> None:
    await house.save(OF_A_PLATE)
    first = await house.happens(house.plate("B AA 1"))

    async def next_car(call: ActionCall) -> None:
        del house.outside.before["gate.open"]
        await house.engine.accept(house.plate("B BB 2"))

    house.outside.before["gate.open"] = next_car
    await house.reply("Let in")
    assert await house.states() == ["done", "waiting"]
    assert (await house.run(first))["seen_again"] == 0
    assert len(house.outside.named("gate.open")) == 1
    questions = await house.rows(select(workflow_approvals).where(workflow_approvals.c.state == "open"))
    assert [row["run_id"] != first for row in questions] == [True]


async def test_a_relay_that_hangs_ends_unknown_and_is_not_asked_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acting, "ACTION_SECONDS", 0.05)

    async def hangs(call: ActionCall) -> None:
        house.outside.calls.append(call)
        await asyncio.Event().wait()

    house.outside.before["gate.open"] = hangs
    await house.save(ASKS % "")
    await house.happens(house.vehicle())
    await house.reply("Let in")
    await house.passes(300)
    await house.restart()
    assert await house.states() == ["unknown"]
    assert len(house.outside.calls) == 1
    assert await house.engine_alerts() == ["Gate: gate.open unknown"]


# -- nobody is forgotten -------------------------------------------------------------------------------------------------
async def test_an_answer_in_the_last_moment_of_a_driver_is_taken_up_at_once(house: House) -> None:
    """The reply comes after the run has parked and before its driver's end: no sweep has to find it."""
    await house.save(ASKS % "")
    drive = house.engine._runner.drive
    told = False

    async def then_a_reply(run: Run | str) -> Drove:
        nonlocal told
        drove = await drive(run)
        if not told:
            told = True
            (question,) = await house.rows(workflow_approvals)
            await house.engine.answer(question["id"], "Let in", GUARD)
        return drove

    house.engine._runner.drive = then_a_reply  # type: ignore[method-assign]
    await house.engine.accept(house.vehicle())
    await house.engine._drivers.idle()
    assert told
    assert await house.states() == ["done"]


async def test_a_trigger_that_breaks_holds_up_no_other_workflow_and_is_counted(house: House) -> None:
    await house.save(LOGS % "0s")
    triggers = dict(house.skills.triggers)

    def breaks(settings: Any, event: Any) -> bool:
        raise KeyError("no such thing")

    triggers["event"] = dataclasses.replace(triggers["event"], matches=breaks)
    house.skills = dataclasses.replace(house.skills, triggers=triggers)
    await house.restart()
    await house.save(OF_A_PLATE)
    await house.happens(house.plate("B AA 1"))
    await house.happens(house.vehicle())
    assert await house.logged() == ["seen"]
    assert all(row["matched"] is not None for row in await house.rows(events))
    assert "refused.broken" in {row["name"] for row in await house.rows(counters)}


async def test_a_database_that_cannot_be_read_stops_neither_timer_nor_runs(house: House) -> None:
    await house.save(WAITS_FOR)
    read, fetch = house.store.read, house.store.fetch

    async def held(query: Any, params: Any = None) -> Any:
        raise ReadFailed("the database is locked")

    await house.engine.accept(house.vehicle())
    house.store.read = house.store.fetch = held  # type: ignore[method-assign, assignment]
    await house.engine._drivers.idle()
    house.engine._timer.look()
    for _ in range(20):
        await asyncio.sleep(0)
    assert {"timer", "sweeper"} <= {key for key in house.engine._tasks._tasks if key in house.engine._tasks}
    house.store.read, house.store.fetch = read, fetch  # type: ignore[method-assign]
    await house.engine.drain()
    assert await house.states() == ["waiting"]
    await house.passes(120)
    assert await house.logged() == ["shut"]


async def test_a_long_wait_reads_each_event_once(house: House) -> None:
    await house.save(WAITS_FOR)
    await house.happens(house.vehicle())
    for _ in range(5):
        await house.engine.accept(house.event("gate.changed", {"gate": "main_gate", "to": "closed"}, camera=None))
    await house.passes(65)
    await house.engine.accept(house.event("gate.changed", {"gate": "main_gate", "to": "closed"}, camera=None))
    await house.engine.sweep()
    await house.passes(1)
    offered = 0
    offer = house.engine._waits._offer

    async def counted(row: Any, event: Any) -> str | None:
        nonlocal offered
        offered += 1
        return await offer(row, event)

    house.engine._waits._offer = counted  # type: ignore[method-assign]
    await house.engine.sweep()
    assert offered <= 1


def during(house: House, sql: str, act: Any, *arguments: Any) -> Any:
    """A `submit` that lets something else happen while the write with `sql` is under way."""
    submit = house.store.submit
    done = False

    async def submitting(*ops: Any) -> None:
        nonlocal done
        if done or not any(sql in op.sql for op in ops):
            await submit(*ops)
            return
        done = True
        await submit(*ops)
        await act(*arguments)

    return submitting


def rows_of_off(workflow_id: str) -> Op:
    return Op("UPDATE workflows SET state = 'off' WHERE id = :id", {"id": workflow_id})


def cancel_schedules() -> Op:
    return Op("UPDATE waits SET state = 'cancelled' WHERE kind = 'schedule'")
