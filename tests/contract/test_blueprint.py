"""Reading a blueprint and making a workflow of it: what is refused, at which line, and what stays as it was."""

from __future__ import annotations

import re

import pytest

from siteward.core.contract import validate
from siteward.core.contract.blueprint import Own, instantiate, read_blueprint
from siteward.core.contract.blueprint_instance import check_file
from siteward.core.contract.blueprint_selectors import Selects
from siteward.core.contract.manifest_data import shipped_registry
from siteward.core.contract.places import BLUEPRINT_BYTES, WORKFLOW_BYTES
from siteward.core.contract.problems import Severity
from siteward.core.contract.scalars import write_scalar

HEAD = """\
# Kept: a licence line
blueprint:
  name: Greeter   # gone with the head
  domain: workflow
  input:
    camera: { default: gate, selector: { role: { kind: camera } } }
    text: { default: "Hello", selector: { text: {} } }
    late:
      default: 2m
      selector: { duration: {} }
      # gone too: indented under the head
"""
BODY = """\
# Kept: about the body

name: Greeter
when: { doorbell: { cameras: [ !input camera ] } }   # kept: at the end of a line
then:
  - wait: !input late   # kept: after an input
  # kept: between steps
  - log: !input "text"
"""


def problems(text: str | bytes) -> list[tuple[str, int]]:
    return [(one.code, one.place.line) for one in read_blueprint(text).problems]


def body_with(step: str, selector: str = "text: {}", default: str = "x") -> str:
    """A blueprint of one input `x`; `step` begins at line 10."""
    return (
        "blueprint:\n  name: B\n  domain: workflow\n  input:\n    x:\n"
        f"      default: {default}\n      selector: {{ {selector} }}\nname: B\nthen:\n{step}\n"
    )


def test_comments_and_order_of_the_body_stay_and_the_head_goes() -> None:
    made = instantiate(HEAD + BODY, {"text": "Good evening"})
    assert made.problems == ()
    assert made.text == "# Kept: a licence line\n" + BODY.replace("!input camera", "gate").replace(
        "!input late", write_scalar("2m")
    ).replace('!input "text"', "Good evening")


def test_a_head_between_other_keys_is_taken_out_alone() -> None:
    before, after = BODY.split("then:", 1)
    made = instantiate(before + HEAD + "then:" + after, {})
    assert made.text is not None
    assert "Kept: a licence line" in made.text and "Kept: about the body" in made.text
    assert "blueprint" not in made.text and "gone" not in made.text


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_stay(line_break: str, mark: str) -> None:
    without_name = (HEAD + BODY).replace("name: Greeter\nwhen", "when")
    made = instantiate(mark + without_name.replace("\n", line_break), {}, own=Own(name="At the door"))
    assert made.text is not None and made.text.startswith(mark + "# Kept")
    assert line_break + "name: At the door" + line_break in made.text
    assert set(re.findall("\r\n|\n|\r", made.text)) == {line_break}


def test_a_body_without_a_name_takes_the_blueprints() -> None:
    made = instantiate((HEAD + BODY).replace("name: Greeter\nwhen", "when"), {})
    assert made.text is not None and "\nname: Greeter\n" in made.text


@pytest.mark.parametrize(
    "written", ["name: Greeter", "name:", "name: |\n  Greeter", "name: !input text", "name: 'Greeter'  # kept"]
)
def test_the_name_of_the_instance_replaces_the_bodys(written: str) -> None:
    made = instantiate(
        (HEAD + BODY).replace("name: Greeter\nwhen", f"{written}\nwhen"), {}, own=Own(name="Mine: a door")
    )
    assert made.problems == ()
    assert made.text is not None and made.text.count('name: "Mine: a door"') == 1
    assert ("# kept" in written) == ('"Mine: a door"  # kept' in made.text)
    assert "\nwhen:" in made.text


