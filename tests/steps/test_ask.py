"""`ask_person`: who is asked what, what a reply allows, and that silence allows nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from siteward.core.contract.document import Step
from siteward.core.contract.registry import Provenance
from siteward.core.engine.authority import REPLY
from siteward.core.engine.seam import Done, Failed, Mode, NewWait, Park, StepStatus, Wake, WakeKind
from siteward.core.engine.values import fill
from siteward.steps import host_steps
from tests.steps.world import NOON, PLATE, World, step, value

AI = Provenance.AI
VALUES = {
    "plate": PLATE,
    "reason": value("A white van", AI),
    "company": value(None, AI),
    "guard": value("role:guard", AI),
}
MOVES = {"Let in": ("gate.open main_gate",)}


def ask(**over: Any) -> Step:
    settings = {
        "who": "role:guard",
        "message": "{plate}: {reason}. Let in?",
        "replies": ["Let in", "Send away"],
        "timeout": "90s",
        **over,
    }
    return step("ask_person", {name: one for name, one in settings.items() if one is not None})


def world(**over: Any) -> World:
    return World(values=dict(VALUES), moves=MOVES, **over)


async def asked(question: Step, run: World | None = None) -> Park:
    found = await host_steps()["ask_person"].start(question, run or world())
    assert isinstance(found, Park)
    return found


def wake(kind: WakeKind, wait: NewWait | None = None, **over: Any) -> Wake:
    return Wake(kind, wait or NewWait("ask", NOON), NOON + timedelta(seconds=20), boot=1020.0, **over)


async def woken(question: Step, by: Wake) -> Done:
    found = await host_steps()["ask_person"].resume(question, world(), by)
    assert isinstance(found, Done)
    return found


async def test_the_question_has_its_values_picture_and_time() -> None:
    parked = await asked(ask())
    question = parked.approval
    assert question is not None
    assert question.who == ("role:guard",)
    assert question.message == "B-AB 123: A white van. Let in?"
    assert question.picture == "picture-1"
    assert question.due == NOON + timedelta(seconds=90)
    assert parked.waits == (NewWait("ask", question.due),)


async def test_each_reply_says_what_it_would_move() -> None:
    question = (await asked(ask())).approval
    assert question is not None
    assert question.replies == (
        {"reply": "Let in", "moves": ["gate.open main_gate"]},
        {"reply": "Send away", "moves": []},
    )


async def test_what_the_person_was_shown_is_kept_with_its_labels() -> None:
    question = (await asked(ask())).approval
    assert question is not None
    assert {name: one.provenance for name, one in question.shown.items()} == {"plate": Provenance.SENSOR, "reason": AI}


async def test_a_value_that_nobody_knows_does_not_keep_the_guard_from_being_asked() -> None:
    question = (await asked(ask(message="From {company}?"))).approval
    assert question is not None and question.message == "From unknown?"


async def test_without_a_timeout_a_question_stays_five_minutes() -> None:
    question = (await asked(ask(timeout=None))).approval
    assert question is not None and question.due == NOON + timedelta(minutes=5)


async def test_later_others_are_asked_too() -> None:
    rows = [{"after": "30s", "who": "role:supervisor"}, {"after": "2m", "who": "user:ada"}]
    parked = await asked(ask(escalate=rows))
    # The second comes after the question is over, so it never comes.
    assert parked.waits[1:] == (NewWait("escalate", NOON + timedelta(seconds=30), {"who": ["role:supervisor"]}),)
    found = await host_steps()["ask_person"].resume(ask(escalate=rows), world(), wake(WakeKind.DUE, parked.waits[1]))
    assert found == Park((), escalate=("role:supervisor",), result={"escalated_to": ["role:supervisor"]})


async def test_a_reply_allows_what_its_lane_does() -> None:
    found = await woken(ask(), wake(WakeKind.REPLY, reply="Let in", by="user:ada"))
    assert found.outcome == "Let in"
    authority = found.authority
    assert authority is not None
    assert (authority.kind, authority.path, authority.lane, authority.by) == (REPLY, "then.0", "Let in", "user:ada")
    assert (authority.at, authority.boot) == (NOON + timedelta(seconds=20), 1020.0)
    assert authority.shown == {"plate", "reason"}
    assert not found.unanswered


async def test_later_steps_know_who_said_what() -> None:
    found = await woken(ask(), wake(WakeKind.REPLY, reply="Let in", by="user:ada", note="knows them"))
    under = {f"ask.{name}": one for name, one in found.values.items()}
    assert fill("{ask.reply} by {ask.by}: {ask.note}", under).value == "Let in by user:ada: knows them"
    assert {one.provenance for one in found.values.values()} == {Provenance.PERSON}


async def test_no_answer_never_authorises() -> None:
    found = await woken(ask(), wake(WakeKind.DUE))
    assert (found.outcome, found.authority, found.unanswered) == ("no_answer", None, True)


async def test_a_default_never_authorises() -> None:
    found = await woken(ask(default="Send away"), wake(WakeKind.DUE))
    assert (found.outcome, found.authority, found.unanswered) == ("Send away", None, True)


async def test_a_default_that_would_move_authorises_nothing_either() -> None:
    found = await woken(ask(default="Let in"), wake(WakeKind.DUE))
    assert (found.authority, found.unanswered) == (None, True)


async def test_after_silence_the_answer_still_reads() -> None:
    found = await woken(ask(), wake(WakeKind.DUE))
    under = {f"ask.{name}": one for name, one in found.values.items()}
    assert fill("{ask.reply} by {ask.by}", under).value == "no_answer by nobody"


async def test_a_reply_that_was_not_offered_opens_nothing() -> None:
    found = await host_steps()["ask_person"].resume(ask(), world(), wake(WakeKind.REPLY, reply="Open all", by="x"))
    assert isinstance(found, Failed)
    assert found.code == "ask.unknown_reply"


@pytest.mark.parametrize("mode", [Mode.TEST, Mode.TRY, Mode.REPLAY])
@pytest.mark.parametrize(("default", "outcome"), [(None, "no_answer"), ("Send away", "Send away")])
async def test_a_test_disturbs_nobody_and_says_what_each_reply_would_have_done(
    mode: Mode, default: str | None, outcome: str
) -> None:
    found = await host_steps()["ask_person"].start(ask(default=default), world(mode=mode))
    assert isinstance(found, Done)
    assert (found.outcome, found.status, found.unanswered, found.authority) == (
        outcome,
        StepStatus.WOULD_HAVE,
        True,
        None,
    )
    assert found.result["would_have_asked"] == "B-AB 123: A white van. Let in?"
    assert found.result["replies"][0] == {"reply": "Let in", "moves": ["gate.open main_gate"]}


@pytest.mark.parametrize(
    "over",
    [
        {"who": "{guard}"},
        {"replies": ["{reason}", "No"]},
        {"escalate": [{"after": "10s", "who": "{guard}"}]},
    ],
)
async def test_ai_never_chooses_whom_to_ask_or_how_the_replies_read(over: dict[str, Any]) -> None:
    found = await host_steps()["ask_person"].start(ask(**over), world())
    assert isinstance(found, Failed)
    assert (found.code, found.status) == ("safety.ai_recipient", StepStatus.REFUSED)


async def test_a_question_over_a_name_that_nothing_gives_fails_clearly() -> None:
    found = await host_steps()["ask_person"].start(ask(message="{nowhere}?"), world())
    assert isinstance(found, Failed)
    assert "{nowhere}" in found.sentence
