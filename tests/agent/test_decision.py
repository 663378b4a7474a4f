"""What a decision may be, and what is refused of what a model says."""

from __future__ import annotations

import json

import pytest

from siteward.core.agent import (
    DecisionSpec,
    Effect,
    FieldType,
    Malformed,
    Rule,
    Tool,
    ToolMode,
    ToolResult,
    effective_mode,
)

from .models import BY_RULES, GATE, said


def test_the_schema_asks_for_the_reason_before_the_decision() -> None:
    spec = DecisionSpec(("a", "b"), fields={"colour": FieldType.TEXT})
    schema = spec.schema()
    assert list(schema["properties"]) == ["reason", "colour", "decision", "confidence"] == schema["required"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["decision"]["enum"] == ["a", "b", "unsure"]


def test_with_rules_the_model_is_never_asked_for_the_decision() -> None:
    assert "decision" not in BY_RULES.schema()["properties"]


def test_with_rules_a_decision_that_the_model_slips_in_is_not_read() -> None:
    reading = BY_RULES.read(said("open", vehicle="none", note=None))
    assert reading.decision == "unsure"
    assert reading.no_rule


def test_the_first_rule_that_matches_decides_and_is_named() -> None:
    spec = DecisionSpec(
        ("a", "b"), fields={"x": ("1", "2")}, rules=(Rule("a", {"x": ("2",)}), Rule("b", {"x": ("1", "2")}), Rule("a"))
    )
    assert (spec.read(said(x="2")).decision, spec.read(said(x="2")).rule) == ("a", 0)
    assert (spec.read(said(x="1")).decision, spec.read(said(x="1")).rule) == ("b", 1)


def test_a_field_that_cannot_be_told_matches_no_rule() -> None:
    spec = DecisionSpec(("a",), fields={"n": FieldType.NUMBER}, rules=(Rule("a", {"n": (1,)}),))
    assert spec.read(said(n=None)).no_rule
    assert spec.read(said(n=1)).decision == "a"


def test_true_is_not_one() -> None:
    spec = DecisionSpec(("a",), fields={"n": FieldType.BOOL}, rules=(Rule("a", {"n": (1,)}),))
    assert spec.read(said(n=True)).no_rule


def test_what_the_trigger_knows_is_set_and_never_asked() -> None:
    spec = DecisionSpec(("a",), known={"plate": "KA 1"}, rules=(Rule("a", {"plate": ("KA 1",)}),))
    assert "plate" not in spec.schema()["properties"]
    reading = spec.read(said(plate="XX 9"))
    assert (reading.decision, reading.fields["plate"]) == ("a", "KA 1")


@pytest.mark.parametrize(
    "answer",
    [
        "open the gate",
        "[]",
        "null",
        '"car"',
        "{}",
        said("lorry"),
        said("Car"),
        json.dumps({"decision": "car", "confidence": 1}),
        json.dumps({"reason": 7, "decision": "car"}),
        json.dumps({"reason": "x", "decision": ["car"]}),
        json.dumps({"reason": "x", "decision": None}),
        "[" * 100_000,
        '{"a":' * 5_000,
        "9" * 6_000,
        said("car", reason="x" * 9_000),
        "",
        None,
        17,
    ],
)
def test_an_answer_off_the_list_is_refused(answer: object) -> None:
    with pytest.raises(Malformed):
        GATE.read(answer)


@pytest.mark.parametrize("wrap", ["{}", "```json\n{}\n```", "```\n{}\n```", "<think>hm {{\n</think>\n{}", "  {}  "])
def test_fences_and_thoughts_around_the_answer_do_no_harm(wrap: str) -> None:
    assert GATE.read(wrap.replace("{}", said("car"))).decision == "car"


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        (("x", "y"), "x", "z"),
        (("x", "y"), "y", None),
        (FieldType.TEXT, "red", 3),
        (FieldType.TEXT, None, ["red"]),
        (FieldType.NUMBER, 3, "3"),
        (FieldType.NUMBER, 2.5, True),
        (FieldType.NUMBER, None, 1e300),
        (FieldType.BOOL, True, "true"),
        (FieldType.BOOL, False, None),
        (FieldType.LIST, ["a"], "a"),
        (FieldType.LIST, [], [1]),
    ],
)
def test_fields_are_checked_one_by_one_and_never_coerced(field: object, good: object, bad: object) -> None:
    spec = DecisionSpec(("a",), fields={"f": field})  # type: ignore[dict-item]
    expected = tuple(good) if isinstance(good, list) else good
    assert spec.read(said("a", f=good)).fields["f"] == expected
    with pytest.raises(Malformed):
        spec.read(said("a", f=bad))


def test_not_a_number_is_no_number() -> None:
    spec = DecisionSpec(("a",), fields={"f": FieldType.NUMBER})
    with pytest.raises(Malformed):
        spec.read('{"reason": "x", "f": NaN, "decision": "a"}')


def test_a_reason_is_one_printable_line() -> None:
    reading = GATE.read(said("car", reason="a\ncar\u202e\x1b[31m \ud800" + "x" * 400))
    assert reading.reason.isprintable()
    assert len(reading.reason) == 300
    assert reading.reason.encode("utf-8")


@pytest.mark.parametrize("confidence", ["0.9", -1, 7, None, True])
def test_a_confidence_that_is_none_is_not_kept(confidence: object) -> None:
    assert GATE.read(json.dumps({"reason": "x", "decision": "car", "confidence": confidence})).self_reported is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: DecisionSpec(()),
        lambda: DecisionSpec(("a", "a")),
        lambda: DecisionSpec(("unsure",)),
        lambda: DecisionSpec(("a",), floor=1.5),
        lambda: DecisionSpec(("a",), fields={"reason": FieldType.TEXT}),
        lambda: DecisionSpec(("a",), fields={"x": ()}),
        lambda: DecisionSpec(("a",), fields={"x": ("1", "1")}),
        lambda: DecisionSpec(("a",), rules=(Rule("b"),)),
        lambda: DecisionSpec(("a",), rules=(Rule("a", {"x": ("1",)}),)),
        lambda: DecisionSpec(("a",), fields={"x": ("1",)}, rules=(Rule("a", {"x": ("2",)}),)),
        lambda: DecisionSpec(("a",), fields={"x": ("1",)}, known={"x": "1"}),
    ],
)
def test_a_spec_that_cannot_stand_is_refused(make: object) -> None:
    with pytest.raises(ValueError):
        make()  # type: ignore[operator]


def test_another_rule_is_another_spec() -> None:
    other = DecisionSpec(BY_RULES.options, fields=BY_RULES.fields, rules=(Rule("wait", {"vehicle": ("car",)}),))
    assert other.digest() != BY_RULES.digest()


async def _never(_: object) -> ToolResult:
    return ToolResult("")


@pytest.mark.parametrize("effect", ["act", "move", "read", None, ToolMode.AUTO])
def test_a_tool_that_moves_things_cannot_be_made(effect: object) -> None:
    with pytest.raises(TypeError):
        Tool("gate", "Opens.", {"type": "object"}, _never, effect=effect)  # type: ignore[arg-type]


def test_there_are_three_effects_and_none_moves() -> None:
    assert {effect.value for effect in Effect} == {"read", "ask_person", "tell"}


def test_a_mode_only_ever_tightens() -> None:
    assert effective_mode(ToolMode.AUTO, None, "ask") is ToolMode.ASK
    assert effective_mode("unavailable", ToolMode.AUTO) is ToolMode.UNAVAILABLE
    assert effective_mode("loose") is ToolMode.UNAVAILABLE
    assert effective_mode() is ToolMode.AUTO