def test_inputs_stand_in_sections_with_what_the_form_shows() -> None:
    read = read_blueprint(
        "blueprint:\n  name: B\n  description: D\n  domain: workflow\n  author: A\n  source_url: https://example.org/b.yaml\n"
        '  siteward: { min_version: "0.2.0" }\n  input:\n'
        "    where:\n      name: Where\n      icon: camera\n      description: The place\n      collapsed: true\n      input:\n"
        "        camera: { name: Camera, description: Which, selector: { role: { kind: camera, multiple: true } } }\n"
        "    bare:\nthen: []\n"
    )
    assert read.problems == () and read.blueprint is not None
    head = read.blueprint.head
    assert (head.name, head.description, head.author, head.min_version) == ("B", "D", "A", (0, 2, 0))
    section = head.sections[0]
    assert (section.key, section.name, section.icon, section.collapsed) == ("where", "Where", "camera", True)
    camera, bare = head.inputs.values()
    assert (camera.name, camera.section, camera.selector.role, camera.selector.multiple) == (
        "Camera",
        "where",
        "camera",
        True,
    )
    assert (bare.name, bare.selector.kind, bare.default) == ("bare", Selects.ANY, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: N\nthen: []\n", ("shape.missing_key", 1)),
        ("- a\n", ("shape.missing_key", 1)),
        ("blueprint: B\nthen: []\n", ("shape.wrong_type", 1)),
        ("blueprint:\n  domain: workflow\nthen: []\n", ("shape.missing_key", 1)),
        ("blueprint:\n  name: B\nthen: []\n", ("shape.missing_key", 1)),
        ("blueprint:\n  name: 7\n  domain: workflow\n", ("shape.wrong_type", 2)),
        ("blueprint:\n  name: ' '\n  domain: workflow\n", ("shape.bad_value", 2)),
        ("blueprint:\n  name: B\n  domain: automation\n", ("shape.bad_value", 3)),
        ("blueprint:\n  name: B\n  domain: house\n", ("shape.bad_value", 3)),
        ("blueprint:\n  name: B\n  domain: workflow\n  version: 2\n", ("shape.unknown_key", 4)),
        ("blueprint:\n  name: B\n  domain: workflow\n  siteward: 1\n", ("shape.wrong_type", 4)),
        ("blueprint:\n  name: B\n  domain: workflow\n  siteward: {}\n", ("shape.missing_key", 4)),
        ("blueprint:\n  name: B\n  domain: workflow\n  siteward: { min_version: 2024.6 }\n", ("shape.bad_value", 4)),
        ("blueprint:\n  name: B\n  domain: workflow\n  siteward: { min_version: '2024.6' }\n", ("shape.bad_value", 4)),
        ("blueprint:\n  name: B\n  domain: workflow\n  input: [a]\n", ("shape.wrong_type", 4)),
        ("blueprint:\n  name: B\n  domain: workflow\n  input:\n    1st:\n", ("shape.bad_id", 5)),
        ("blueprint:\n  name: B\n  domain: workflow\n  input:\n    a: text\n", ("shape.wrong_type", 5)),
        ("blueprint:\n  name: B\n  domain: workflow\n  input:\n    a: { preset: 1 }\n", ("shape.unknown_key", 5)),
        ("blueprint:\n  name: B\n  domain: workflow\n  input:\n    a:\n    a:\n", ("shape.duplicate_key", 6)),
        (
            "blueprint:\n  name: B\n  domain: workflow\n  input:\n    a:\n    s:\n      input:\n        a:\n",
            ("shape.duplicate_key", 8),
        ),
        ("blueprint:\n  name: B\n  domain: workflow\n  input:\n    a: { selector: text }\n", ("shape.wrong_type", 5)),
        (
            "blueprint:\n  name: B\n  domain: workflow\n  input:\n    a: { selector: { text: , number: } }\n",
            ("shape.wrong_type", 5),
        ),
        (
            "blueprint:\n  name: B\n  domain: workflow\n  input:\n    a: { selector: { role: {} } }\n",
            ("shape.missing_key", 5),
        ),
        (
            "blueprint:\n  name: B\n  domain: workflow\n  input:\n    a: { selector: { role: { kind: cat } } }\n",
            ("shape.bad_value", 5),
        ),
        (
            "blueprint:\n  name: B\n  domain: workflow\n  input:\n    a: { selector: { select: } }\n",
            ("shape.missing_key", 5),
        ),
        (
            "blueprint:\n  name: B\n  domain: workflow\n  input:\n    a: { selector: { select: { options: [1] } } }\n",
            ("shape.wrong_type", 5),
        ),
        (
            "blueprint:\n  name: B\n  domain: workflow\n  input:\n    a: { selector: { number: { min: low } } }\n",
            ("shape.wrong_type", 5),
        ),
        (
            "blueprint:\n  name: B\n  domain: workflow\n  input:\n    a: { selector: { number: { min: 3, max: 2 } } }\n",
            ("shape.bad_value", 5),
        ),
        (
            "blueprint:\n  name: B\n  domain: workflow\n  input:\n    a: { selector: { text: [] } }\n",
            ("shape.wrong_type", 5),
        ),
        ("{ blueprint: { name: B, domain: workflow }, then: [] }\n", ("shape.bad_value", 1)),
        ("? blueprint\n: { name: B, domain: workflow }\n", ("shape.bad_value", 1)),
        ("blueprint: { name: !input a, domain: workflow, input: { a: } }\n", ("shape.input_place", 1)),
        (
            "blueprint:\n  name: B\n  domain: workflow\nthen:\n  - log: !include secrets.yaml\n",
            ("shape.unknown_tag", 5),
        ),
        ("blueprint:\n  name: B\n  domain: workflow\nthen:\n  - log: !secret door\n", ("shape.unknown_tag", 5)),
        ("blueprint:\n  name: B\n  domain: workflow\nthen: !input [a]\n", ("shape.unknown_tag", 4)),
        ("blueprint:\n  name: B\n  domain: workflow\nthen: [\n", ("shape.yaml", 5)),
        (b"blueprint:\n  name: \xff\n", ("shape.encoding", 2)),
    ],
)
def test_a_wrong_head_is_refused_at_its_line(text: str | bytes, expected: tuple[str, int]) -> None:
    report = read_blueprint(text)
    assert report.blueprint is None
    assert expected in [(one.code, one.place.line) for one in report.problems if one.severity is Severity.ERROR]


