"""The one place that decides an effect."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from siteward.core.contract.document import State
from siteward.core.contract.manifest_data import shipped_registry
from siteward.core.contract.registry import Moves, Provenance, Repeat
from siteward.core.engine.authority import AUTHORISING, REPLY, RULE
from siteward.core.engine.effects import (
    Expire,
    Perform,
    Refuse,
    Situation,
    Trust,
    WouldHave,
    clamp_severity,
    decide,
    effective_repeat,
    moves_now,
)
from siteward.core.engine.seam import Authority, Labelled, Mode, Trail
from tests.steps.world import NOON, event, value

ACTIONS = shipped_registry().actions
OPEN, ALERT, WEBHOOK = ACTIONS["gate.open"], ACTIONS["alert"], ACTIONS["webhook"]
NORTH = {"gate": Labelled("north", Provenance.LITERAL)}
TICKET = {"to": Labelled("ticketing", Provenance.LITERAL), "body": Labelled("x", Provenance.LITERAL)}
LET_IN = Authority(REPLY, "then.0", "Let in", NOON, boot=1000.0, by="guard")
RULED = Authority(RULE, "if", "true", NOON, boot=1000.0)
LISTED = Authority(AUTHORISING, "then.0", "true", NOON, boot=1000.0, lists=(frozenset({"expected"}),))


def situation(**over: Any) -> Situation:
    """A guard just let somebody in after AI looked, in a workflow that is On."""
    fields: dict[str, Any] = {
        "workflow_state": State.ON,
        "mode": Mode.ON,
        "trail": Trail(((LET_IN, False),), ai_before=True),
        "event": event(),
        "now": NOON + timedelta(seconds=5),
        "boot": 1005.0,
        "fresh_for": 60.0,
    }
    return Situation(**(fields | over))


def test_a_reply_lets_the_gate_open_once() -> None:
    assert decide(OPEN, NORTH, situation()) == Perform(Repeat.ONCE, LET_IN)


def test_without_an_authority_nothing_moves() -> None:
    found = decide(OPEN, NORTH, situation(trail=Trail(ai_before=True)))
    assert isinstance(found, Refuse)
    assert found.code == "safety.ai_unguarded"


def test_a_reply_from_before_the_last_ai_step_opens_nothing() -> None:
    assert isinstance(decide(OPEN, NORTH, situation(trail=Trail(((LET_IN, True),), ai_before=True))), Refuse)


def test_a_reply_from_before_a_power_cut_has_expired() -> None:
    found = decide(OPEN, NORTH, situation(now=NOON + timedelta(hours=1), boot=12.0))
    assert isinstance(found, Expire)


@pytest.mark.parametrize(("seconds", "late"), [(60, False), (61, True)])
def test_freshness_is_the_sites_bound(seconds: int, late: bool) -> None:
    found = decide(OPEN, NORTH, situation(now=NOON + timedelta(seconds=seconds), boot=1000.0 + seconds))
    assert isinstance(found, Expire) is late


@pytest.mark.parametrize("action", [OPEN, ALERT, WEBHOOK])
def test_off_stops_everything(action: Any) -> None:
    found = decide(action, NORTH, situation(workflow_state=State.OFF))
    assert isinstance(found, Refuse)
    assert found.code == "effect.off"


@pytest.mark.parametrize("action", [OPEN, ALERT, WEBHOOK])
def test_a_workflow_that_went_to_test_only_says_what_it_would_have_done(action: Any) -> None:
    assert isinstance(decide(action, NORTH, situation(workflow_state=State.TEST)), WouldHave)


@pytest.mark.parametrize("mode", [Mode.TEST, Mode.TRY, Mode.REPLAY])
@pytest.mark.parametrize("state", list(State))
def test_no_test_ever_performs(mode: Mode, state: State) -> None:
    for action in ACTIONS.values():
        assert action.repeat is not Repeat.RERUN
        assert not isinstance(decide(action, NORTH, situation(mode=mode, workflow_state=state)), Perform)


def test_try_works_on_a_workflow_that_is_off() -> None:
    found = decide(OPEN, NORTH, situation(mode=Mode.TRY, workflow_state=State.OFF))
    assert found == WouldHave("gate.open north")


def test_a_test_says_where_a_move_would_not_have_been_sent() -> None:
    found = decide(OPEN, NORTH, situation(mode=Mode.TEST, trail=Trail(ai_before=True)))
    assert isinstance(found, WouldHave)
    assert found.refused is not None and "gate.open" in found.refused


def test_what_may_run_again_runs_in_a_test_too() -> None:
    look_up = replace(ALERT, name="look_up", repeat=Repeat.RERUN)
    assert decide(look_up, {}, situation(mode=Mode.TEST)) == Perform(Repeat.RERUN)


def test_telling_needs_no_authority() -> None:
    assert decide(ALERT, {}, situation(trail=Trail(ai_before=True))) == Perform(Repeat.WITH_STEP)


def test_a_message_to_an_unknown_destination_is_a_move() -> None:
    assert isinstance(decide(WEBHOOK, TICKET, situation(trail=Trail(ai_before=True))), Refuse)
    assert decide(WEBHOOK, TICKET, situation()) == Perform(Repeat.ONCE, LET_IN)


def test_a_message_to_an_approved_destination_only_tells_and_may_be_retried() -> None:
    told = situation(trail=Trail(ai_before=True), tells=frozenset({"destination:ticketing"}))
    assert decide(WEBHOOK, TICKET, told) == Perform(Repeat.KEYED_RETRY)


def test_whatever_moves_is_once() -> None:
    for action in ACTIONS.values():
        moves = moves_now(action, NORTH | TICKET, frozenset())
        assert moves is (action.moves is not Moves.NO)
        assert effective_repeat(action, moves=moves) is (Repeat.ONCE if moves else action.repeat)


def test_an_argument_that_ai_chose_and_nobody_saw_is_refused() -> None:
    chosen = {"gate": replace(value("north", Provenance.AI), names=frozenset({"look.gate"}))}
    found = decide(OPEN, chosen, situation())
    assert isinstance(found, Refuse)
    shown = replace(LET_IN, shown=frozenset({"look.gate"}))
    assert isinstance(decide(OPEN, chosen, situation(trail=Trail(((shown, False),), ai_before=True))), Perform)


def test_a_list_that_the_site_does_not_accept_opens_nothing() -> None:
    listed = situation(trail=Trail(((LISTED, True),), ai_before=True))
    assert isinstance(decide(OPEN, NORTH, listed), Perform)
    assert isinstance(decide(OPEN, NORTH, replace(listed, allowed_lists=frozenset({"staff"}))), Refuse)


@pytest.mark.parametrize(
    ("action", "field"),
    [("notify", "who"), ("email", "who"), ("webhook", "to"), ("mqtt.publish", "topic"), ("speak", "line")],
)
def test_ai_never_chooses_whom_a_message_reaches(action: str, field: str) -> None:
    tells = frozenset({"destination:ticketing"})
    chosen = replace(value("ticketing", Provenance.AI), names=frozenset({"look.who"}))
    found = decide(ACTIONS[action], {field: chosen}, situation(tells=tells))
    assert isinstance(found, Refuse)
    assert found.code == "safety.ai_recipient"
    in_test = decide(ACTIONS[action], {field: chosen}, situation(tells=tells, mode=Mode.TEST))
    assert isinstance(in_test, WouldHave) and in_test.refused is not None
    written = Labelled("ticketing", Provenance.LITERAL)
    assert isinstance(decide(ACTIONS[action], {field: written}, situation(tells=tells)), Perform)


def test_what_a_message_says_may_be_ais() -> None:
    said = {"who": Labelled("role:guard", Provenance.LITERAL), "message": value("A van", Provenance.AI)}
    assert isinstance(decide(ACTIONS["notify"], said, situation()), Perform)


AI_SAID = Trail(ai_before=True)
EARNED = Trust(earned=True, said="29 of 30")


@pytest.mark.parametrize(
    ("asked", "trust", "severity"),
    [
        ("low", Trust(), "low"),
        ("medium", Trust(), "medium"),
        ("high", Trust(), "medium"),
        ("critical", Trust(), "medium"),
        ("high", EARNED, "high"),
        ("critical", EARNED, "high"),
    ],
)
def test_what_ai_raises_by_its_own_word_is_capped(asked: str, trust: Trust, severity: str) -> None:
    found, why = clamp_severity(asked, AI_SAID, trust)
    assert found == severity
    assert (why is None) is (found == asked)


def test_a_cap_says_why() -> None:
    assert clamp_severity("high", AI_SAID, Trust(said="14 of 20")) == ("medium", "high, capped to medium: 14 of 20")


def test_without_ai_a_plain_rule_may_raise_anything() -> None:
    assert clamp_severity("critical", Trail()) == ("critical", None)


@pytest.mark.parametrize(
    ("trail", "lifts"),
    [
        (Trail(((LET_IN, False),), ai_before=True), True),
        (Trail(((LET_IN, True),), ai_before=True), False),
        (Trail(((LISTED, True),), ai_before=True), True),
        (Trail(((RULED, False),), ai_before=True), False),
    ],
)
def test_a_person_after_ai_or_an_identity_lifts_the_cap(trail: Trail, lifts: bool) -> None:
    assert clamp_severity("critical", trail)[0] == ("critical" if lifts else "medium")


def test_a_severity_that_nobody_knows_is_the_cap() -> None:
    assert clamp_severity("apocalyptic", Trail()) == ("medium", '"apocalyptic" is no severity')
