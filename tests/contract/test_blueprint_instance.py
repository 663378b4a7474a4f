"""Workflows made from a blueprint, and where their problems are shown."""

from __future__ import annotations

import hashlib

import pytest

from siteward.core.contract import validate
from siteward.core.contract.blueprint_instance import Checked, FileKind, check_file, resolve
from siteward.core.contract.manifest_data import shipped_registry
from siteward.core.contract.places import WORKFLOW_BYTES
from siteward.core.contract.problems import Report, Severity

BLUEPRINT = """\
blueprint:
  name: Deliveries
  domain: workflow
  input:
    gate: { default: main_gate, selector: { role: { kind: gate } } }
    guard: { selector: { role: { kind: person } } }
    message: { default: "Let {look.reason} in?", selector: { text: {} } }
    look:
      selector: { object: {} }
      default:
        mode: look
        prompt: Who is it?
        input: picture
        decision: [delivery]
        delivery: [ log: "{reason}" ]
        unsure: [ log: "not sure" ]
    afterwards:
      selector: { steps: {} }
      default: [ log: "over" ]
name: Deliveries
when: { detect.vehicle_in_zone: { cameras: [gate], zone: apron } }
then:
  - id: look
    ai: !input look
  - ask_person: { who: !input guard, message: !input message, replies: [Let in, Send away], timeout: 2m, default: Send away }
    Let in:
      - gate.open: { gate: !input gate }
    Send away: !input afterwards
"""
INSTANCE = """\
# Ours
name: Our deliveries
use_blueprint:
  path: shared/deliveries.yaml
  input:
    guard: role:guard
"""


def judge(text: str | bytes) -> Report:
    return validate(text, shipped_registry())


def find(path: str) -> str:
    return {"shared/deliveries.yaml": BLUEPRINT, "broken.yaml": "blueprint:\n  name: [\n"}[path]


def checked(instance: str) -> Checked:
    return check_file(instance, judge, find)


def errors(report: Report) -> list[tuple[str, int]]:
    return [(one.code, one.place.line) for one in report.problems if one.severity is Severity.ERROR]


def test_an_instance_is_the_blueprint_with_its_inputs_and_its_own_name() -> None:
    made = checked(INSTANCE + "    gate: north\n    message: 'Open {camera}: {look.reason}?'\n")
    assert errors(made.report) == []
    assert made.kind is FileKind.INSTANCE
    assert made.made_from is not None
    assert made.made_from.as_dict() == {
        "path": "shared/deliveries.yaml",
        "sha256": hashlib.sha256(BLUEPRINT.encode()).hexdigest(),
        "input": {"guard": "role:guard", "gate": "north", "message": "Open {camera}: {look.reason}?"},
    }
    document = made.report.document
    assert document is not None and document.text == made.text
    assert document.name == "Our deliveries"
    ask = document.then[1]
    assert ask.settings["message"] == "Open {camera}: {look.reason}?"
    assert ask.lanes[0].steps[0].settings == {"gate": "north"}
    assert resolve(INSTANCE + "    gate: north\n", find).text == checked(INSTANCE + "    gate: north\n").text


def test_the_inputs_that_hold_steps_are_told() -> None:
    assert checked(INSTANCE).step_inputs == ("look", "afterwards")


@pytest.mark.parametrize(
    ("instance", "expected"),
    [
        (INSTANCE.replace("name: Our deliveries\n", ""), ("shape.missing_key", 2)),
        (INSTANCE.replace("Our deliveries", "7"), ("shape.wrong_type", 2)),
        (INSTANCE.replace("Our deliveries", "''"), ("shape.wrong_type", 2)),
        (INSTANCE + "then: []\n", ("shape.unknown_key", 7)),
        (INSTANCE + "limits: { per_hour: 1000 }\n", ("shape.unknown_key", 7)),
        (INSTANCE + "blueprint: { name: B, domain: workflow }\n", ("shape.unknown_key", 7)),
        (INSTANCE + "contract: workflow.v2\n", ("shape.contract", 7)),
        ("name: N\nuse_blueprint: shared/deliveries.yaml\n", ("shape.wrong_type", 2)),
        ("name: N\nuse_blueprint: { input: {} }\n", ("shape.missing_key", 2)),
        ("name: N\nuse_blueprint: { path: shared/deliveries.yaml, inputs: {} }\n", ("shape.unknown_key", 2)),
        ("name: N\nuse_blueprint: { path: shared/deliveries.yaml, input: [a] }\n", ("shape.wrong_type", 2)),
        (INSTANCE.replace("shared/d", "/etc/d"), ("shape.bad_value", 4)),
        (INSTANCE.replace("shared/d", "../d"), ("shape.bad_value", 4)),
        (INSTANCE.replace("shared/d", "shared/../d"), ("shape.bad_value", 4)),
        (INSTANCE.replace("shared/d", "shared\\d"), ("shape.bad_value", 4)),
        (INSTANCE.replace("shared/d", "http://d.example/d"), ("shape.bad_value", 4)),
        (INSTANCE.replace("deliveries.yaml", "deliveries.py"), ("shape.bad_value", 4)),
        (INSTANCE.replace("shared/d", "other/d"), ("shape.bad_value", 4)),
        (INSTANCE.replace("shared/deliveries.yaml", "broken.yaml"), ("shape.yaml", 4)),
        (INSTANCE.replace("    guard: role:guard\n", "    gate: north\n"), ("shape.missing_key", 5)),
        (INSTANCE.replace("    guard: role:guard\n", "").replace("  input:\n", ""), ("shape.missing_key", 4)),
        (INSTANCE + "    gaet: north\n", ("shape.unknown_key", 7)),
        (INSTANCE + "    gate: [north]\n", ("shape.wrong_type", 7)),
        (INSTANCE + "    afterwards:\n      - log: a\n      - b\n", ("shape.wrong_type", 9)),
        (INSTANCE + "    gate: !input guard\n", ("shape.unknown_tag", 7)),
        (INSTANCE + "    !input gate: north\n", ("shape.unknown_tag", 7)),
        (INSTANCE.replace("path: shared", "path: !input shared"), ("shape.unknown_tag", 4)),
        (INSTANCE + "    gate: !include x\n", ("shape.unknown_tag", 7)),
        (INSTANCE + "    message: " + "x" * WORKFLOW_BYTES + "\n", ("shape.too_large", 1)),
        (INSTANCE + "    message: " + "x" * (WORKFLOW_BYTES - len(INSTANCE) - 200) + "\n", ("shape.too_large", 4)),
    ],
)
def test_a_wrong_instance_is_refused_at_its_line(instance: str, expected: tuple[str, int]) -> None:
    made = checked(instance)
    assert made.text is None and made.report.document is None
    assert expected in errors(made.report)
    assert resolve(instance, find).text is None