def test_a_selector_or_option_of_a_newer_version_is_a_warning() -> None:
    report = read_blueprint(
        "blueprint:\n  name: B\n  domain: workflow\n  input:\n    a: { selector: { smell: {} } }\n"
        "    b: { selector: { text: { rainbow: true } } }\nthen: []\n"
    )
    assert [(one.code, one.severity, one.place.line) for one in report.problems] == [
        ("shape.unknown_key", Severity.WARNING, 5),
        ("shape.unknown_key", Severity.WARNING, 6),
    ]
    assert report.blueprint is not None and report.blueprint.inputs["a"].selector.kind is Selects.ANY


FITS = {
    "role: { kind: gate }": ("north", "{plate}"),
    "role: { kind: person }": ("role:guard", "guard"),
    "role: { kind: camera, multiple: true }": ("[gate, yard]", "gate"),
    "list: {}": ("[a, 1]", "[[a]]"),
    "text: {}": ("hello", "7"),
    "number: { min: 1, max: 3 }": ("2.5", "4"),
    "number: { min: 1 }": ("1", "true"),
    "boolean: {}": ("false", "No"),
    "select: { options: [a, { value: b, label: B }] }": ("b", "c"),
    "select: { options: [a, b], multiple: true }": ("[a, b]", "[]"),
    "select: { options: [a], custom_value: true }": ("z", "[z]"),
    "duration: {}": ("1h30m", "soon"),
    "object: {}": ("{ a: 1 }", "a"),
    "steps: {}": ("[ { log: x } ]", "[ log ]"),
}


@pytest.mark.parametrize(("selector", "values"), FITS.items())
def test_a_default_must_fit_its_selector(selector: str, values: tuple[str, str]) -> None:
    good, bad = (
        body_with("  - log: a", selector, value if value[0] != "{" or "kind: gate" not in selector else f"'{value}'")
        for value in values
    )
    assert problems(good) == []
    assert [line for _, line in problems(bad)] == [6]


