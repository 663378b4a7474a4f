"""Test, try and rehearsal: everything is decided, nothing is done, and nothing counts."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from siteward.core.contract.document import State
from siteward.core.errors import SitewardError
from siteward.core.store.schema import (
    alerts,
    counters,
    logs,
    waits,
    workflow_approvals,
    workflow_run_steps,
    workflow_runs,
)

from .house import GUARD, House

STORY = """
contract: workflow.v1
name: Story
limits: { cooldown: 60s }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - id: look
    ai:
      mode: look
      prompt: Who is it?
      input: picture
      decision: [delivery]
      delivery: [alert: { severity: low, title: "Delivery" }]
      unsure: [log: "unsure"]
  - ask_person: { who: role:guard, message: "{look.reason}", replies: [Let in, Send away], timeout: 10m }
    Let in: [gate.open: { gate: main_gate }]
    Send away: [log: "sent away"]
    no_answer: [log: "nobody answered"]
  - wait: 1h
  - wait_for: { gate.changed: { to: open }, timeout: 1h }
    happened: [log: "open"]
    not_happened: [log: "shut"]
"""


async def test_a_test_run_decides_everything_and_does_nothing(house: House) -> None:
    await house.save(STORY, State.TEST)
    run_id = await house.happens(house.vehicle())
    assert (await house.run(run_id))["state"] == "done"
    assert await house.steps(run_id) == {
        "then.0": "done",
        "then.0/delivery.0": "would_have",
        "then.1": "would_have",
        "then.1/no_answer.0": "would_have",
        "then.2": "skipped",
        "then.3": "skipped",
        "then.3/not_happened.0": "would_have",
    }
    assert house.outside.calls == []
    assert await house.rows(alerts) == []
    assert await house.logged() == []


async def test_a_test_run_says_what_each_reply_would_have_moved(house: House) -> None:
    await house.save(STORY, State.TEST)
    await house.happens(house.vehicle())
    asked = next(row for row in await house.rows(workflow_run_steps) if row["kind"] == "ask_person")
    assert '{"reply":"Let in","moves":["gate.open main_gate"]}' in asked["result"]


async def test_a_rehearsed_reply_shows_its_lane_and_is_never_counted(house: House) -> None:
    await house.save(STORY, State.TEST)
    run_id = await house.happens(house.vehicle())
    question = (await house.rows(workflow_approvals))[0]
    before = await house.rows(counters)
    rehearsed = await house.engine.answer(question["id"], "Let in", GUARD, rehearsal=True)
    await house.engine.drain()
    run = await house.run(rehearsed)
    assert (run["mode"], run["state"]) == ("replay", "done")
    assert run_id in run["revisions"] and GUARD in run["revisions"]
    assert (await house.steps(rehearsed))["then.1/Let in.0"] == "would_have"
    opened = next(row for row in await house.rows(workflow_run_steps) if row["kind"] == "gate.open")
    assert "refused" not in opened["result"]
    assert house.outside.calls == []
    assert await house.rows(counters) == before


async def test_a_rehearsal_and_an_answer_are_not_taken_for_each_other(house: House) -> None:
    workflow_id = await house.save(STORY, State.TEST)
    await house.happens(house.vehicle())
    rehearsal = (await house.rows(workflow_approvals))[0]["id"]
    with pytest.raises(SitewardError, match="rehearsal"):
        await house.engine.answer(rehearsal, "Let in", GUARD)
    await house.engine.set_state(workflow_id, State.ON, "user:admin")
    await house.passes(60)
    await house.happens(house.vehicle())
    real = next(row["id"] for row in await house.rows(workflow_approvals) if not row["rehearsal"])
    with pytest.raises(SitewardError, match="real"):
        await house.engine.answer(real, "Let in", GUARD, rehearsal=True)


async def test_trying_past_events_decides_each_and_leaves_nothing(house: House) -> None:
    workflow_id = await house.save(STORY, State.OFF)
    past = [house.vehicle(picture="one"), house.vehicle(), house.plate("AB 12")]
    for event in past:
        await house.happens(event)
    before = [await house.rows(table) for table in (counters, alerts, logs, waits, workflow_approvals)]
    decided = await house.engine.try_workflow(workflow_id, [event.id for event in past])
    assert [(row["event"], row["state"], row.get("decision")) for row in decided] == [
        (past[0].id, "done", "delivery"),
        (past[1].id, "done", "delivery"),
        (past[2].id, "no_trigger", None),
    ]
    assert decided[0]["would_have"][0].startswith("alert")
    assert all(request.stored_only for request in house.looks.asked)
    assert house.outside.calls == []
    assert [await house.rows(table) for table in (counters, alerts, logs, waits, workflow_approvals)] == before
    assert {row["mode"] for row in await house.rows(workflow_runs)} == {"try"}


async def test_a_try_does_not_stop_a_live_run(house: House) -> None:
    workflow_id = await house.save(STORY)
    live = await house.happens(house.vehicle(id="live"))
    await house.engine.try_workflow(workflow_id, ["live"])
    assert (await house.run(live))["state"] == "waiting"
    assert (await house.run(live))["seen_again"] == 0


async def test_turning_on_what_was_tested_makes_new_runs_real(house: House) -> None:
    workflow_id = await house.save(STORY, State.TEST)
    await house.happens(house.vehicle())
    await house.engine.set_state(workflow_id, State.ON, "user:admin")
    await house.passes(60)
    run_id = await house.happens(house.vehicle())
    assert (await house.run(run_id))["state"] == "waiting"
    modes = [row["mode"] for row in await house.rows(select(workflow_runs).order_by(workflow_runs.c.id))]
    assert modes == ["test", "on"]
