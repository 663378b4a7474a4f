"""Every form of the page loads as data, and what is close to right says what to write instead."""

from __future__ import annotations

from textwrap import dedent

import pytest

from siteward.core.contract import load, validate
from siteward.core.contract.document import Document, State
from siteward.core.contract.manifest_data import shipped_registry
from tests.contract.expected import files

REGISTRY = shipped_registry()
HEAD = "name: R\nwhen:\n  event: { type: plate.recognized.v1, cameras: [gate] }\n"


def document(text: str, *, fragment: bool = False) -> Document:
    report = load(text, fragment=fragment, registry=REGISTRY)
    assert report.document is not None
    assert [p for p in report.problems if p.severity == "error"] == []
    return report.document


def faults(text: str) -> list[tuple[str, tuple[str | int, ...]]]:
    return [(p.code, p.path) for p in validate(HEAD + dedent(text), REGISTRY).problems if p.severity == "error"]


def test_the_first_example_is_read_with_places_lanes_and_limits() -> None:
    doc = document(files("accepted")[0].data.decode())
    (step,) = doc.then
    assert (doc.name, doc.state, doc.limits.cooldown, doc.limits.one_at_a_time) == (
        "Night intrusion triage",
        State.TEST,
        120.0,
        "track",
    )
    assert [lane.outcome for lane in step.lanes] == ["ignore", "watch", "alert", "unsure"]
    assert not any(lane.beside for lane in step.lanes)
    ask = step.lanes[3].steps[0]
    assert (ask.plan_path, ask.lanes[0].beside, ask.lanes[0].steps[0].kind) == ("then.0/unsure.0", True, "alert")
    assert doc.place_of(("then", 0, "ai", "goal")).line == 12
    assert doc.conditions[0].settings == {"modes": ("armed_home", "armed_away")}


def test_the_second_example_is_a_fragment() -> None:
    doc = document(files("accepted")[1].data.decode(), fragment=True)
    assert (doc.name, doc.triggers, doc.then[0].kind) == ("", (), "ai")
    assert not validate(files("accepted")[1].data, REGISTRY).ok


@pytest.mark.parametrize(
    ("step", "settings"),
    [
        ("log: hello", {"message": "hello"}),
        ("wait: 30s", {"for": "30s"}),
        ("site_mode: disarmed", {"mode": "disarmed"}),
        ("log: { message: hello }", {"message": "hello"}),
    ],
)
def test_shorthand_forms_are_expanded(step: str, settings: dict[str, str]) -> None:
    assert document(f"{HEAD}then:\n  - {step}\n").then[0].settings == settings


def test_a_lane_may_have_the_name_of_an_action() -> None:
    doc = document(HEAD + "then:\n  - ai: { mode: look, prompt: x, decision: [alert, log] }\n    alert: [ log: a ]\n"
                   "    log: [ log: b ]\n    unsure: [ log: c ]\n")  # fmt: skip
    assert [lane.outcome for lane in doc.then[0].lanes] == ["alert", "log", "unsure"]


def test_plan_paths_name_lanes_bodies_and_always() -> None:
    doc = document(HEAD + "then:\n  - log: x\n  - for_each: { in: [a], as: i, do: [ log: y ] }\nalways:\n  - log: z\n")
    assert doc.then[1].body[0].plan_path == "then.1/do.0"
    assert doc.always[0].plan_path == "always.0"


