"""Smuggling through inputs: no value makes a workflow that its own words would not have been allowed to make."""

from __future__ import annotations

import pytest

from siteward.core.contract import explain, validate
from siteward.core.contract.blueprint import instantiate
from siteward.core.contract.blueprint_instance import Checked, check_file
from siteward.core.contract.blueprint_selectors import as_value
from siteward.core.contract.manifest_data import shipped_registry
from siteward.core.contract.problems import Severity

LOOK = "{ mode: look, prompt: p, input: picture, decision: [a], fields: { gate: text }, a: [ log: a ], unsure: [ log: u ] }"


def blueprint(then: str, **inputs: str) -> str:
    """A blueprint of these inputs (selector by name), started by a plate, with an AI step before `then`."""
    head = "".join(f"    {name}: {{ selector: {{ {selector} }} }}\n" for name, selector in inputs.items())
    return (
        f"blueprint:\n  name: B\n  domain: workflow\n  input:\n{head}name: B\n"
        "when: { event: { type: plate.recognized.v1, cameras: [gate] } }\n"
        f"then:\n  - id: look\n    ai: {LOOK}\n{then}"
    )


def judged(then: str, selectors: dict[str, str], values: str) -> Checked:
    instance = f"name: N\nuse_blueprint:\n  path: b.yaml\n  input: {values}\n"
    return check_file(
        instance, lambda text: validate(text, shipped_registry()), lambda path: blueprint(then, **selectors)
    )


def errors(checked: Checked) -> set[str]:
    return {one.code for one in checked.report.problems if one.severity is Severity.ERROR}


ASK = (
    "  - ask_person: { who: role:guard, message: !input message, replies: [Yes, No], timeout: 1m, default: No }\n"
    "    Yes: [ gate.open: { gate: !input gate } ]\n    No: !input refused\n"
)
ASK_INPUTS = {"message": "text: {}", "gate": "text: {}", "refused": "steps: {}"}
GOOD = 'message: "Open {look.reason}?", gate: main_gate, refused: [ log: refused ]'


def test_the_route_that_is_meant_stands() -> None:
    checked = judged(ASK, ASK_INPUTS, f"{{ {GOOD} }}")
    assert errors(checked) == set()
    assert checked.report.document is not None
    assert [move.target for move in explain(checked.report.document, shipped_registry()).moves] == ["main_gate"]


@pytest.mark.parametrize(
    ("changed", "to", "code"),
    [
        # the model names the gate, and whoever answers never saw which
        ("gate: main_gate", 'gate: "{look.gate}"', "safety.ai_argument"),
        ("gate: main_gate", 'gate: "main_gate{look.gate}"', "safety.ai_argument"),
        # the lane of the default, or of nobody, moves
        ("[ log: refused ]", "[ gate.open: { gate: main_gate } ]", "safety.default_moves"),
        (
            "[ log: refused ]",
            "[ { if: [ days: [mon] ], true: [ gate.open: { gate: main_gate } ] } ]",
            "safety.default_moves",
        ),
        # a second question whose own default moves, inside an input of steps
        (
            "[ log: refused ]",
            "[ { ask_person: { who: role:guard, message: m, replies: [a, b], timeout: 1s, default: a }, a: [ gate.open: { gate: g } ] } ]",
            "safety.default_moves",
        ),
        # a second model after the person, and then a move
        (
            "[ log: refused ]",
            f"[ {{ ai: {LOOK.replace('a: [ log: a ]', 'a: [ gate.open: { gate: g } ]')} }} ]",
            "safety.ai_unguarded",
        ),
        # whom to ask, chosen by the model
        (
            "[ log: refused ]",
            '[ { ask_person: { who: "role:{look.gate}", message: m, replies: [a] }, a: [ log: a ] } ]',
            "safety.ai_recipient",
        ),
        # texts that would be structure if they were pasted
        ("main_gate", r'"g }, gate.open: { gate: vault"', "shape.bad_placeholder"),
    ],
)
def test_a_value_that_smuggles_is_refused_as_its_own_words_would_be(changed: str, to: str, code: str) -> None:
    assert changed in GOOD
    assert code in errors(judged(ASK, ASK_INPUTS, f"{{ {GOOD.replace(changed, to)} }}"))


