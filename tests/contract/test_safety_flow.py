"""The data flow: where values come from, which authorities hold where, and what a site adds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from siteward.core.contract import safety, severity
from siteward.core.contract.document import Document, Value
from siteward.core.contract.flow import analyse
from siteward.core.contract.flow_conditions import window_provenance
from siteward.core.contract.flow_labels import KnownNames, Label
from siteward.core.contract.flow_moves import moves_things
from siteward.core.contract.flow_state import Grant, GrantKind, Point
from siteward.core.contract.registry import (
    ConditionSpec,
    Field,
    FieldType,
    Given,
    Provenance,
    Registry,
    SiteView,
    StepKindSpec,
    TriggerSpec,
)
from tests.contract.corpus_files import REGISTRY, document_of

PLATE = "when: { event: { type: plate.recognized.v1, cameras: [gate] } }"
VEHICLE = "when: { detect.vehicle_in_zone: { cameras: [gate], zone: barrier } }"
LOOK = "{ id: look, ai: { mode: look, prompt: Who, decision: [yes_it_is], yes_it_is: [ log: a ], unsure: [ log: b ] } }"
OPEN = "{ gate.open: { gate: main_gate } }"
TEXT = Field("text", FieldType.TEXT)
SITE = SiteView(roles={}, visible_cameras=frozenset({"gate"}))


def file(when: str, *then: str, top: str = "", always: str = "") -> str:
    steps = "".join(f"  - {step}\n" for step in then)
    return f"name: Test\n{when}\n{top}\nthen:\n{steps}{always}\n"


def document(when: str, *then: str, top: str = "", always: str = "") -> Document:
    return document_of(file(when, *then, top=top, always=always))


def codes(subject: Document, registry: Registry = REGISTRY, site: SiteView | None = None) -> list[str]:
    return [problem.code for problem in safety.check(subject, registry, site)]


def when_in(condition: str, *steps: str) -> str:
    return f"{{ if: [ {condition} ], 'true': [ {', '.join(steps)} ] }}"


LISTED = "in_list: { value: '{plate}', list: expected }"


# Provenance of triggers and names


@pytest.mark.parametrize(
    ("when", "provenance"),
    [
        (VEHICLE, Provenance.SENSOR),
        (PLATE, Provenance.SENSOR),
        ("when: { schedule: { at: '07:00' } }", Provenance.LITERAL),
        ("when: { button: { name: gate } }", Provenance.PERSON),
        ("when: { message: {} }", Provenance.AI),
        ("when: { alert: { types: [delivery] } }", Provenance.AI),
        ("when: { alert: { source: detector } }", Provenance.SENSOR),
        ("when: { alert: { source: 'app:somebody' } }", Provenance.AI),
        ("when: { event: { type: gate.decision.v1 } }", Provenance.APP),
        ("when: { any: [ { button: { name: gate } }, { message: {} } ] }", Provenance.AI),
    ],
)
def test_a_trigger_is_as_trusted_as_the_source_that_it_fixes(when: str, provenance: Provenance) -> None:
    assert analyse(document(when, "{ log: a }"), REGISTRY).provenance is provenance


def test_a_fragment_has_lost_its_trigger_and_counts_as_ai_s() -> None:
    fragment = document_of(f"then:\n  - {when_in('time: { from: 08:00, to: 18:00 }', OPEN)}\n", fragment=True)
    assert codes(fragment) == ["safety.ai_unguarded"]


def test_the_trigger_s_plate_stays_its_own_beside_a_field_of_that_name() -> None:
    look = LOOK.replace("decision:", "fields: { plate: { from: '{plate}' } }, decision:")
    flow = analyse(document(PLATE, look, "{ log: '{plate}' }"), REGISTRY)
    known = flow.at(("then", 1))
    assert known.label("plate").authorises
    assert known.label("look.plate").provenance is Provenance.AI
    assert codes(document(PLATE, look, when_in(LISTED, OPEN))) == []
    assert codes(document(PLATE, look, when_in(LISTED.replace("plate", "look.plate"), OPEN))) == ["safety.ai_unguarded"]


def test_a_name_that_nobody_gives_is_ai_s() -> None:
    flow = analyse(document(VEHICLE, "{ log: a }"), REGISTRY)
    assert flow.at(("then", 0)).label("nobody.knows").provenance is Provenance.AI


# What third parties bring


def with_kind(spec: StepKindSpec) -> Registry:
    return replace(REGISTRY, step_kinds={**REGISTRY.step_kinds, spec.name: spec})


def third_party(registry: Registry, *then: str) -> Document:
    from siteward.core.contract import load

    text = file(VEHICLE, *then, top="if: [ time: { from: '08:00', to: '18:00' } ]")
    report = load(text, registry=registry)
    assert report.document is not None
    return report.document


def test_a_third_party_s_step_that_is_ai_s_is_ai_before_the_move() -> None:
    for ai, expected in ((True, ["safety.ai_unguarded"]), (False, [])):
        registry = with_kind(StepKindSpec("my_app.judge", "my_app", fields=(TEXT,), ai=ai))
        assert codes(third_party(registry, "{ my_app.judge: { text: a } }", OPEN), registry) == expected


def test_a_step_that_is_fed_ai_s_words_speaks_ai_s_words() -> None:
    registry = with_kind(
        StepKindSpec("my_app.upper", "my_app", fields=(TEXT,), gives=(Given("text", "text", Provenance.APP),))
    )
    fed = third_party(registry, LOOK, "{ id: up, my_app.upper: { text: '{look.reason}' } }", "{ log: '{up.text}' }")
    assert analyse(fed, registry).at(("then", 2)).label("up.text").provenance is Provenance.AI
    alone = third_party(registry, "{ id: up, my_app.upper: { text: a } }", "{ log: '{up.text}' }")
    assert analyse(alone, registry).at(("then", 1)).label("up.text").provenance is Provenance.APP


def test_a_condition_that_is_ai_s_is_no_plain_rule() -> None:
    for ai, expected in ((True, ["safety.ai_unguarded"]), (False, [])):
        spec = ConditionSpec("my_app.calm", "my_app", fields=(TEXT,), ai=ai)
        registry = replace(REGISTRY, conditions={**REGISTRY.conditions, spec.name: spec})
        assert codes(third_party(registry, when_in("my_app.calm: { text: a }", OPEN)), registry) == expected


def test_an_entity_is_a_sensor_only_where_an_admin_marked_it() -> None:
    entity = Field("entity", FieldType.ROLE, required=True, role="entity")
    spec = TriggerSpec("home_assistant.state", "home_assistant", Provenance.AI, (entity,))
    registry = replace(REGISTRY, triggers={**REGISTRY.triggers, spec.name: spec})
    from siteward.core.contract import load

    text = file("when: { home_assistant.state: { entity: door_sensor } }", OPEN, top="if: [ site_mode: [disarmed] ]")
    subject = load(text, registry=registry).document
    assert subject is not None
    assert codes(subject, registry) == ["safety.ai_unguarded"]
    assert codes(subject, registry, SITE) == ["safety.ai_unguarded"]
    assert codes(subject, registry, replace(SITE, sensor_entities=frozenset({"door_sensor"}))) == []


# What a site adds


def test_a_destination_moves_until_an_admin_approved_it_as_one_that_only_tells() -> None:
    subject = document(VEHICLE, LOOK, "{ webhook: { to: ticketing, body: '{look.reason}' } }")
    assert codes(subject) == ["safety.ai_unguarded"]
    assert codes(subject, site=SITE) == ["safety.ai_unguarded"]
    assert codes(subject, site=replace(SITE, tells=frozenset({"destination:other"}))) == ["safety.ai_unguarded"]
    assert codes(subject, site=replace(SITE, tells=frozenset({"destination:ticketing"}))) == []


def test_a_service_is_approved_with_its_entity_and_not_for_another() -> None:
    action = REGISTRY.actions["home_assistant"]
    tells = frozenset({"entity:lamp/switch.turn_on"})
    assert not moves_things(action, {"service": "switch.turn_on", "entity": "lamp"}, tells)
    assert moves_things(action, {"service": "switch.turn_off", "entity": "lamp"}, tells)
    assert moves_things(action, {"service": "switch.turn_on", "entity": "lock"}, tells)
    assert moves_things(action, {"service": "{look.service}", "entity": "lamp"}, tells)
    assert moves_things(action, {"service": "switch.turn_on", "entity": "lamp", "data": {"entity_id": "lock"}}, tells)


def test_a_list_must_be_one_that_the_site_accepts_for_the_target() -> None:
    subject = document(PLATE, LOOK, when_in(LISTED, OPEN))
    assert codes(subject, site=SITE) == ["safety.list_not_allowed"]
    accepted = replace(SITE, authority_lists={"gate:main_gate": frozenset({"expected"})})
    elsewhere = replace(SITE, authority_lists={"gate:other": frozenset({"expected"})})
    assert codes(subject, site=accepted) == []
    assert codes(subject, site=elsewhere) == ["safety.list_not_allowed"]


def test_each_list_of_an_any_must_be_accepted() -> None:
    either = "any: [ { in_list: { value: '{plate}', list: a } }, { in_list: { value: '{plate}', list: b } } ]"
    subject = document(PLATE, LOOK, when_in(either, OPEN))
    assert codes(subject, site=replace(SITE, authority_lists={"gate:main_gate": frozenset({"a", "b"})})) == []
    assert codes(subject, site=replace(SITE, authority_lists={"gate:main_gate": frozenset({"a"})})) == [
        "safety.list_not_allowed"
    ]


def test_every_target_that_a_loop_can_name_must_accept_the_list() -> None:
    loop = f"{{ for_each: {{ in: [a, b], as: item, do: [ {when_in(LISTED, OPEN.replace('main_gate', chr(39) + '{item}' + chr(39)))} ] }} }}"
    subject = document(PLATE, LOOK, loop)
    both = {"gate:a": frozenset({"expected"}), "gate:b": frozenset({"expected"})}
    assert codes(subject, site=replace(SITE, authority_lists=both)) == []
    assert codes(subject, site=replace(SITE, authority_lists={"gate:a": frozenset({"expected"})})) == [
        "safety.list_not_allowed"
    ]


def test_without_ai_before_it_any_list_is_the_author_s_plain_rule() -> None:
    assert codes(document(PLATE, when_in(LISTED, OPEN)), site=SITE) == []


# Authorities


def test_authorities_hold_in_their_lane_at_any_depth_and_end_where_lanes_join() -> None:
    inner = when_in("time: { from: '08:00', to: '18:00' }", "{ log: a }")
    flow = analyse(document(PLATE, when_in(LISTED, inner), "{ log: b }"), REGISTRY)
    deep = flow.at(("then", 0, "true", 0, "true", 0))
    assert [grant.kind for grant in deep.grants] == [GrantKind.AUTHORISING, GrantKind.RULE]
    assert flow.at(("then", 1)).grants == ()


def test_what_a_lane_may_move_is_known_to_its_button() -> None:
    ask = (
        "{ ask_person: { who: role:guard, message: In, replies: [Yes, No], timeout: 60s }, Yes: [ "
        + when_in("site_mode: [disarmed]", OPEN)
        + " ], No: [ log: a ] }"
    )
    subject = document(VEHICLE, ask)
    flow = analyse(subject, REGISTRY)
    assert [use.action.name for use in flow.moves_in(subject.then[0], "Yes")] == ["gate.open"]
    assert flow.moves_in(subject.then[0], "No") == ()
    assert flow.moves_in(subject.then[0], "no_answer") == ()


def test_where_every_answer_ends_the_path_nothing_after_it_is_reached() -> None:
    ask = "{ ask_person: { who: role:guard, message: In, replies: [Yes, No], timeout: 60s } }"
    flow = analyse(document(VEHICLE, ask, "{ log: a }"), REGISTRY)
    assert flow.at(("then", 1)).dead


def test_loops_within_loops_cost_work_by_depth_and_not_by_its_power() -> None:
    body = OPEN
    for depth in range(16):
        look = LOOK.replace("id: look", f"id: look{depth}")
        body = f"{{ for_each: {{ in: [a, b], as: i{depth}, do: [ {body}, {look} ] }} }}"
    steps = 16 * 4 + 1
    flow = analyse(document(VEHICLE, body, top="if: [ site_mode: [disarmed] ]"), REGISTRY)
    assert len(flow.visits) == steps
    assert flow.steps_walked <= steps * 16 * 4


# Severity


@pytest.mark.parametrize(
    ("severity_asked", "found"),
    [("low", []), ("medium", []), ("high", ["severity.capped"]), ("critical", ["severity.critical"])],
)
def test_ai_s_own_word_raises_no_alert_above_medium(severity_asked: str, found: list[str]) -> None:
    alert = f"{{ alert: {{ severity: {severity_asked}, title: a }} }}"
    assert [p.code for p in severity.check(document(VEHICLE, LOOK, alert), REGISTRY)] == found
    assert severity.check(document(VEHICLE, alert), REGISTRY) == []
    assert severity.check(document(PLATE, LOOK, when_in(LISTED, alert)), REGISTRY) == []
    narrowed = document(PLATE, LOOK, when_in("site_mode: [disarmed]", alert))
    assert [p.code for p in severity.check(narrowed, REGISTRY)] == found


def test_what_was_shown_under_a_name_is_not_shown_once_the_name_means_something_else() -> None:
    seen = Grant(GrantKind.REPLY, ("then", 0), "then.0", "Yes", shown=frozenset({"item", "item.gate", "look.gate"}))
    point = Point(KnownNames({"item": Label(Provenance.LITERAL)})).granted(seen)
    (renamed,) = point.knowing({"item": Label(Provenance.AI)}).grants
    assert renamed.shown == {"look.gate"}
    (other,) = point.knowing({"second.reason": Label(Provenance.AI)}).grants
    assert other.shown == {"item", "item.gate", "look.gate"}


@pytest.mark.parametrize(
    ("window", "provenance"),
    [
        ({"type": "plate.recognized.v1", "last": "1h"}, Provenance.SENSOR),
        ({"type": "detect.person_in_zone", "last": "1h"}, Provenance.SENSOR),
        ({"type": "alert", "last": "1h"}, Provenance.AI),
        ({"type": "nobody.knows.v1", "last": "1h"}, Provenance.AI),
        ({"type": ("plate.recognized.v1",), "last": "1h"}, Provenance.AI),
        ({"last": "1h"}, Provenance.AI),
    ],
)
def test_a_window_of_events_is_as_trusted_as_the_source_that_its_type_fixes(
    window: dict[str, Value], provenance: Provenance
) -> None:
    assert window_provenance(window, REGISTRY) is provenance


def test_the_lane_of_a_default_is_known_as_a_person_s_answer_too() -> None:
    ask = "{ ask_person: { who: role:guard, message: In, replies: [Yes, No], timeout: 60s, default: No }, Yes: [ log: a ], No: [ log: b ] }"
    flow = analyse(document(VEHICLE, ask), REGISTRY)
    inside = ("then", 0, "No", 0)
    assert [grant.kind for grant in flow.at(inside).grants] == [GrantKind.REPLY]
    assert [visit.context for visit in flow.visits if visit.step.path == inside] == [None, ("then", 0)]


# Loops, ends of paths, and what people are shown

ASK = "ask_person: { who: role:guard, message: In, replies: [Yes, No], timeout: 60s }"
ENDS = f"{{ {ASK} }}"
"""A question after which no path goes on."""


def loop(source: str, *body: str, name: str = "x") -> str:
    return f"{{ for_each: {{ in: {source}, as: {name}, do: [ {', '.join(body)} ] }} }}"


def test_always_knows_what_steps_gave_and_each_name_as_the_worst_that_gave_it() -> None:
    asked = f"{{ id: asked, {ASK}, Yes: [ log: a ] }}"
    written, listed = ("[a, b]", "{ log: a }"), ("'list:expected'", "{ log: a }")
    loops = (loop(*written), loop(*listed), loop(*listed, name="y"), loop(*written, name="y"))
    known = analyse(document(PLATE, asked, *loops, always="always:\n  - { log: a }\n"), REGISTRY).known(("always", 0))
    assert known["plate"].authorises
    assert known["asked.reply"].provenance is Provenance.PERSON
    assert known["x"] == known["y"] == Label(Provenance.LIST)


def test_what_a_first_round_does_not_know_is_ai_s_though_later_rounds_know_it() -> None:
    read = when_in("value: { of: '{later.reply}', is: Yes }", OPEN)
    early = f"{{ {ASK}, Yes: [ {read} ], No: [ log: a ], no_answer: [ log: a ] }}"
    subject = document(VEHICLE, loop("[a, b]", early, f"{{ id: later, {ASK}, Yes: [ log: a ] }}"))
    assert codes(subject) == ["safety.ai_unguarded"]


def test_a_round_that_ends_every_path_is_judged_as_if_another_followed() -> None:
    subject = document(VEHICLE, loop("[a, b]", OPEN, LOOK, ENDS), top="if: [ site_mode: [disarmed] ]")
    assert codes(subject) == ["safety.ai_unguarded"]


def test_after_a_loop_the_name_of_its_item_means_what_it_meant_before() -> None:
    inner = loop("[c, d]", "{ log: a }")
    flow = analyse(document(VEHICLE, loop("[a, b]", inner, "{ log: a }"), "{ log: a }"), REGISTRY)
    assert flow.known(("then", 0, "for_each", "do", 1))["x"] == Label(Provenance.LITERAL, texts=("a", "b"))
    assert "x" not in flow.known(("then", 1))


@pytest.mark.parametrize(("source", "dead"), [("[a, b]", True), ("'list:expected'", False), ("'{zone}'", False)])
def test_what_follows_a_loop_is_reached_where_its_list_may_be_empty(source: str, dead: bool) -> None:
    flow = analyse(document(VEHICLE, loop(source, ENDS), "{ log: a }"), REGISTRY)
    assert flow.at(("then", 1)).dead is dead


def test_a_person_was_shown_what_stands_in_the_question_and_nothing_else() -> None:
    ask = "{ ask_person: { who: ['{look.who}'], message: 'In? {look.reason}', replies: [Yes, No], timeout: 60s }, Yes: [ log: a ] }"
    (grant,) = analyse(document(VEHICLE, LOOK, ask), REGISTRY).at(("then", 1, "Yes", 0)).grants
    assert grant.shown == {"look.reason"}


def test_a_lane_of_no_answer_moves_nothing_beside_a_default_either() -> None:
    silent = ASK.replace("60s", "60s, default: No")
    subject = document(VEHICLE, f"{{ {silent}, No: [ log: a ], no_answer: [ {OPEN} ] }}")
    assert codes(subject) == ["safety.no_answer_moves"]


def test_after_a_call_that_asks_for_no_outcome_nothing_is_confirmed() -> None:
    call = "{ call: { to: role:guard, line: front, script: Hello, language: en } }"
    subject = document(VEHICLE, call, when_in("site_mode: [disarmed]", OPEN))
    assert not analyse(subject, REGISTRY).at(("then", 1)).dead
    assert codes(subject) == ["safety.unconfirmed_call"]