@pytest.mark.parametrize(
    ("text", "code", "path"),
    [
        ("then:\n  - log: 5\n", "shape.wrong_type", ("then", 0, "log")),
        ("then:\n  - log: [x]\n", "shape.wrong_type", ("then", 0, "log")),
        ("then:\n  - gate.open\n", "shape.wrong_type", ("then", 0)),
        ("then:\n  log: x\n", "shape.wrong_type", ("then",)),
        ("then:\n", "shape.empty_list", ("then",)),
        ("then:\n  - wait: 5\n", "shape.bad_duration", ("then", 0, "wait")),
        ("then:\n  - notify: { who: guard, message: m }\n", "shape.bad_value", ("then", 0, "notify", "who")),
        ("then:\n  - notify: { who: role:g, message: m, update_with: x }\n", "shape.bad_value", ("then", 0, "notify", "update_with")),
        ("then:\n  - wait_for: { timeout: 2m }\n    happened: [ log: x ]\n", "shape.no_trigger", ("then", 0, "wait_for")),
        ("then:\n  - wait_for: { doorbell: {} }\n    happened: [ log: x ]\n", "shape.missing_key", ("then", 0, "wait_for")),
        ("then:\n  - for_each: { in: 5, as: i, do: [ log: x ] }\n", "shape.bad_value", ("then", 0, "for_each", "in")),
        ("then:\n  - for_each: { in: [a], as: plate, do: [ log: x ] }\n", "shape.bad_id", ("then", 0, "for_each", "as")),
        ("then:\n  - for_each: { in: [a], as: i }\n", "shape.missing_key", ("then", 0, "for_each")),
        ("then:\n  - if: [ days: [mon] ]\n", "shape.missing_key", ("then", 0, "if")),
        ("then:\n  - if: { days: [mon] }\n    true: [ log: x ]\n", "shape.wrong_type", ("then", 0, "if")),
        ("if: [ value: { of: '{plate}' } ]\nthen: [ log: x ]\n", "shape.missing_key", ("if", 0, "value")),
        ("if: [ value: { of: a, is: b, is_not: c } ]\nthen: [ log: x ]\n", "shape.bad_value", ("if", 0, "value", "is_not")),
        ("if: [ value: { of: a, one_of: b } ]\nthen: [ log: x ]\n", "shape.wrong_type", ("if", 0, "value", "one_of")),
        ("if: [ count: { events: { type: alert, last: 1h } } ]\nthen: [ log: x ]\n", "shape.missing_key", ("if", 0, "count")),
        ("if: [ count: { events: { type: alrt, last: 1h }, at_most: 0 } ]\nthen: [ log: x ]\n", "skill.unknown_trigger",
         ("if", 0, "count", "events", "type")),
        ("if: [ count: { events: { type: alert, last: 1h, since: trigger }, at_most: 0 } ]\nthen: [ log: x ]\n",
         "shape.bad_value", ("if", 0, "count", "events", "since")),
        ("if: [ { days: [mon], camera: [gate] } ]\nthen: [ log: x ]\n", "shape.two_kinds", ("if", 0, "camera")),
        ("if: [ not: [] ]\nthen: [ log: x ]\n", "shape.empty_list", ("if", 0, "not")),
        ("needs: { camera: [x] }\nthen: [ log: x ]\n", "shape.unknown_key", ("needs", "camera")),
        ("limits: { per_hour: 1.5 }\nthen: [ log: x ]\n", "shape.wrong_type", ("limits", "per_hour")),
        ("limits: 5\nthen: [ log: x ]\n", "shape.wrong_type", ("limits",)),
        ("then: [ ask_person: { who: role:g, message: m, replies: [Yes, No, true] } ]\n", "shape.wrong_type",
         ("then", 0, "ask_person", "replies", 2)),
        ("then: [ ask_person: { who: role:g, message: m, replies: [] } ]\n", "shape.empty_list", ("then", 0, "ask_person", "replies")),
        ("then: [ call: { goal: g, outcomes: [a] } ]\n", "shape.missing_key", ("then", 0, "call")),
        ("then: [ call: { who: role:g, to: role:h, goal: g, outcomes: [a] } ]\n", "shape.bad_value", ("then", 0, "call", "to")),
        ("then:\n  - ask_person: { who: role:g, message: m, replies: [Y] }\n    timeout: 2m\n", "shape.unknown_key", ("then", 0, "timeout")),
    ],
)  # fmt: skip
def test_each_wrong_form_is_one_problem_at_its_place(text: str, code: str, path: tuple[str | int, ...]) -> None:
    assert faults(text) == [(code, path)]


