"""A changed AI step runs in Test beside the version that is On, until somebody turns it On: both runs are kept, and only one of them acts."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from sqlalchemy import select

from siteward.core.contract.document import State
from siteward.core.engine.catalog import Catalog
from siteward.core.engine.versions import Saved
from siteward.core.engine.views import AI_CALLS
from siteward.core.errors import ConfigurationInvalid, Conflict
from siteward.core.store.schema import (
    counters,
    events,
    workflow_approvals,
    workflow_run_steps,
    workflow_runs,
    workflows,
)

from .house import House

GUARDED = """
contract: workflow.v1
name: Gate
limits: { cooldown: %(cooldown)s, per_hour: %(per_hour)s, ai_per_hour: %(ai_per_hour)s }
when:
  event: { type: plate.recognized.v1, cameras: [gate] }
if:
  - in_list: { value: "{plate}", list: residents }
then:
  - gate.open: { gate: main_gate }
  - id: look
    ai:
      mode: look
      prompt: %(prompt)s
      input: picture
      decision: [delivery, visitor]
      delivery: [alert: { severity: medium, title: "%(title)s" }]
      visitor: [log: "visitor"]
      unsure: [log: "unsure"]
"""
ON_ALERTS = """
contract: workflow.v1
name: Follows alerts
limits: { cooldown: 0s }
when: { alert: {} }
then: [log: "an alert"]
"""
ASKS = """
contract: workflow.v1
name: Asks
limits: { cooldown: 0s }
when:
  event: { type: plate.recognized.v1, cameras: [gate] }
then:
  - id: look
    ai:
      mode: look
      prompt: %s
      input: picture
      decision: [delivery, visitor]
      delivery: [log: "delivery"]
      visitor: [log: "visitor"]
      unsure: [log: "unsure"]
  - ask_person: { who: role:guard, message: "A car", replies: [Let in, Send away], timeout: 10m }
    Let in: [gate.open: { gate: main_gate }]
    Send away: [log: "sent away"]
"""
ROUNDS = """
contract: workflow.v1
name: Rounds
limits: { cooldown: 0s }
when:
  schedule: { every: %s }
then:
  - id: look
    ai:
      mode: look
      prompt: %s
      decision: [quiet, busy]
      quiet: [log: "quiet"]
      busy: [log: "busy"]
      unsure: [log: "unsure"]
"""
LOGS_ONLY = """
contract: workflow.v1
name: Lane
limits: { cooldown: 0s }
when:
  event: { type: plate.recognized.v1, cameras: [gate] }
then:
  - id: look
    ai:
      mode: look
      prompt: %s
      input: picture
      decision: [delivery, visitor]
      delivery: [log: "%s"]
      visitor: [log: "visitor"]
      unsure: [log: "unsure"]
