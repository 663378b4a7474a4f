"""Waits: they end by time, by a person or by an event, once, whatever the clock does."""

from __future__ import annotations

import asyncio
import dataclasses

from sqlalchemy import select

from siteward.core.contract.document import State
from siteward.core.events.event import Event
from siteward.core.store.schema import alerts, waits, workflow_approvals, workflows

from .house import House

WAITS_FOR = """
contract: workflow.v1
name: Waits for
limits: { cooldown: 0s }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
if:
  - site_mode: [disarmed]
then:
  - gate.open: { gate: main_gate }
  - wait_for: { gate.changed: { to: open }, timeout: 2m }
    happened: [log: "open"]
    not_happened: [log: "shut"]
"""


def gate(house: House, to: str) -> Event:
    return house.event("gate.changed", {"gate": "main_gate", "to": to}, camera=None)


async def test_wait_for_goes_on_with_the_event_that_it_asked_for(house: House) -> None:
    await house.save(WAITS_FOR)
    await house.happens(house.vehicle())
    await house.happens(gate(house, "closed"))
    assert await house.states() == ["waiting"]
    await house.happens(gate(house, "open"))
    assert await house.states() == ["done"]
    assert await house.logged() == ["open"]


async def test_wait_for_ends_when_its_time_is_over(house: House) -> None:
    await house.save(WAITS_FOR)
    await house.happens(house.vehicle())
    await house.passes(120)
    assert await house.logged() == ["shut"]


async def test_an_event_that_comes_while_the_wait_is_written_is_not_lost(house: House) -> None:
    """The relay tells that the gate is open at the moment the step begins, before its wait is committed."""
    await house.save(WAITS_FOR)
    submit = house.store.submit
    told = False

    async def at_once(*ops: object) -> None:
        nonlocal told
        if not told and any("INSERT INTO waits" in getattr(op, "sql", "") for op in ops):
            told = True
            await house.engine.accept(gate(house, "open"))
        await submit(*ops)  # type: ignore[arg-type]

    house.store.submit = at_once  # type: ignore[method-assign]
    await house.happens(house.vehicle())
    assert told
    assert await house.states() == ["done"]
    assert await house.logged() == ["open"]


async def test_an_event_from_before_the_step_is_not_taken(house: House) -> None:
    await house.save(WAITS_FOR)
    await house.happens(gate(house, "open"))
    await house.passes(1)
    await house.happens(house.vehicle())
    assert await house.states() == ["waiting"]


ESCALATES = """
contract: workflow.v1
name: Escalates
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - ask_person:
      who: role:guard
      message: "A car"
      replies: [Let in]
      timeout: 5m
      escalate: [{ after: 60s, who: role:boss }]
    Let in: [gate.open: { gate: main_gate }]
    no_answer: [log: "nobody answered"]
"""


async def test_a_question_is_put_to_more_people_when_it_is_late_and_stays_one_question(house: House) -> None:
    await house.save(ESCALATES)
    await house.happens(house.vehicle())
    await house.passes(60)
    asked = await house.rows(workflow_approvals)
    assert [(row["who"], row["state"]) for row in asked] == [('["role:guard","role:boss"]', "open")]
    await house.reply("Let in", "user:bob")
    assert len(house.outside.named("gate.open")) == 1
    assert await house.states() == ["done"]


async def test_the_time_of_a_question_ends_it_also_after_an_escalation(house: House) -> None:
    await house.save(ESCALATES)
    await house.happens(house.vehicle())
    await house.passes(60)
    await house.passes(240)
    assert await house.logged() == ["nobody answered"]
    assert [row["state"] for row in await house.rows(workflow_approvals)] == ["no_answer"]


WAITS = """
contract: workflow.v1
name: Waits
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - wait: 10m
  - log: "waited"
"""


async def test_a_wait_is_neither_shortened_nor_repeated_by_a_restart(house: House) -> None:
    await house.save(WAITS)
    await house.happens(house.vehicle())
    await house.passes(599)
    await house.restart()
    await house.engine.drain()
    assert await house.logged() == []
    await house.passes(1)
    await house.restart()
    await house.engine.drain()
    assert await house.logged() == ["waited"]


async def test_a_clock_that_jumps_ahead_ends_waits_once(house: House) -> None:
    await house.save(WAITS)
    await house.happens(house.vehicle())
    await house.clock.jump(2 * 365 * 86400)
    await house.engine.drain()
    await house.clock.jump(-2 * 365 * 86400)
    await house.passes(600)
    assert await house.logged() == ["waited"]