@pytest.mark.parametrize(
    ("extra", "code", "key"),
    [
        ("input: video", "shape.bad_value", "input"),
        ("input: { frames: { seconds: 0 } }", "shape.bad_value", "input"),
        ("input: { frames: { since: noon } }", "shape.bad_value", "input"),
        ("sure: high", "shape.wrong_type", "sure"),
        ("uncalibrated: maybe", "shape.bad_value", "uncalibrated"),
        ("limits: { calls: 3 }", "shape.unknown_key", "limits"),
        ("fields: { reason: text }", "shape.bad_id", "fields"),
        ("fields: { who: date }", "shape.bad_value", "fields"),
        ("fields: { who: [] }", "shape.empty_list", "fields"),
        ("fields: { who: { from: 5 } }", "shape.wrong_type", "fields"),
        ("rules: []", "shape.empty_list", "rules"),
        ("fields: { n: number }, rules: [ { when: { n: many }, then: a } ]", "ai.rule_bad_value", "rules"),
        ("fields: { n: number }, rules: [ { when: { n: true }, then: a } ]", "ai.rule_bad_value", "rules"),
        ("fields: { n: text }, rules: [ { when: {}, then: a } ]", "shape.wrong_type", "rules"),
        ("fields: { n: text }, rules: [ { when: { n: x } } ]", "shape.missing_key", "rules"),
    ],
)
def test_settings_of_a_look_are_judged(extra: str, code: str, key: str) -> None:
    text = f"then:\n  - ai: {{ mode: look, prompt: x, decision: [a], {extra}, a: [ log: a ], unsure: [ log: u ] }}\n"
    ((found, path),) = faults(text)
    assert (found, path[:4]) == (code, ("then", 0, "ai", key))


@pytest.mark.parametrize(
    "extra",
    ["input: [picture, event]", "input: { frames: { seconds: 4, since: trigger } }", 'input: { text: "{plate}" }', "input: frames",
     'fields: { plate: { from: "{plate}" } }', "cameras: gate", "cameras: [gate, yard]", "uncalibrated: unsure"],
)  # fmt: skip
def test_forms_of_a_look_are_accepted(extra: str) -> None:
    text = f"then:\n  - ai: {{ mode: look, prompt: x, decision: [a], {extra}, a: [ log: a ], unsure: [ log: u ] }}\n"
    assert faults(text) == []


@pytest.mark.parametrize(
    ("role", "code"),
    [
        ("yard-east", None), ("gate2", None), ("north gate", None), ("Tor 1", None), ("camera-1", None), ("face", None),
        ('"42"', "scope.camera_id"), ("cam-0012", "scope.camera_id"), ("camera.front_door", "scope.camera_id"),
        ("6f1c2a34-9b1e-4c55-8a07-3d2f6b8c9e10", "scope.camera_id"), ("5f3c9a7be201d4", "scope.camera_id"),
        ('"rtsp://10.0.0.5/1"', "scope.literal_address"), ("10.0.0.5", "scope.literal_address"), ("17", "shape.wrong_type"),
    ],
)  # fmt: skip
def test_a_role_is_told_from_an_id_and_an_address(role: str, code: str | None) -> None:
    text = f"name: R\nwhen:\n  doorbell: {{ cameras: [{role}] }}\nthen:\n  - log: x\n"
    assert [p.code for p in validate(text, REGISTRY).problems] == ([code] if code else [])


@pytest.mark.parametrize(
    "to", ["+49 30 1234567", "tel:110", "a@b.example", "https://x.example/y", "site/gate/set", "relay.example.com"]
)
def test_no_literal_address_is_a_destination(to: str) -> None:
    text = f'{HEAD}if: [ days: [mon] ]\nthen:\n  - mqtt.publish: {{ topic: "{to}", payload: x }}\n'
    assert [p.code for p in validate(text, REGISTRY).problems if p.severity == "error"] == ["scope.literal_address"]


def test_all_problems_come_in_one_pass() -> None:
    text = "nam: R\nstate: 5\nlimits: { per_hour: '20' }\nwhen:\n  buton: {}\nthen:\n  - log: '{'\n  - lgo: x\n"
    assert [p.code for p in validate(text, REGISTRY).problems] == [
        "shape.missing_key", "shape.unknown_key", "shape.wrong_type", "shape.wrong_type", "skill.unknown_trigger",
        "shape.bad_placeholder", "skill.unknown_step",
    ]  # fmt: skip


def test_reading_faces_or_plates_or_moving_things_is_marked_for_an_admin() -> None:
    text = HEAD + (
        "if: [ days: [mon] ]\nthen:\n  - gate.open: { gate: main }\n"
        "  - ai: { mode: investigate, goal: g, tools: [recognize_faces], decision: [a], a: [ log: a ], unsure: [ log: u ] }\n"
    )
    marked = [p.path for p in validate(text, REGISTRY).problems if p.code == "scope.admin"]
    assert marked == [("when", "event"), ("then", 0, "gate.open"), ("then", 1, "ai", "tools", 0)]