"""


def gate(prompt: str = "Who is it?", title: str = "A delivery", **limits: Any) -> str:
    return GUARDED % {"cooldown": "0s", "per_hour": 20, "ai_per_hour": 20, **limits, "prompt": prompt, "title": title}


async def edit(house: House, workflow_id: str, text: str) -> Saved:
    return await house.engine.save_workflow(text, "user:admin", workflow_id)


async def runs(house: House) -> list[tuple[int, str, str]]:
    """Version, mode and state of each run, the oldest first."""
    found = await house.rows(select(workflow_runs).order_by(workflow_runs.c.started_at, workflow_runs.c.id))
    return [(row["version"], row["mode"], row["state"]) for row in found]


async def row(house: House) -> dict[str, Any]:
    return (await house.rows(workflows))[0]


@pytest.fixture(autouse=True)
def residents(house: House) -> None:
    house.site.lists["residents"] = [{"plate": "AB1"}]


async def test_a_changed_ai_step_runs_in_test_beside_the_one_that_is_on_and_moves_nothing(house: House) -> None:
    workflow_id = await house.save(gate())
    await house.save(ON_ALERTS)
    saved = await edit(house, workflow_id, gate("Is it a parcel van?"))
    assert (saved.version, saved.beside) == (2, 1)
    await house.happens(house.plate("AB1"))
    assert sorted(await runs(house)) == [(1, "on", "done"), (1, "on", "done"), (2, "test", "done")]
    assert len(house.outside.named("gate.open")) == 1
    steps = select(workflow_run_steps.c.status).join(workflow_runs, workflow_runs.c.id == workflow_run_steps.c.run_id)
    tested = await house.rows(
        steps.where(workflow_runs.c.mode == "test", workflow_run_steps.c.kind.in_(("gate.open", "alert")))
    )
    assert [one["status"] for one in tested] == ["would_have", "would_have"]
    # The alert of the On version started the workflow that follows alerts; the test raised none.
    assert len(await house.rows(select(events).where(events.c.type == "alert"))) == 1
    assert {request.settings["prompt"] for request in house.looks.asked} == {"Who is it?", "Is it a parcel van?"}


async def test_turning_it_on_makes_it_the_one_that_acts(house: House) -> None:
    workflow_id = await house.save(gate())
    await edit(house, workflow_id, gate("Is it a parcel van?"))
    await house.engine.set_state(workflow_id, State.ON, "user:admin", base_version=2)
    assert ((await row(house))["on_version"], (await row(house))["state"]) == (None, "on")
    await house.happens(house.plate("AB1"))
    assert await runs(house) == [(2, "on", "done")]
    assert len(house.outside.named("gate.open")) == 1


@pytest.mark.parametrize("state", [State.TEST, State.OFF])
async def test_test_and_off_are_for_the_workflow_and_leave_the_newest_version_alone(house: House, state: State) -> None:
    workflow_id = await house.save(gate())
    await edit(house, workflow_id, gate("Is it a parcel van?"))
    await house.engine.set_state(workflow_id, state, "user:admin")
    await house.happens(house.plate("AB1"))
    assert await runs(house) == ([(2, "test", "done")] if state is State.TEST else [])
    assert (await row(house))["on_version"] is None
    await house.engine.set_state(workflow_id, State.ON, "user:admin")
    await house.happens(house.plate("AB1"))
    assert (await runs(house))[-1] == (2, "on", "done")


async def test_an_edit_that_leaves_the_ai_steps_as_they_are_holds_at_once(house: House) -> None:
    workflow_id = await house.save(gate())
    saved = await edit(house, workflow_id, "\n# A comment moves every line.\n" + gate(title="A parcel", per_hour=9))
    assert saved.beside is None
    await house.happens(house.plate("AB1"))
    assert await runs(house) == [(2, "on", "done")]


async def test_saving_what_is_on_again_ends_the_test_beside_it(house: House) -> None:
    workflow_id = await house.save(gate())
    await edit(house, workflow_id, gate("Is it a parcel van?"))
    assert (await edit(house, workflow_id, gate("Is it red?"))).beside == 1
    assert (await edit(house, workflow_id, gate())).beside is None
    await house.happens(house.plate("AB1"))
    assert await runs(house) == [(4, "on", "done")]


async def test_a_workflow_in_test_has_no_version_beside_it(house: House) -> None:
    workflow_id = await house.save(gate(), State.TEST)
    assert (await edit(house, workflow_id, gate("Is it a parcel van?"))).beside is None
    await house.happens(house.plate("AB1"))
    assert await runs(house) == [(2, "test", "done")]


@pytest.mark.parametrize(
    ("change", "beside"),
    [
        (lambda text: text.replace("decision: [delivery, visitor]", "decision: [visitor, delivery]"), 1),
        (lambda text: text.replace("visitor]", "visitor, other]\n      other: [log: 'o']"), 1),
        (lambda text: text.replace("mode: look\n", "mode: look\n      uncalibrated: unsure\n"), 1),
        (lambda text: text.replace('[log: "delivery"]', '[log: "a delivery"]'), None),
        (lambda text: text.replace("id: look", "id: looks"), None),
        (lambda text: text.replace("then:\n", 'then:\n  - log: "first"\n'), None),
    ],
    ids=["the order of the answers", "one answer more", "a setting", "what a lane does", "its name", "where it stands"],
)
async def test_what_decides_is_what_a_model_is_asked_and_which_ways_there_are(
    house: House, change: Any, beside: int | None
) -> None:
    text = LOGS_ONLY % ("Who is it?", "delivery")
    workflow_id = await house.save(text)
    changed = change(text)
    assert changed != text
    assert (await edit(house, workflow_id, changed)).beside == beside


async def test_both_go_on_as_they_were_after_a_restart(house: House) -> None:
    workflow_id = await house.save(gate())
    await edit(house, workflow_id, gate("Is it a parcel van?"))
    await house.restart()
    await house.happens(house.plate("AB1"))
    assert sorted(await runs(house)) == [(1, "on", "done"), (2, "test", "done")]
    await house.engine.refresh()
    await house.passes(1)
    await house.happens(house.plate("AB1"))
    assert len(await runs(house)) == 4
    await house.engine.set_state(workflow_id, State.ON, "user:admin")
    await house.restart()
    await house.passes(1)
    await house.happens(house.plate("AB1"))
    assert (await runs(house))[4:] == [(2, "on", "done")]


async def test_a_question_of_the_on_version_is_held_up_by_no_test_of_the_other(house: House) -> None:
    workflow_id = await house.save(ASKS % "Who is it?")
    await edit(house, workflow_id, (ASKS % "Is it a van?").replace("then:\n", "then:\n  - wait: 8s\n"))
    await house.happens(house.plate("AB1"))
    assert sorted(await runs(house)) == [(1, "on", "waiting"), (2, "test", "waiting")]
    await house.happens(house.plate("AB1"))
    seen = await house.rows(select(workflow_runs.c.seen_again))
    assert [one["seen_again"] for one in seen] == [1, 1]
    await house.happens(house.plate("XY9"))
    assert sorted(await runs(house)) == [
        (1, "on", "cancelled"),
        (1, "on", "waiting"),
        (2, "test", "cancelled"),
        (2, "test", "waiting"),
    ]
    await house.passes(9)
    await house.restart()
    asked = await house.rows(select(workflow_approvals).where(workflow_approvals.c.state == "open"))
    real = [one for one in asked if not one["rehearsal"]]
    assert len(real) == 1
    await house.engine.answer(real[0]["id"], "Let in", "user:gerda")
    await house.engine.drain()
    assert len(house.outside.named("gate.open")) == 1


async def test_a_run_under_way_finishes_on_the_version_that_it_began_with(house: House) -> None:
    workflow_id = await house.save(ASKS % "Who is it?")
    waiting = await house.happens(house.plate("AB1"))
    await edit(house, workflow_id, ASKS % "Is it a van?")
    await house.engine.set_state(workflow_id, State.ON, "user:admin")
    await house.reply("Let in")
    run = await house.run(waiting)
    assert (run["version"], run["mode"], run["state"]) == (1, "on", "done")
    assert len(house.outside.named("gate.open")) == 1


async def test_cooldown_hour_and_ai_calls_are_counted_apart(house: House) -> None:
    workflow_id = await house.save(gate(cooldown="60s", per_hour=2, ai_per_hour=2))
    await edit(house, workflow_id, gate("Is it a van?", cooldown="0s", per_hour=2, ai_per_hour=1))
    for _ in range(3):
        await house.happens(house.plate("AB1"))
        await house.passes(5)
    # The one that is On cools down; the test has used its two runs of the hour.
    assert await runs(house) == [(1, "on", "done"), (2, "test", "done"), (2, "test", "done")]
    counted = {(one["scope"], one["name"]): one["count"] for one in await house.rows(counters)}
    beside = f"{workflow_id}/beside"
    assert (counted[workflow_id, "refused.cooldown"], counted[beside, "refused.per_hour"]) == (2, 1)
    assert (counted[workflow_id, AI_CALLS], counted[beside, AI_CALLS]) == (1, 2)
    assert await house.engine_alerts() == ["Gate, version 2 in Test, has used its 2 runs of this hour"]
    assert (await row(house))["attention"] is None
    await house.passes(60)
    await house.happens(house.plate("AB1"))
    assert (await runs(house))[3:] == [(1, "on", "done")]
    assert len(house.outside.named("gate.open")) == 2


async def test_a_schedule_starts_both_where_both_have_it(house: House) -> None:
    workflow_id = await house.save(ROUNDS % ("15m", "Is it quiet?"))
    await edit(house, workflow_id, ROUNDS % ("15m", "Is anybody there?"))
    await house.passes(900)
    assert sorted(await runs(house)) == [(1, "on", "done"), (2, "test", "done")]


async def test_a_schedule_of_one_of_them_starts_that_one(house: House) -> None:
    workflow_id = await house.save(ROUNDS % ("15m", "Is it quiet?"))
    await edit(house, workflow_id, ROUNDS % ("20m", "Is anybody there?"))
    await house.passes(900)
    await house.passes(300)
    assert sorted(await runs(house)) == [(1, "on", "done"), (2, "test", "done")]
    starts = select(workflow_runs.c.version, events.c.payload).join(events, events.c.id == workflow_runs.c.event_id)
    told = {one["version"]: one["payload"] for one in await house.rows(starts)}
    assert "15m" in told[1] and "20m" in told[2]


async def test_a_version_without_its_provider_is_left_out_and_the_other_goes_on(house: House) -> None:
    without = {name: action for name, action in house.skills.actions.items() if name != "gate.open"}
    every = house.skills
    workflow_id = await house.save(LOGS_ONLY % ("Who is it?", "delivery"))
    opens = LOGS_ONLY % ("Is it a van?", "delivery") + (
        "  - ask_person: { who: role:guard, message: A car, replies: [Let in], timeout: 10m }\n"
        "    Let in: [gate.open: { gate: main_gate }]\n"
    )
    house.skills = dataclasses.replace(every, actions=without)
    await house.restart()
    await edit(house, workflow_id, opens)
    await house.happens(house.plate("AB1"))
    assert await runs(house) == [(1, "on", "done")]
    assert "Version 2 does not run in Test beside version 1" in (await row(house))["attention"]
    with pytest.raises(ConfigurationInvalid, match=r"gate\.open"):
        await house.engine.set_state(workflow_id, State.ON, "user:admin")
    house.skills = every
    await house.restart()
    assert (await row(house))["attention"] is None
    await house.happens(house.plate("AB1"))
    assert sorted((await runs(house))[1:]) == [(1, "on", "done"), (2, "test", "done")]


async def test_off_that_could_not_be_written_leaves_both_as_they_were(house: House) -> None:
    workflow_id = await house.save(gate())
    await edit(house, workflow_id, gate("Is it a parcel van?"))
    with pytest.raises(Conflict, match="Somebody changed"):
        await house.engine.set_state(workflow_id, State.OFF, "user:admin", base_version=1)
    await house.happens(house.plate("AB1"))
    assert sorted(await runs(house)) == [(1, "on", "done"), (2, "test", "done")]
    assert len(house.outside.named("gate.open")) == 1


async def test_another_process_follows_which_version_is_on_and_which_is_in_test(house: House) -> None:
    workflow_id = await house.save(gate())
    other = Catalog(house.engine._parts)
    await other.refresh(says=False)
    await edit(house, workflow_id, gate("Is it a parcel van?"))
    assert await other.follow()
    held = other.get(workflow_id)
    assert held.takes_events is not None and held.beside is not None
    assert (held.takes_events.version, held.beside.version) == (1, 2)
    assert not await other.follow()
    await house.engine.set_state(workflow_id, State.ON, "user:admin")
    assert await other.follow()
    held = other.get(workflow_id)
    assert held.takes_events is not None and (held.takes_events.version, held.beside) == (2, None)
