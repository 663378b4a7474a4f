"""Which events wake which trigger."""

from __future__ import annotations

from typing import Any

import pytest

from siteward.core.plugins.event_triggers import VOCABULARY
from siteward.steps import host_triggers
from tests.steps.world import NOON, event

TRIGGERS = {**VOCABULARY, **{trigger.name: trigger for trigger in host_triggers()}}


def wakes(name: str, settings: dict[str, Any], payload: dict[str, Any], type: str | None = None) -> bool:
    happened = event(type or name, payload=payload)
    trigger = TRIGGERS[name]
    return happened.type in trigger.event_types(settings) and trigger.matches(settings, happened)


ALERT = {"type": "intrusion", "severity": "high", "source": "app:yard", "title": "x"}
SEEN = {"zone": "barrier", "seconds": 5, "track": "7", "label": "car"}

CASES: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    ("alert", {}, ALERT, True),
    ("alert", {"types": ("intrusion", "fire")}, ALERT, True),
    ("alert", {"types": ("fire",)}, ALERT, False),
    ("alert", {"source": "app:yard"}, ALERT, True),
    ("alert", {"source": "detector"}, {"title": "x"}, True),
    ("alert", {"source": "app:gate"}, ALERT, False),
    ("alert", {"min_severity": "high"}, ALERT, True),
    ("alert", {"min_severity": "critical"}, ALERT, False),
    ("alert", {"min_severity": "low"}, {"title": "x"}, False),
    ("alert", {"min_severity": "low"}, {"severity": "loud"}, False),
    ("detect.vehicle_in_zone", {}, SEEN, True),
    ("detect.vehicle_in_zone", {"zone": "barrier"}, SEEN, True),
    ("detect.vehicle_in_zone", {"zone": "yard"}, SEEN, False),
    ("detect.vehicle_in_zone", {"min_seconds": 5}, SEEN, True),
    ("detect.vehicle_in_zone", {"min_seconds": 5.5}, SEEN, False),
    ("detect.vehicle_in_zone", {"min_seconds": 1}, {}, False),
    ("detect.vehicle_in_zone", {"min_seconds": 1}, {"seconds": "9"}, False),
    ("detect.person_in_zone", {"zone": "barrier", "min_seconds": 3}, SEEN, True),
    ("detect.line_crossed", {"line": "kerb", "direction": "in"}, {"line": "kerb", "direction": "in"}, True),
    ("detect.line_crossed", {"line": "kerb", "direction": "in"}, {"line": "kerb", "direction": "out"}, False),
    ("detect.zone_empty", {"zone": "a", "for": "10m"}, {"zone": "a", "seconds": 600}, True),
    ("detect.zone_empty", {"zone": "a", "for": "10m"}, {"zone": "a", "seconds": 599}, False),
    ("camera.offline", {"for": "2m"}, {"since": "x", "seconds": 120}, True),
    ("camera.offline", {"for": "2m"}, {"since": "x"}, False),
    ("camera.offline", {}, {"since": "x"}, True),
    ("camera.online", {}, {"since": "x"}, True),
    ("doorbell", {}, {}, True),
    ("gate.changed", {"gate": "north", "to": "closed"}, {"gate": "north", "to": "closed"}, True),
    ("gate.changed", {"gate": "north", "to": "closed"}, {"gate": "north", "to": "open"}, False),
    ("gate.changed", {"to": "open"}, {"gate": "south", "to": "open"}, True),
    ("button", {"name": "Let in"}, {"name": "Let in", "person": "ada"}, True),
    ("button", {"name": "Let in"}, {"name": "let in", "person": "ada"}, False),
    ("button", {"name": "Let in"}, {}, False),
    ("message", {}, {"text": "hi"}, True),
    ("schedule", {"at": "07:00", "days": ("mon",)}, {"schedule": {"at": "07:00", "days": ["mon"]}}, True),
    ("schedule", {"at": "07:00"}, {"schedule": {"at": "08:00"}}, False),
]


@pytest.mark.parametrize(("name", "settings", "payload", "expected"), CASES)
def test_a_trigger_wakes_for_what_it_asks(
    name: str, settings: dict[str, Any], payload: dict[str, Any], expected: bool
) -> None:
    assert wakes(name, settings, payload) is expected
    assert not wakes(name, settings, payload, "something.else.v1")


def test_an_event_trigger_asks_type_and_fields() -> None:
    settings = {"type": "plate.recognized.v1", "where": {"plate": ("B-AB 123", "C-X 1")}}
    assert wakes("event", settings, {"plate": "C-X 1"}, "plate.recognized.v1")
    assert not wakes("event", settings, {"plate": "D-Y 2"}, "plate.recognized.v1")
    assert not wakes("event", settings, {}, "plate.recognized.v1")
    assert not wakes("event", settings, {"plate": "C-X 1"}, "badge.read.v1")


def test_what_a_payload_lacks_is_not_given() -> None:
    given = TRIGGERS["detect.vehicle_in_zone"].values(event(payload={"zone": "barrier", "track": None}))
    assert set(given) == {"zone", "camera", "time", "event_id"}


def test_without_a_camera_none_is_given() -> None:
    given = TRIGGERS["button"].values(event("button", camera=None, payload={"name": "Let in", "person": "ada"}))
    assert given == {"name": "Let in", "person": "ada", "time": "2026-06-01T10:00:00+00:00", "event_id": "e1"}


def test_a_schedule_knows_when_it_is_due() -> None:
    due = TRIGGERS["schedule"].next_due
    assert due is not None
    found = due({"at": "13:00"}, NOON, "Europe/Berlin")
    assert found is not None and found.hour == 11
