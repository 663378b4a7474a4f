"""The judgement of one move, on points made by hand: what was shown, which lists count, and what a looked-up callee may open."""

from __future__ import annotations

from dataclasses import replace

import pytest

from siteward.core.contract.document import Place, Step, Value
from siteward.core.contract.flow import MoveUse, Visit
from siteward.core.contract.flow_labels import LOST, KnownNames, Label
from siteward.core.contract.flow_state import Grant, GrantKind, Point, Quiet, Silence
from siteward.core.contract.registry import Provenance, SiteView
from siteward.core.contract.safety_guards import judge
from tests.contract.corpus_files import REGISTRY

NAMES = KnownNames(
    {
        "look.gate": LOST,
        "look.note": LOST,
        "call.row": Label(Provenance.AI, row=True),
        "item": Label(Provenance.LITERAL, texts=("a", "b")),
        "zone": Label(Provenance.SENSOR),
    }
)
REPLY = Grant(GrantKind.REPLY, ("then", 0), "then.0", "Yes", shown=frozenset({"look.gate"}))
ROW = Grant(GrantKind.CALL, ("then", 0), "then.0", "ok", row="call")
LISTED = Grant(GrantKind.AUTHORISING, ("then", 0), "then.0", "true", ways=(frozenset({"expected"}),))
SITE = SiteView(roles={}, visible_cameras=frozenset())


def code(grant: Grant, kind: str, site: SiteView | None = None, **settings: Value) -> str | None:
    step = Step(kind, settings, ("then", 0, "Yes", 0), Place(1, 1), "then.0/Yes.0")
    point = Point(NAMES, ai=True, grants=(grant,))
    return judge(MoveUse(step, REGISTRY.actions[kind], Visit(step, point)), site).code


def test_every_value_of_ai_must_have_been_shown_and_not_some() -> None:
    assert code(REPLY, "webhook", to="ticketing", body="{look.gate}") is None
    assert code(REPLY, "webhook", to="ticketing", body="{look.gate} {look.note}") == "safety.ai_argument"
    assert code(REPLY, "webhook", to="ticketing", body="{look.note}") == "safety.ai_argument"


@pytest.mark.parametrize(
    ("gate", "allowed"),
    [
        ("{call.row.gate}", True),
        ("main_gate", False),
        ("{item}", False),
        ("{look.gate}", False),
        ("{call.rows.gate}", False),
        ("x{call.row.gate}", False),
    ],
)
def test_a_callee_whom_ai_looked_up_opens_the_door_of_the_own_row_and_no_other(gate: str, allowed: bool) -> None:
    assert code(ROW, "gate.open", gate=gate) == (None if allowed else "safety.ai_argument")


def test_every_target_that_may_be_meant_must_accept_the_list() -> None:
    accepted = replace(SITE, authority_lists={"gate:a": frozenset({"expected"})})
    assert code(LISTED, "gate.open", accepted, gate="a") is None
    assert code(LISTED, "gate.open", accepted, gate="b") == "safety.list_not_allowed"
    assert code(LISTED, "gate.open", accepted, gate="{item}") == "safety.list_not_allowed"


def test_a_list_is_accepted_for_no_target_that_only_the_run_knows() -> None:
    accepted = replace(SITE, authority_lists={"gate:{zone}": frozenset({"expected"})})
    assert code(LISTED, "gate.open", accepted, gate="{zone}") == "safety.list_not_allowed"
    written = replace(LISTED, ways=(frozenset(),))
    assert code(written, "gate.open", accepted, gate="{zone}") is None


def test_a_target_known_in_part_is_not_known() -> None:
    accepted = replace(SITE, authority_lists={"gate:a": frozenset({"expected"})})
    names = NAMES.adding({"item": Label(Provenance.LITERAL, texts=("a", "{zone}"))})
    step = Step("gate.open", {"gate": "{item}"}, ("then", 0), Place(1, 1), "then.0")
    point = Point(names, ai=True, grants=(LISTED,))
    use = MoveUse(step, REGISTRY.actions["gate.open"], Visit(step, point))
    assert judge(use, accepted).code == "safety.list_not_allowed"


def test_a_silence_that_is_over_is_the_reason_only_where_somebody_would_allow_the_move() -> None:
    step = Step("gate.open", {"gate": "a"}, ("then", 1), Place(1, 1), "then.1")
    past = Point(NAMES, past_quiet=Quiet(Silence.NO_ANSWER, ("then", 0)))
    overruled = replace(REPLY, overruled=True)
    for point, expected in (
        (past, "safety.no_guard"),
        (replace(past, ai=True), "safety.ai_unguarded"),
        (replace(past, ai=True, grants=(overruled,)), "safety.ai_unguarded"),
        (replace(past, ai=True, grants=(REPLY,)), "safety.no_answer_moves"),
    ):
        assert judge(MoveUse(step, REGISTRY.actions["gate.open"], Visit(step, point))).code == expected