def test_a_problem_inside_an_input_is_shown_inside_the_instance() -> None:
    made = checked(
        INSTANCE
        + "    look:\n      mode: look\n      prompt: p\n      decision: [a, b]\n      a: [ log: x ]\n      unsure:\n        - lgo: x\n"
    )
    assert sorted(errors(made.report)) == [("outcome.missing_lane", 7), ("skill.unknown_step", 13)]
    assert all("`look`" in one.message for one in made.report.problems if one.severity is Severity.ERROR)


def test_a_problem_of_the_blueprints_body_names_the_blueprints_line() -> None:
    wrong = BLUEPRINT.replace("timeout: 2m", "timeout: soon")
    made = check_file(INSTANCE, judge, lambda path: wrong)
    assert errors(made.report) == [("shape.bad_duration", 4)]
    told = next(one for one in made.report.problems if one.severity is Severity.ERROR)
    assert told.message.startswith("In the blueprint shared/deliveries.yaml, line 25, column ")
    column = int(told.message.split("column ")[1].split(":")[0])
    assert wrong.splitlines()[24][column - 1 :].startswith("timeout")


def test_a_problem_of_a_default_names_its_line_in_the_head() -> None:
    wrong = BLUEPRINT.replace('delivery: [ log: "{reason}" ]', 'delivery: [ log: "{raeson}" ]')
    made = check_file(INSTANCE, judge, lambda path: wrong)
    told = next(one for one in made.report.problems if one.severity is Severity.ERROR)
    assert (told.code, told.place.line) == ("shape.unknown_placeholder", 4)
    assert told.message.startswith("In the blueprint shared/deliveries.yaml, line 15, ")


def test_a_blueprint_is_judged_with_its_defaults_and_shown_at_its_own_lines() -> None:
    made = check_file(BLUEPRINT, judge, find)
    assert made.kind is FileKind.BLUEPRINT
    assert errors(made.report) == []
    assert made.step_inputs == ("look", "afterwards")
    wrong = BLUEPRINT.replace("timeout: 2m", "timeout: soon").replace(
        '[ log: "over" ]', "[ gate.open: { gate: main_gate } ]"
    )
    assert sorted(errors(check_file(wrong, judge, find).report)) == [
        ("safety.default_moves", 25),
        ("shape.bad_duration", 25),
    ]


def test_a_blueprint_that_nobody_can_judge_asks_for_a_default() -> None:
    bare = BLUEPRINT.replace('      default: [ log: "over" ]\n', "")
    made = check_file(bare, judge, find)
    assert made.text is None and errors(made.report) == [("shape.missing_key", 17)]


def test_the_fixes_of_a_made_text_are_not_offered_for_a_file_that_is_another() -> None:
    made = checked(INSTANCE + "    look: { mode: look, prompt: p, decision: [a], a: [ log: x ] }\n")
    assert errors(made.report) == [("outcome.missing_lane", 7)]
    assert all(one.fixes == () for one in made.report.problems)


def test_a_plain_workflow_is_judged_as_it_is() -> None:
    text = "name: N  # not a blueprint\nwhen: { doorbell: { cameras: [gate] } }\nthen:\n  - log: blueprint\n"
    made = check_file(text, judge, find)
    assert made.kind is FileKind.WORKFLOW and made.report == judge(text) and made.text == text
    assert check_file(text.encode(), judge, find).report == judge(text)


@pytest.mark.parametrize("text", ["blueprint:\n  name: [\n", "use_blueprint: { path: [\n", "then: [ blueprint\n"])
def test_a_broken_file_is_one_problem_at_its_place(text: str) -> None:
    made = check_file(text, judge, find)
    assert [one.code for one in made.report.problems] == ["shape.yaml"]
    assert made.kind is {"b": FileKind.BLUEPRINT, "u": FileKind.INSTANCE, "t": FileKind.WORKFLOW}[text[0]]
