"""Placeholders: which names are known at each point of the flow."""

from __future__ import annotations

import pytest

from siteward.core.contract import validate
from siteward.core.contract.manifest_data import shipped_registry

REGISTRY = shipped_registry()
LOOK = "ai: { mode: look, prompt: x?, decision: [a], fields: { colour: text }, a: [ log: a ], unsure: [ log: u ] }"


def unknown(steps: str, when: str = "event: { type: plate.recognized.v1, cameras: [gate] }", **more: str) -> list[str]:
    head = "".join(f"{key}: {value}\n" for key, value in more.items())
    text = f"name: R\n{head}when:\n  {when}\nthen:\n{steps}"
    found = validate(text, REGISTRY).problems
    assert {p.code for p in found if p.severity == "error"} <= {"shape.unknown_placeholder"}, found
    return [p.message.split("`")[1].strip("{}") for p in found if p.code == "shape.unknown_placeholder"]


@pytest.mark.parametrize(
    ("when", "known", "missing"),
    [
        ("button: { name: r }", "{name} {person} {time} {event_id}", "camera"),
        ("message: {}", "{text} {person} {time}", "plate"),
        ("alert: { types: [x] }", "{title} {severity} {type} {source} {description} {camera}", "plate"),
        ("schedule: { every: 5m }", "{time} {event_id}", "camera"),
        ("camera.offline: { for: 2m }", "{since} {camera}", "zone"),
        ("gate.changed: { to: open }", "{gate} {to}", "camera"),
        ("detect.person_in_zone: { cameras: [y] }", "{zone} {seconds} {track} {label} {camera}", "line"),
        ("detect.line_crossed: { cameras: [y] }", "{line} {direction} {track} {label}", "zone"),
        ("event: { type: plate.recognized.v1 }", "{plate} {camera}", "badge"),
    ],
)
def test_triggers_give_the_names_of_the_page(when: str, known: str, missing: str) -> None:
    assert unknown(f'  - log: "{known} {{{missing}}}"\n', when) == [missing]


def test_of_several_triggers_only_common_names_are_known_and_which_fired() -> None:
    when = "any: [ doorbell: {}, camera.online: {}, button: { name: r } ]"
    assert unknown('  - log: "{trigger} {time} {camera}"\n', when) == ["camera"]


def test_a_name_is_known_only_if_every_path_fills_it() -> None:
    one_lane = f'  - if: [ days: [mon] ]\n    true:\n      - {LOOK}\n      - log: "{{colour}}"\n  - log: "{{colour}}"\n'
    assert unknown(one_lane) == ["colour"]
    both = f'  - if: [ days: [mon] ]\n    true: [ {LOOK} ]\n    false: [ {LOOK} ]\n  - log: "{{colour}} {{reason}}"\n'
    assert unknown(both) == []


def test_a_path_that_ends_says_nothing_of_what_follows() -> None:
    ask = "ask_person: { who: role:g, message: m, replies: [Yes, No] }"
    assert unknown(f'  - {ask}\n    Yes: [ {LOOK} ]\n  - log: "{{colour}}"\n') == []
    assert unknown(f'  - {ask}\n    Yes: [ {LOOK} ]\n    No: [ log: n ]\n  - log: "{{colour}}"\n') == ["colour"]


def test_the_nearest_ai_step_gives_the_plain_names_and_an_id_keeps_the_others() -> None:
    other = "ai: { mode: look, prompt: x?, decision: [a], fields: { size: text }, a: [ log: a ], unsure: [ log: u ] }"
    steps = f'  - id: first\n    {LOOK}\n  - {other}\n  - log: "{{size}} {{first.colour}} {{colour}}"\n'
    assert unknown(steps) == ["colour"]


def test_the_prompt_of_a_step_does_not_know_its_own_answer() -> None:
    assert unknown(
        '  - ai: { mode: look, prompt: "{reason}?", decision: [a], a: [ log: "{reason}" ], unsure: [ log: u ] }\n'
    ) == ["reason"]


def test_a_wait_leaves_its_names_in_the_lane_where_it_happened() -> None:
    wait = "id: w\n    wait_for: { gate.changed: { to: closed }, timeout: 1m }"
    steps = f'  - {wait}\n    happened: [ log: "{{w.gate}}" ]\n    not_happened: [ log: "{{w.gate}}" ]\n  - log: "{{w.to}}"\n'
    assert unknown(steps) == ["w.gate", "w.to"]


@pytest.mark.parametrize(
    ("source", "known", "missing"),
    [("[a, b]", "{it}", "it.x"), ("role:yard", "{it}", "it.x"), ("list:guests", "{it} {it.phone}", "row")],
)
def test_an_item_is_known_inside_its_loop_only(source: str, known: str, missing: str) -> None:
    steps = f'  - for_each: {{ in: "{source}", as: it, do: [ log: "{known} {{{missing}}}" ] }}\n  - log: "{{it}}"\n'
    assert unknown(steps.replace(f'"{source}"', source)) == [missing, "it"]


def test_always_knows_what_the_trigger_gave_and_no_more() -> None:
    steps = f'  - id: look\n    {LOOK}\nalways:\n  - log: "{{plate}} {{look.reason}} {{reason}}"\n'
    assert unknown(steps) == ["look.reason", "reason"]


def test_the_message_lists_the_names_and_the_nearest() -> None:
    text = "name: R\nwhen:\n  button: { name: r }\nthen:\n  - log: '{persom}'\n"
    (problem,) = validate(text, REGISTRY).problems
    assert problem.message == (
        "Nothing fills `{persom}` at this point. Did you mean {person}? Known here: `event_id`, `name`, `person` and `time`."
    )


def test_a_fragment_takes_any_name_of_the_trigger_it_does_not_have() -> None:
    assert validate("then:\n  - log: '{anything} {look.reason}'\n", REGISTRY, fragment=True).problems[0].path == (
        "then",
        0,
        "log",
    )
    assert validate("then:\n  - log: '{anything}'\n", REGISTRY, fragment=True).ok


@pytest.mark.parametrize("text", ["{{plate}}", "a }} b {{", "no braces"])
def test_doubled_braces_are_literal(text: str) -> None:
    assert unknown(f'  - log: "{text}"\n') == []