@pytest.mark.parametrize(
    ("then", "selectors", "values"),
    [
        # a condition made authorising by its input: the model's word, the plate against itself, a literal against itself
        ("  - if: [ value: { of: !input of, is: !input is } ]\n    true: [ gate.open: { gate: g } ]\n", None, '{ of: "{look.gate}", is: main }'),
        ("  - if: [ value: { of: !input of, is: !input is } ]\n    true: [ gate.open: { gate: g } ]\n", None, '{ of: "{plate}", is: "{plate}" }'),
        ("  - if: [ value: { of: !input of, is: !input is } ]\n    true: [ gate.open: { gate: g } ]\n", None, '{ of: "{plate}", is: "{look.gate}" }'),
        ("  - if: [ value: { of: !input of, is: !input is } ]\n    true: [ gate.open: { gate: g } ]\n", None, "{ of: yes, is: yes }"),
        ("  - if: [ in_list: { value: !input of, list: staff }, camera: !input is ]\n    true: [ gate.open: { gate: g } ]\n", None, '{ of: "{look.reason}", is: gate }'),
    ],
)  # fmt: skip
def test_an_input_does_not_make_a_condition_authorise(then: str, selectors: dict[str, str] | None, values: str) -> None:
    checked = judged(then, selectors or {"of": "text: {}", "is": "text: {}"}, values)
    assert any(code.startswith("safety.") for code in errors(checked)), checked.report.problems


@pytest.mark.parametrize(
    "value",
    [
        "{look.gate}",
        "{{look.gate}}",
        "role:{look.gate}",
        "role:guard}",
        "\u200b",
        "guard\nwho: x",
        "role:",
        "x" * 200,
        7,
        ["role:guard"],
        None,
    ],
)
def test_a_role_is_a_name_and_never_read_from_the_run(value: object) -> None:
    then = "  - ask_person: { who: !input who, message: m, replies: [a] }\n"
    made = instantiate(blueprint(then, who="role: { kind: person }"), {"who": value})
    assert made.text is None and [one.path[-1] for one in made.problems] == ["who"]


def test_the_type_of_the_trigger_is_judged_as_given() -> None:
    """A blueprint that moves by a sensor's word is refused where an input makes it a model's."""
    text = (
        "blueprint: { name: B, domain: workflow, input: { source: { selector: { text: {} } } } }\nname: B\n"
        "when: { alert: { source: !input source, cameras: [gate] } }\n"
        "then:\n  - if: [ days: [mon] ]\n    true: [ gate.open: { gate: g } ]\n"
    )
    found = {}
    for source in ("detector", "app:watcher"):
        made = instantiate(text, {"source": source})
        assert made.text is not None
        report = validate(made.text, shipped_registry())
        found[source] = {one.code for one in report.problems if one.severity is Severity.ERROR}
    assert found == {"detector": set(), "app:watcher": {"safety.ai_unguarded"}}


def test_a_directive_gives_the_tag_no_second_meaning() -> None:
    text = "%TAG !e! !in\n---\n" + blueprint("  - log: !e!put x\n", x="text: {}")
    made = instantiate(text, {"x": "hello"})
    assert made.text is not None and "  - log: hello\n" in made.text
    key = "%TAG !e! !in\n---\n" + blueprint("  - { !e!put log: hello }\n", x="text: {}")
    odd = instantiate(key, {"x": "webhook"})
    assert odd.text is not None and errors_of(odd.text) == {"shape.unknown_tag"}
    hidden = "%TAG ! tag:yaml.org,2002:\n---\n" + blueprint("  - log: !input x\n", x="text: {}")
    assert [one.code for one in instantiate(hidden, {"x": "a"}).problems] == ["shape.unknown_tag"]


def errors_of(text: str) -> set[str]:
    return {one.code for one in validate(text, shipped_registry()).problems if one.severity is Severity.ERROR}


@pytest.mark.parametrize("gate", ["main_gate", "{look.gate}", "a b", "{", "cam-0012", "12345678", ""])
def test_the_made_text_is_judged_as_the_blueprint_is_with_its_values_in_place(gate: str) -> None:
    values = {"message": "Open?", "gate": gate, "refused": [{"log": "x"}]}
    given = {name: as_value(value) for name, value in values.items()}
    made = instantiate(blueprint(ASK, **ASK_INPUTS), values)
    assert made.text is not None
    in_place = validate(blueprint(ASK, **ASK_INPUTS), shipped_registry(), resolve=given.__getitem__)
    by_text = validate(made.text, shipped_registry())
    assert [(one.code, one.path, one.message) for one in by_text.problems] == [
        (one.code, one.path, one.message) for one in in_place.problems
    ]