async def test_the_timer_fires_by_itself(house: House) -> None:
    await house.save(WAITS)
    await house.engine.accept(house.vehicle())
    for _ in range(200):
        await asyncio.sleep(0.005)
        if await house.states() == ["waiting"]:
            break
    await asyncio.sleep(0.05)
    await house.clock.advance(600)
    for _ in range(200):
        await asyncio.sleep(0.005)
        if await house.states() == ["done"]:
            break
    assert await house.states() == ["done"]


SCHEDULED = """
contract: workflow.v1
name: Scheduled
limits: { cooldown: 0s }
when:
  schedule: { at: "07:00" }
then:
  - log: "good morning"
"""


async def test_a_schedule_fires_once_a_day_by_the_clock_of_the_site(house: House) -> None:
    """The house's clock stands at 09:00 UTC, 10:00 in Berlin; a day on it is summer or winter time as it falls."""
    await house.save(SCHEDULED)
    await house.passes(20 * 3600)
    assert await house.logged() == []
    await house.passes(3600)
    assert await house.logged() == ["good morning"]
    await house.passes(23 * 3600)
    assert await house.logged() == ["good morning"]
    await house.passes(3600)
    assert await house.logged() == ["good morning", "good morning"]


async def test_a_schedule_missed_by_little_fires_once_and_by_much_is_said(house: House) -> None:
    await house.save(SCHEDULED)
    await house.close()
    await house.clock.advance(21 * 3600 + 1800)
    await house.open()
    await house.engine.drain()
    assert await house.logged() == ["good morning"]
    await house.close()
    await house.clock.advance(3 * 24 * 3600 + 7200)
    await house.open()
    await house.engine.drain()
    assert await house.logged() == ["good morning"]
    assert await house.engine_alerts() == ["Scheduled: a schedule was missed"]


async def test_a_schedule_that_is_off_has_no_due_time(house: House) -> None:
    workflow_id = await house.save(SCHEDULED)
    await house.engine.set_state(workflow_id, State.OFF, "user:admin")
    await house.passes(30 * 3600)
    assert await house.logged() == []
    assert await house.rows(select(waits).where(waits.c.state == "open")) == []


BUTTON = """
contract: workflow.v1
name: Button
when:
  button: { name: Open up }
if:
  - site_mode: [disarmed]
then:
  - gate.open: { gate: main_gate }
"""


async def test_a_button_starts_its_workflow_with_who_pressed_it(house: House) -> None:
    await house.save(BUTTON)
    (run_id,) = await house.engine.press("Open up", "user:gerda")
    await house.engine.drain()
    assert (await house.run(run_id))["state"] == "done"
    assert house.outside.calls[0].event.payload["person"] == "user:gerda"
    assert await house.engine.press("Another", "user:gerda") == ()


async def test_a_workflow_without_a_provider_needs_attention_and_recovers_by_itself(house: House) -> None:
    workflow_id = await house.save(BUTTON)
    whole = house.skills
    registry = whole.registry
    actions = {name: spec for name, spec in registry.actions.items() if name != "gate.open"}
    house.skills = dataclasses.replace(whole, registry=dataclasses.replace(registry, actions=actions))
    await house.restart()
    attention = select(workflows.c.attention).where(workflows.c.id == workflow_id)
    assert "gate.open" in (await house.rows(attention))[0]["attention"]
    assert await house.engine.press("Open up", "user:gerda") == ()
    house.skills = whole
    await house.restart()
    assert (await house.rows(attention))[0]["attention"] is None
    assert len(await house.engine.press("Open up", "user:gerda")) == 1
    await house.engine.drain()


UPDATES = """
contract: workflow.v1
name: Updates
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - alert: { severity: low, title: "A car", description: "Somebody is there", update_with: look }
  - id: look
    ai:
      mode: look
      prompt: Who is it?
      input: picture
      decision: [delivery]
      delivery: [log: "x"]
      unsure: [log: "unsure"]
"""


async def test_the_models_line_joins_the_message_that_went_before(house: House) -> None:
    await house.save(UPDATES)
    await house.happens(house.vehicle())
    assert [row["message"] for row in await house.rows(alerts)] == ["Somebody is there\na parcel van"]
