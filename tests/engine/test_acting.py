"""What acts outside: at most once where it moves, under one key where it may repeat, and never stale."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from siteward.core.contract.document import State
from siteward.core.engine.waits import AlreadyAnswered
from siteward.core.errors import ActionFailed, EgressRefused, OutcomeUnknown, SitewardError, Unreachable
from siteward.core.plugins.objects import ActionCall
from siteward.core.store.schema import alerts, workflow_approvals, workflow_run_steps

from .house import House

ASKS = """
contract: workflow.v1
name: Gate
limits: { cooldown: 0s }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - ask_person: { who: role:guard, message: "A car", replies: [Let in], timeout: 1h }
    Let in:
      %s
      - gate.open: { gate: main_gate }
      - log: "opened"
always:
  - log: "always"
"""
TELLS = """
contract: workflow.v1
name: Tells
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - webhook: { to: ticketing, body: { camera: "{camera}" } }
  - log: "told"
"""


async def test_a_reply_that_is_too_old_opens_nothing_and_an_alert_says_so(house: House) -> None:
    await house.save(ASKS % "- wait: 61s")
    run_id = await house.happens(house.vehicle())
    await house.reply("Let in")
    await house.passes(61)
    run = await house.run(run_id)
    assert (run["state"], house.outside.calls) == ("expired", [])
    assert await house.logged() == ["always"]
    assert await house.engine_alerts() == ["Gate: gate.open expired"]


async def test_a_reply_is_good_for_as_long_as_the_site_says(house: House) -> None:
    house.site.fresh = 120
    await house.save(ASKS % "- wait: 61s")
    await house.happens(house.vehicle())
    await house.reply("Let in")
    await house.passes(61)
    assert len(house.outside.named("gate.open")) == 1


async def test_a_jump_of_the_clock_never_makes_an_old_reply_young(house: House) -> None:
    await house.save(ASKS % "- wait: 30s")
    run_id = await house.happens(house.vehicle())
    await house.reply("Let in")
    await house.passes(29)
    await house.clock.jump(-3600)
    await house.passes(3601)
    assert (await house.run(run_id))["state"] == "expired"
    assert house.outside.calls == []


async def test_a_move_with_an_unknown_end_is_never_sent_again(house: House) -> None:
    house.outside.raises["gate.open"] = [OutcomeUnknown("The relay did not answer.")]
    await house.save(ASKS % "")
    run_id = await house.happens(house.vehicle())
    await house.reply("Let in")
    await house.passes(3600)
    assert (await house.run(run_id))["state"] == "unknown"
    assert len(house.outside.named("gate.open")) == 1
    assert await house.logged() == ["always"]
    assert await house.engine_alerts() == ["Gate: gate.open unknown"]


async def test_a_move_whose_code_breaks_has_an_unknown_end(house: House) -> None:
    house.outside.raises["gate.open"] = [RuntimeError("boom")]
    await house.save(ASKS % "")
    run_id = await house.happens(house.vehicle())
    await house.reply("Let in")
    assert (await house.run(run_id))["state"] == "unknown"


async def test_a_move_that_is_known_to_have_failed_fails_its_run(house: House) -> None:
    house.outside.raises["gate.open"] = [ActionFailed("The relay refused.")]
    await house.save(ASKS % "")
    run_id = await house.happens(house.vehicle())
    await house.reply("Let in")
    assert (await house.run(run_id))["state"] == "failed"
    assert await house.engine_alerts() == []


async def test_a_message_that_nobody_took_is_sent_again_under_the_same_key(house: House) -> None:
    house.site.approved = frozenset({"destination:ticketing"})
    house.outside.raises["webhook"] = [Unreachable("No answer."), Unreachable("No answer.")]
    await house.save(TELLS)
    run_id = await house.happens(house.vehicle())
    assert await house.states() == ["waiting"]
    await house.passes(5)
    await house.passes(30)
    assert await house.states() == ["done"]
    assert [call.key for call in house.outside.calls] == [f"{run_id}:then.0"] * 3
    row = next(row for row in await house.rows(workflow_run_steps) if row["kind"] == "webhook")
    assert (row["attempts"], row["status"]) == (3, "done")


async def test_a_message_is_given_up_after_five_attempts(house: House) -> None:
    house.site.approved = frozenset({"destination:ticketing"})
    house.outside.raises["webhook"] = [Unreachable("No answer.") for _ in range(9)]
    await house.save(TELLS)
    run_id = await house.happens(house.vehicle())
    for _ in range(20):
        await house.passes(600)
    run = await house.run(run_id)
    assert (run["state"], len(house.outside.calls)) == ("failed", 5)
    assert "Given up after 5 attempts" in run["state_reason"]


async def test_what_cannot_help_is_not_tried_again(house: House) -> None:
    house.site.approved = frozenset({"destination:ticketing"})
    house.outside.raises["webhook"] = [EgressRefused("Not listed.")]
    await house.save(TELLS)
    await house.happens(house.vehicle())
    await house.passes(600)
    assert len(house.outside.calls) == 1


async def test_a_refused_move_stops_its_path_and_says_why(house: House) -> None:
    """The destination was approved when the file was saved; it no longer is, and so the message is a move without a guard."""
    house.site.approved = frozenset({"destination:ticketing"})
    await house.save(TELLS)
    house.site.approved = frozenset()
    run_id = await house.happens(house.vehicle())
    assert (await house.run(run_id))["state"] == "failed"
    assert (await house.steps(run_id))["then.0"] == "refused"
    assert house.outside.calls == []
    assert await house.engine_alerts() == ["Tells: webhook refused"]


async def test_off_during_a_wait_cancels_the_run_and_withdraws_the_question(house: House) -> None:
    workflow_id = await house.save(ASKS % "")
    run_id = await house.happens(house.vehicle())
    await house.engine.set_state(workflow_id, State.OFF, "user:admin")
    await house.engine.drain()
    run = await house.run(run_id)
    assert (run["state"], run["state_reason"]) == ("cancelled", "workflow_off")
    assert [row["state"] for row in await house.rows(workflow_approvals)] == ["cancelled"]
    assert await house.logged() == []


async def test_off_while_a_gate_opens_lets_that_step_end_and_nothing_more(house: House) -> None:
    workflow_id = await house.save(ASKS % "")
    run_id = await house.happens(house.vehicle())

    async def turned_off(call: ActionCall) -> None:
        await house.engine.set_state(workflow_id, State.OFF, "user:admin")

    house.outside.before["gate.open"] = turned_off
    await house.reply("Let in")
    run = await house.run(run_id)
    assert run["state"] == "cancelled"
    assert (await house.steps(run_id))["then.0/Let in.0"] == "done"
    assert await house.logged() == []


async def test_going_to_test_turns_the_rest_of_a_run_into_would_have(house: House) -> None:
    workflow_id = await house.save(ASKS % "")
    run_id = await house.happens(house.vehicle())
    await house.engine.set_state(workflow_id, State.TEST, "user:admin")
    await house.reply("Let in")
    steps = await house.steps(run_id)
    assert steps["then.0/Let in.0"] == "would_have"
    assert steps["always.0"] == "would_have"
    assert house.outside.calls == []
    assert await house.logged() == []


async def test_an_edit_lets_the_run_finish_on_its_version(house: House) -> None:
    workflow_id = await house.save(ASKS % "")
    await house.happens(house.vehicle())
    edited = (ASKS % "").replace('log: "opened"', 'log: "new words"')
    await house.engine.save_workflow(edited, "user:admin", workflow_id, 1)
    await house.restart()
    await house.reply("Let in")
    assert await house.logged() == ["opened", "always"]
    await house.happens(house.vehicle())
    await house.reply("Let in")
    assert await house.logged() == ["opened", "always", "new words", "always"]


async def test_two_answers_at_once_and_the_first_wins(house: House) -> None:
    await house.save(ASKS % "")
    await house.happens(house.vehicle())
    approval = (await house.rows(workflow_approvals))[0]["id"]
    answers = (house.engine.answer(approval, "Let in", who) for who in ("user:gerda", "user:hans"))
    first, second = await asyncio.gather(*answers, return_exceptions=True)
    await house.engine.drain()
    lost = [one for one in (first, second) if isinstance(one, Exception)]
    winner = (await house.rows(workflow_approvals))[0]["answered_by"].removeprefix("user:")
    assert [str(one) for one in lost] == [f"Already answered by {winner}: Let in."]
    assert len(house.outside.named("gate.open")) == 1


async def test_an_answer_names_its_question_its_reply_and_may_be_given(house: House) -> None:
    await house.save(ASKS % "")
    await house.happens(house.vehicle())
    approval = (await house.rows(workflow_approvals))[0]["id"]
    wrong = {
        ("nothing", "Let in", "user:gerda"): "no such question",
        (approval, "Open", "user:gerda"): "no reply to this question",
        (approval, "Let in", "user:stranger"): "not for you",
    }
    for (question, reply, who), said in wrong.items():
        with pytest.raises(SitewardError, match=said):
            await house.engine.answer(question, reply, who)
    await house.engine.drain()
    assert house.outside.calls == []


async def test_a_reply_after_its_time_is_no_reply(house: House) -> None:
    await house.save(ASKS % "")
    await house.happens(house.vehicle())
    approval = (await house.rows(workflow_approvals))[0]["id"]
    house.clock._now += timedelta(hours=2)  # the timer did not get to it yet
    house.clock._since_boot += 7200
    with pytest.raises(AlreadyAnswered, match="over"):
        await house.engine.answer(approval, "Let in", "user:gerda")
    await house.engine.drain()
    assert house.outside.calls == []


AI_ALERT = """
contract: workflow.v1
name: Alarmed
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - ai:
      mode: look
      prompt: Who is it?
      input: picture
      decision: [intruder]
      intruder: [alert: { severity: high, title: "Intruder" }]
      unsure: [log: "unsure"]
"""


async def test_an_alert_that_ai_raises_is_capped_and_says_so(house: House) -> None:
    house.looks.decision = "intruder"
    await house.save(AI_ALERT)
    await house.happens(house.vehicle())
    alert = (await house.rows(alerts))[0]
    assert (alert["severity"], alert["asked_severity"]) == ("medium", "high")
    assert "capped to medium" in alert["clamped_why"]