@pytest.mark.parametrize(
    ("step", "selector", "default", "column_word"),
    [
        (
            "  - ask_person: { who: role:guard, message: m, replies: [a, b], default: !input x }",
            "text: {}",
            "a",
            "default",
        ),
        ("  - ask_person: { who: !input x, message: m, replies: [a] }", "text: {}", "role:guard", "who"),
        ("  - ask_person: { who: !input x, message: m, replies: [a] }", "role: { kind: camera }", "gate", "who"),
        ("  - ask_person: { who: [!input x], message: m, replies: [a] }", "text: {}", "role:guard", "!input"),
        ("  - ask_person: { escalate: [ { after: 1m, who: !input x } ] }", "text: {}", "role:guard", "who"),
        ("  - ask_person: { escalate: !input x }", "list: {}", "[a]", "escalate"),
        ("  - ask_person: { escalate: [ !input x ] }", "object: {}", "{ a: b }", "!input"),
        ("  - ask_person: !input x", "object: {}", "{ a: b }", "ask_person"),
        ("  - call: !input x", "object: {}", "{ a: b }", "call:"),
        ("  - call: { to: !input x, goal: g, outcomes: [a] }", "text: {}", "role:guard", "to"),
        ("  - notify: { who: !input x, message: m }", "text: {}", "role:guard", "who"),
        ("  - for_each: { in: !input x, as: item, do: [ log: a ] }", "list: {}", "[a]", "in:"),
        ("  - for_each: !input x", "object: {}", "{ a: b }", "for_each"),
        ("  - if: !input x", "object: {}", "[{ a: b }]", "if"),
        ("  - if: [ !input x ]", "object: {}", "{ a: b }", "!input"),
        ("  - if: [ any: [ !input x ] ]", "object: {}", "{ a: b }", "!input"),
        ("  - if: [ not: !input x ]", "object: {}", "[{ a: b }]", "not"),
        ("  - if: [ in_list: !input x ]", "object: {}", "{ a: b }", "in_list"),
        ("  - if: [ in_list: { value: '{plate}', list: !input x } ]", "text: {}", "expected", "list:"),
        ("  - if: [ in_list: { value: '{plate}', list: !input x } ]", "role: { kind: person }", "role:guard", "list:"),
        ("  - { ? !input x : [ log: a ], log: b }", "text: {}", "a", "!input"),
        ("  - ai: { mode: look, ? &k !input x : [ log: a ] }", "text: {}", "a", "&k"),
        ("  - ai: { ? !<!input> x : [ log: a ] }", "text: {}", "a", "!<!input>"),
    ],
)
def test_what_the_blueprint_must_say_itself_is_no_input(
    step: str, selector: str, default: str, column_word: str
) -> None:
    report = read_blueprint(body_with(step, selector, default))
    assert [(one.code, one.place.line, one.place.column) for one in report.problems] == [
        ("shape.input_place", 10, step.rindex(column_word) + 1)
    ]
    assert report.blueprint is None


@pytest.mark.parametrize(
    ("step", "selector", "default"),
    [
        ("  - ask_person: { who: !input x, message: m, replies: [a] }", "role: { kind: person }", "role:guard"),
        ("  - ask_person: { escalate: [ { after: !input x, who: role:guard } ] }", "duration: {}", "1m"),
        ("  - ask_person: { escalate: [ { after: 1m, who: !input x } ] }", "role: { kind: person }", "role:guard"),
        ("  - ask_person: { message: !input x, replies: [a] }", "text: {}", "m"),
        ("  - if: [ in_list: { value: '{plate}', list: !input x } ]", "role: { kind: list }", "expected"),
        ("  - if: [ time: { after: !input x } ]", "text: {}", "'22:00'"),
        ("  - for_each: { in: !input x, as: item, do: [ log: a ] }", "role: { kind: gate, multiple: true }", "[north]"),
        (
            "  - ai: { mode: look, fields: { who: !input x }, rules: [ { when: { who: !input x }, then: a } ] }",
            "list: {}",
            "[a]",
        ),
        ("  - webhook: { to: tickets, body: { who: !input x } }", "text: {}", "anyone"),
        ("  - ai: !input x", "object: {}", "{ mode: look }"),
    ],
)
def test_a_role_or_a_plain_value_may_be_an_input(step: str, selector: str, default: str) -> None:
    assert problems(body_with(step, selector, default)) == []


def test_a_place_behind_an_alias_is_judged_where_it_is_repeated() -> None:
    text = body_with("  - webhook: { to: t, body: &c { list: !input x, value: '{plate}' } }\n  - if: [ in_list: *c ]")
    assert problems(text) == [("shape.input_place", 10)]


def test_an_input_that_nobody_declared_is_refused_with_the_nearest() -> None:
    report = read_blueprint((HEAD + BODY).replace("!input late", "!input lat"))
    assert [(one.code, one.place.line) for one in report.problems] == [("shape.bad_value", 17)]
    assert "`late`" in report.problems[0].message


