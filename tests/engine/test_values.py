"""Placeholders filled with labels, and the labels kept on the way through a row."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siteward.core.contract.manifest_data import shipped_registry
from siteward.core.contract.placeholders import BadPlaceholder, escape, names_in, parse_template
from siteward.core.contract.provenance import ORDER, least_trusted
from siteward.core.contract.registry import Provenance
from siteward.core.engine.seam import Labelled
from siteward.core.engine.values import (
    TEXT_LIMIT,
    MissingValue,
    action_arguments,
    event_values,
    fill,
    from_json,
    resolve,
    resolve_settings,
    shown_by,
    to_json,
)
from siteward.core.plugins.event_triggers import VOCABULARY
from siteward.steps import host_triggers
from tests.steps.world import PLATE, event, value

AI = Provenance.AI
SENSOR = Provenance.SENSOR
KNOWN = {
    "plate": PLATE,
    "reason": value("A van", AI),
    "look.people": value(3, AI),
    "resident": value({"name": "Ada", "gate": "north"}, Provenance.LIST),
    "company": value(None, AI),
}


def test_a_placeholder_alone_keeps_type_and_identity() -> None:
    assert fill("{plate}", KNOWN) == Labelled("B-AB 123", SENSOR, authorises=True, names=frozenset({"plate"}))
    assert fill("{look.people}", KNOWN).value == 3


def test_a_text_around_an_identity_is_no_identity() -> None:
    filled = fill(" {plate}", KNOWN)
    assert filled.value == " B-AB 123"
    assert not filled.authorises


def test_a_text_is_as_trusted_as_the_least_trusted_value_in_it() -> None:
    filled = fill("{plate}: {reason}", KNOWN)
    assert (filled.value, filled.provenance) == ("B-AB 123: A van", AI)
    assert filled.names == {"plate", "reason"}


def test_the_authors_own_text_is_literal() -> None:
    assert fill("main_gate", KNOWN) == Labelled("main_gate", Provenance.LITERAL)


def test_doubled_braces_are_braces() -> None:
    assert fill("{{plate}} {plate}", KNOWN).value == "{plate} B-AB 123"


def test_a_value_with_braces_is_not_filled_again() -> None:
    assert fill("{a}", {"a": value("{plate}"), **KNOWN}).value == "{plate}"
    assert fill("x {a}", {"a": value("{plate}"), **KNOWN}).value == "x {plate}"


def test_an_unknown_name_is_said_with_the_known_ones() -> None:
    with pytest.raises(MissingValue, match=r"\{colour\}.*plate, reason"):
        fill("A {colour} car", KNOWN)


def test_what_nobody_read_is_unknown_in_a_text_and_null_alone() -> None:
    assert fill("From {company}", KNOWN).value == "From unknown"
    assert fill("{company}", KNOWN).value is None


def test_a_field_of_a_row_is_as_trusted_as_the_row_and_no_identity() -> None:
    rows = {"resident": Labelled({"plate": "B-AB 123"}, Provenance.LIST, authorises=True)}
    found = fill("{resident.plate}", rows)
    assert (found.value, found.provenance, found.authorises) == ("B-AB 123", Provenance.LIST, False)


def test_a_field_that_the_row_lacks_is_missing() -> None:
    with pytest.raises(MissingValue):
        fill("{resident.flat}", KNOWN)


def test_a_mapping_is_as_trusted_as_the_least_trusted_text_inside() -> None:
    resolved = resolve({"to": "desk", "why": ("{reason}", "{plate}")}, KNOWN)
    assert resolved.value == {"to": "desk", "why": ["A van", "B-AB 123"]}
    assert resolved.provenance is AI
    assert resolved.names == {"reason", "plate"}


def test_each_setting_keeps_its_own_label() -> None:
    resolved = resolve_settings({"gate": "north", "note": "{reason}"}, KNOWN)
    assert (resolved["gate"].provenance, resolved["note"].provenance) == (Provenance.LITERAL, AI)


def test_keys_are_the_authors_own() -> None:
    assert resolve({"{plate}": 1}, KNOWN).value == {"{plate}": 1}


def test_numbers_and_truth_read_as_people_write_them() -> None:
    known = {"a": value(True), "b": value(2.0), "c": value(0.5), "d": value(["x", 1])}
    assert fill("{a} {b} {c} {d}", known).value == "true 2 0.5 x, 1"


def test_a_text_without_end_is_cut_visibly() -> None:
    filled = fill("{a}!", {"a": value("x" * TEXT_LIMIT)})
    assert len(filled.value) == TEXT_LIMIT
    assert filled.value.endswith("[cut]")


@pytest.mark.parametrize(
    "text", ["{", "}", "a } b", "{}", "{ plate }", "{1a}", "{a.}", "{a b}", "{{}", "{a{b}}", "{é}"]
)
def test_braces_that_are_no_placeholder_are_refused(text: str) -> None:
    with pytest.raises(BadPlaceholder):
        parse_template(text)


@given(st.text())
def test_an_escaped_text_reads_as_it_was(text: str) -> None:
    assert fill(escape(text), {}).value == text[:TEXT_LIMIT]


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        template = parse_template(text)
    except BadPlaceholder as error:
        assert 0 <= error.at < len(text)
        return
    assert all(part != "" for part in template)


@given(st.lists(st.tuples(st.text(alphabet="ab {}é", max_size=8), st.sampled_from(["plate", "reason", "look.people"]))))
def test_literals_and_values_come_out_in_order(parts: list[tuple[str, str]]) -> None:
    text = "".join(escape(literal) + f"{{{name}}}" for literal, name in parts) + "."
    expected = "".join(literal + str(KNOWN[name].value) for literal, name in parts) + "."
    assert fill(text, KNOWN).value == expected
    assert names_in(text) == tuple(dict.fromkeys(name for _, name in parts))


@given(st.lists(st.sampled_from(ORDER), min_size=1), st.data())
def test_no_mixture_is_more_trusted_than_a_part(provenances: list[Provenance], data: st.DataObject) -> None:
    known = {f"v{index}": value("x", one) for index, one in enumerate(provenances)}
    filled = fill("." + "".join(f"{{{name}}}" for name in known), known)
    assert all(ORDER.index(filled.provenance) >= ORDER.index(one) for one in provenances)
    assert filled.provenance is least_trusted(provenances)
    assert not filled.authorises


LABELLED = st.builds(
    Labelled,
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)),
    st.sampled_from([one for one in ORDER if one is not AI]),
    st.booleans(),
    st.frozensets(st.text(max_size=5), max_size=3),
)


@given(LABELLED)
def test_a_row_keeps_the_label(labelled: Labelled) -> None:
    assert from_json(json.loads(json.dumps(to_json(labelled)))) == labelled


@pytest.mark.parametrize(
    "row", [None, "B-AB 123", {"v": "x"}, {"v": "x", "p": "trusted"}, {"v": "x", "p": None, "a": True}, {"p": "list"}]
)
def test_a_lost_label_is_ais_and_authorises_nothing(row: Any) -> None:
    found = from_json(row)
    assert found.provenance is AI
    assert not found.authorises


def test_a_label_of_ai_never_authorises_whatever_the_row_says() -> None:
    assert not from_json({"v": "B-AB 123", "p": "ai", "a": True}).authorises


def spec(name: str) -> Any:
    return shipped_registry().triggers[name]


def given_by(name: str, of: Any) -> Any:
    known = {**VOCABULARY, **{trigger.name: trigger for trigger in host_triggers()}}
    return known[name].values(of)


def test_a_plate_that_was_read_authorises() -> None:
    read = event()
    values = event_values(
        read, given_by("event", read), spec("event"), shipped_registry().events["plate.recognized.v1"]
    )
    assert values["plate"] == Labelled("B-AB 123", SENSOR, authorises=True)
    assert values["camera"] == Labelled("cam-gate", SENSOR)


def test_a_plate_from_a_source_that_is_ai_authorises_nothing() -> None:
    told = event(provenance=AI)
    values = event_values(
        told, given_by("event", told), spec("event"), shipped_registry().events["plate.recognized.v1"]
    )
    assert (values["plate"].provenance, values["plate"].authorises) == (AI, False)


def test_a_field_that_no_manifest_lists_is_no_identity() -> None:
    read = event(payload={"plate": "B-AB 123", "badge": "77"})
    values = event_values(
        read, given_by("event", read), spec("event"), shipped_registry().events["plate.recognized.v1"]
    )
    assert not values["badge"].authorises


def test_an_event_of_no_contract_is_ais() -> None:
    told = event("somebody.said")
    assert event_values(told, given_by("event", told), spec("event"))["plate"].provenance is AI


def test_an_unfixed_alert_is_ais_and_a_fixed_one_is_its_sources() -> None:
    raised = event("alert", payload={"title": "Intruder"})
    given = given_by("alert", raised)
    assert event_values(raised, given, spec("alert"))["title"].provenance is AI
    assert event_values(raised, given, spec("alert"), fixed=SENSOR)["title"].provenance is SENSOR


def test_who_wrote_a_message_is_a_person_and_what_is_not() -> None:
    told = event("message", provenance=Provenance.PERSON, payload={"text": "open", "person": "ada"})
    values = event_values(told, given_by("message", told), spec("message"))
    assert (values["text"].provenance, values["person"].provenance) == (AI, Provenance.PERSON)


def test_what_the_event_lacks_is_null() -> None:
    seen = event("detect.vehicle_in_zone", payload={"zone": "barrier"})
    values = event_values(seen, given_by("detect.vehicle_in_zone", seen), spec("detect.vehicle_in_zone"))
    assert values["track"].value is None
    assert values["zone"].value == "barrier"


def test_a_payload_cannot_rename_the_camera() -> None:
    forged = event(payload={"camera": "cam-office", "event_id": "e9", "time": "never"})
    values = event_values(forged, given_by("event", forged), spec("event"))
    assert (values["camera"].value, values["event_id"].value) == ("cam-gate", "e1")


def test_time_reads_in_the_zone_of_the_site() -> None:
    seen = event()
    values = event_values(seen, given_by("event", seen), spec("event"), zone="Europe/Berlin")
    assert values["time"].value == "2026-06-01 12:00:00"


def test_arguments_of_an_action_have_its_defaults_and_its_texts_as_text() -> None:
    alert = shipped_registry().actions["alert"]
    arguments = action_arguments(alert, {"title": "{look.people}", "description": "{company}"}, KNOWN)
    assert arguments["severity"].value == "medium"
    assert arguments["title"] == Labelled("3", AI, names=frozenset({"look.people"}))
    assert arguments["description"].value == "unknown"


def test_a_gate_that_nobody_named_is_missing() -> None:
    with pytest.raises(MissingValue, match="company"):
        action_arguments(shipped_registry().actions["gate.open"], {"gate": "{company}"}, KNOWN)


def test_a_question_shows_what_stands_in_its_message() -> None:
    assert shown_by("Let {plate} in? {look.reason}", ("{shot}",), None) == {"plate", "look.reason", "shot"}
