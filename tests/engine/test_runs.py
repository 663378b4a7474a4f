"""A run from its event to its end."""

from __future__ import annotations

from siteward.core.errors import EgressRefused
from siteward.core.store.schema import events, outbox, workflow_run_steps, workflow_runs

from .house import House

CONCIERGE = """
contract: workflow.v1
name: Gate concierge
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron, min_seconds: 3 }
then:
  - id: look
    ai:
      mode: look
      prompt: Who is it?
      input: picture
      decision: [delivery, visitor]
      delivery: [log: "delivery"]
      visitor: [log: "visitor"]
      unsure: [log: "unsure"]
  - id: ask
    ask_person:
      who: role:guard
      message: "{look.decision}: {look.reason}"
      replies: [Let in, Send away]
      timeout: 2m
    Let in:
      - gate.open: { gate: main_gate }
      - log: "let in by {ask.by}"
    Send away: [log: "sent away"]
    no_answer: [log: "nobody answered"]
always:
  - log: "done"
"""


async def test_a_vehicle_is_looked_at_a_guard_lets_it_in_and_the_gate_opens_once(house: House) -> None:
    await house.save(CONCIERGE)
    run_id = await house.happens(house.vehicle())
    assert await house.states() == ["waiting"]
    assert house.outside.calls == []
    await house.reply("Let in")
    assert await house.states() == ["done"]
    assert [call.arguments for call in house.outside.named("gate.open")] == [{"gate": "main_gate"}]
    assert await house.logged() == ["delivery", "let in by user:gerda", "done"]
    assert await house.steps(run_id) == {
        "then.0": "done",
        "then.0/delivery.0": "done",
        "then.1": "done",
        "then.1/Let in.0": "done",
        "then.1/Let in.1": "done",
        "always.0": "done",
    }


async def test_no_answer_never_opens_the_gate(house: House) -> None:
    await house.save(CONCIERGE)
    await house.happens(house.vehicle())
    await house.passes(119)
    assert await house.states() == ["waiting"]
    await house.passes(1)
    assert await house.states() == ["done"]
    assert house.outside.calls == []
    assert await house.logged() == ["delivery", "nobody answered", "done"]


async def test_every_step_keeps_its_reason_confidence_and_times(house: House) -> None:
    await house.save(CONCIERGE)
    await house.happens(house.vehicle())
    look = next(row for row in await house.rows(workflow_run_steps) if row["kind"] == "ai")
    assert (look["outcome"], look["reason"], look["confidence"], look["model"]) == (
        "delivery",
        "a parcel van",
        0.9,
        "scripted",
    )
    assert look["started_at"] == look["ended_at"] == house.clock.now().timestamp()


async def test_an_event_comes_twice_and_makes_one_run(house: House) -> None:
    await house.save(CONCIERGE)
    event = house.vehicle(id="the-same")
    first = await house.engine.accept(event)
    assert await house.engine.accept(event) == first
    assert len(await house.rows(workflow_runs)) == 1
    assert len(await house.rows(events)) == 1


async def test_an_event_that_nobody_wants_is_kept_and_makes_no_run(house: House) -> None:
    await house.save(CONCIERGE)
    assert await house.happens(house.vehicle(camera="cam-2")) is None
    assert [row["matched"] for row in await house.rows(events)] == [0]


async def test_correlation_and_chain_travel_with_the_run(house: House) -> None:
    await house.save(CONCIERGE)
    run_id = await house.happens(house.vehicle(id="origin"))
    await house.reply("Let in")
    run, call = await house.run(run_id), house.outside.named("gate.open")[0]
    assert (run["correlation_id"], run["chain"]) == ("origin", 1)
    assert (call.correlation_id, call.chain, call.key) == ("origin", 1, f"{run_id}:then.1/Let in.0")


async def test_live_updates_tell_the_story_in_order(house: House) -> None:
    await house.save(CONCIERGE)
    await house.happens(house.vehicle())
    await house.reply("Send away")
    topics = [row["topic"] for row in await house.rows(outbox) if row["topic"] != "workflow.changed"]
    assert topics[0] == "run.started"
    assert topics[-1] == "run.ended"
    assert topics.index("approval.opened") < topics.index("approval.closed")


NOT_MET = """
contract: workflow.v1
name: Night only
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
if:
  - site_mode: [armed_away]
then:
  - log: "armed"
always:
  - log: "always"
"""


async def test_a_run_that_is_not_met_ends_at_once_and_starts_no_cooldown(house: House) -> None:
    await house.save(NOT_MET)
    await house.happens(house.vehicle())
    assert await house.states() == ["not_met"]
    assert await house.logged() == []
    house.site.mode = "armed_away"
    await house.happens(house.vehicle())
    assert await house.states() == ["not_met", "done"]
    assert await house.logged() == ["armed", "always"]


FAILS = """
contract: workflow.v1
name: Fails
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - webhook: { to: ticketing, body: { text: "hello" } }
  - log: "after"
always:
  - log: "always"
"""


async def test_always_runs_after_a_failure_and_the_run_stays_failed(house: House) -> None:
    house.site.approved = frozenset({"destination:ticketing"})
    house.outside.raises["webhook"] = [EgressRefused("The site does not allow this destination.")]
    await house.save(FAILS)
    run_id = await house.happens(house.vehicle())
    run = await house.run(run_id)
    assert (run["state"], run["state_reason"]) == (
        "failed",
        "egress.refused: The site does not allow this destination.",
    )
    assert await house.logged() == ["always"]


LOOP = """
contract: workflow.v1
name: Loop
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - for_each:
      in: [a, b, c]
      as: item
      do:
        - log: "{item}"
        - wait: 5s
  - log: "end"
"""


async def test_for_each_goes_over_its_items_across_waits(house: House) -> None:
    await house.save(LOOP)
    run_id = await house.happens(house.vehicle())
    for _ in range(3):
        await house.passes(5)
    assert await house.logged() == ["a", "b", "c", "end"]
    assert list(await house.steps(run_id)) == [
        "then.0",
        "then.0/do[0].0",
        "then.0/do[0].1",
        "then.0/do[1].0",
        "then.0/do[1].1",
        "then.0/do[2].0",
        "then.0/do[2].1",
        "then.1",
    ]


async def test_a_waiting_run_outlives_a_restart(house: House) -> None:
    await house.save(CONCIERGE)
    await house.happens(house.vehicle())
    await house.restart()
    assert await house.states() == ["waiting"]
    await house.reply("Let in")
    assert len(house.outside.named("gate.open")) == 1
    assert await house.states() == ["done"]