@pytest.mark.parametrize(
    ("inputs", "code", "line"),
    [
        ({"txet": "a"}, "shape.unknown_key", 5),
        ({"text": 7}, "shape.wrong_type", 7),
        ({"text": None}, "shape.wrong_type", 7),
        ({"late": "soon"}, "shape.bad_duration", 8),
        ({"camera": "{plate}"}, "shape.bad_value", 6),
        ({"text": "\ud800"}, "shape.bad_value", 7),
        ({"text": object()}, "shape.bad_value", 7),
    ],
)
def test_a_value_that_does_not_fit_is_refused_at_its_input(inputs: dict[str, object], code: str, line: int) -> None:
    made = instantiate(HEAD + BODY, inputs)
    assert made.text is None
    assert [(one.code, one.place.line) for one in made.problems] == [(code, line)]


def test_an_input_without_default_must_be_given() -> None:
    text = (HEAD + BODY).replace('default: "Hello", ', "")
    made = instantiate(text, {})
    assert made.text is None and [one.code for one in made.problems] == ["shape.missing_key"]
    assert "`text`" in made.problems[0].message
    assert instantiate(text, {"text": "Hi"}).problems == ()


def test_a_blueprint_for_a_newer_host_is_refused() -> None:
    text = HEAD.replace("  input:", '  siteward: { min_version: "0.2.0" }\n  input:', 1) + BODY
    refused = instantiate(text, {}, version=(0, 1, 9))
    assert refused.text is None and [(one.code, one.place.line) for one in refused.problems] == [("shape.bad_value", 5)]
    assert "0.2.0" in refused.problems[0].message and "0.1.9" in refused.problems[0].message
    assert instantiate(text, {}, version=(0, 2, 0)).problems == ()


def test_a_blueprint_has_at_most_512_kib() -> None:
    filler = "# " + "x" * 96 + "\n"
    most = HEAD.replace("  input:", "  description: >-\n" + "    y\n" * 20000 + "  input:", 1) + BODY
    assert problems(most) == []
    full = filler * (BLUEPRINT_BYTES // len(filler)) + HEAD + BODY
    assert problems(full) == [("shape.too_large", 1)]
    exactly = "#" * (BLUEPRINT_BYTES - len(HEAD + BODY) - 1) + "\n" + HEAD + BODY
    assert len(exactly) == BLUEPRINT_BYTES and problems(exactly) == []
    assert problems("#" + exactly) == [("shape.too_large", 1)]


def test_inputs_never_multiply_beyond_a_workflow() -> None:
    many = body_with("\n".join("  - log: !input x" for _ in range(2000)))
    made = instantiate(many, {"x": "y" * 1000})
    assert made.text is None and [one.code for one in made.problems] == ["shape.too_large"]
    fits = instantiate(many, {"x": "y"})
    assert fits.text is not None and len(fits.text) <= WORKFLOW_BYTES


def test_a_value_is_bounded_in_depth_keys_and_numbers() -> None:
    deep: object = "x"
    for _ in range(60):
        deep = [deep]
    text = body_with("  - webhook: { to: t, body: !input x }", "object: {}", "{ a: b }")
    for value in (deep, {"k" * 201: 1}, {1: "a"}, {"n": 2**53}, {"n": float("inf")}, {"n": float("nan")}, [0] * 30_000):
        made = instantiate(text, {"x": value})
        assert made.text is None and [(one.code, one.place.line) for one in made.problems] == [("shape.bad_value", 5)]


def test_comments_of_an_indented_body_stay() -> None:
    indented = "".join(f"  {line}\n" for line in (HEAD + BODY).splitlines())
    made = instantiate(indented, {})
    assert made.text is not None
    assert "  # Kept: about the body\n" in made.text and "gone too" not in made.text


@pytest.mark.parametrize("separator", ["\x85", "\u2028", "\u2029"])
def test_no_key_hides_behind_an_odd_line_separator_in_a_comment_of_the_head(separator: str) -> None:
    text = (
        f"blueprint:\n  name: B\n  domain: workflow # gone{separator}if: [ days: [mon] ]\nname: B\nthen:\n  - log: a\n"
    )
    assert problems(text) == [("shape.encoding", 3)]


def test_what_the_head_anchors_is_missed_at_its_alias() -> None:
    text = "blueprint:\n  name: &n B\n  domain: workflow\nname: *n\nwhen: { button: { name: b } }\nthen:\n  - log: a\n"
    checked = check_file(text, lambda made: validate(made, shipped_registry()), lambda path: "")
    assert [(one.code, one.place.line) for one in checked.report.problems] == [("shape.yaml", 4)]
