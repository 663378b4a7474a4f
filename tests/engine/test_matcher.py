"""The matcher's index gives what a test of every trigger would give, and asks nothing of those that an event does not concern."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from siteward.core.contract.document import Document, Place, State, TriggerUse, WorkflowLimits
from siteward.core.contract.registry import Provenance
from siteward.core.engine.matcher import NOTHING, Index, Match, build_index, fits
from siteward.core.engine.plan import Plan, compile_plan
from siteward.core.events.event import Event
from siteward.core.plugins.event_triggers import VOCABULARY
from siteward.core.plugins.objects import Trigger
from siteward.steps.triggers import host_triggers

TRIGGERS: Mapping[str, Trigger] = {**VOCABULARY, **{trigger.name: trigger for trigger in host_triggers()}}
ROLES = {"gate": frozenset({"cam-1"}), "yard": frozenset({"cam-2", "cam-3"}), "unmapped": frozenset[str]()}


WHERE: tuple[Mapping[str, Any], ...] = ({}, {"name": "one"}, {"name": ("one", "two"), "seconds": 5}, {"seconds": True})


def cameras_of(role: str) -> frozenset[str]:
    return ROLES.get(role, frozenset())


def plan(name: str, *uses: tuple[str, dict[str, Any]]) -> Plan:
    """A workflow with these triggers and nothing else."""
    triggers = tuple(
        TriggerUse(skill, settings, ("when", "any", number, skill), Place(1, 1))
        for number, (skill, settings) in enumerate(uses)
    )
    document = Document(
        "",
        name,
        None,
        State.ON,
        {},
        WorkflowLimits(),
        triggers,
        conditions=(),
        then=(),
        always=(),
        places={},
        key_places={},
    )
    return compile_plan(name, 1, document)


def event(type: str, camera: str | None = "cam-1", **payload: Any) -> Event:
    return Event("e1", type, "test", Provenance.SENSOR, datetime(2026, 3, 2, tzinfo=UTC), camera, payload=payload)


def started(index: Index, event: Event) -> set[str]:
    return {match.plan.workflow_id for match in index.find(event).matches}


def scanned(plans: list[Plan], event: Event) -> set[str]:
    """By the whole test of every trigger of every workflow."""
    return {
        one.workflow_id
        for one in plans
        if any(fits(use, event, TRIGGERS, cameras_of, one.workflow_id) for use in one.document.triggers)
    }


def any_use(chance: random.Random) -> tuple[str, dict[str, Any]]:
    cameras: dict[str, Any] = chance.choice(
        ({}, {"cameras": "gate"}, {"cameras": ("gate", "yard")}, {"cameras": ("yard",)}, {"cameras": ("unmapped",)})
    )
    kind = chance.choice(("detect.vehicle_in_zone", "detect.person_in_zone", "doorbell", "event", "schedule", "button"))
    asks: dict[str, dict[str, Any]] = {
        "detect.vehicle_in_zone": {"zone": chance.choice(("apron", "lawn"))},
        "detect.person_in_zone": {"zone": "apron", "min_seconds": chance.choice((3, "10s"))},
        "event": {"type": chance.choice(("x.y.v1", "doorbell")), "where": chance.choice(WHERE)},
        "schedule": {"at": chance.choice(("07:00", "08:00"))},
        "button": {"name": chance.choice(("one", "two"))},
    }
    settings = asks.get(kind, {})
    return kind, settings if kind in ("schedule", "button") else settings | cameras


def any_event(chance: random.Random) -> Event:
    kind = chance.choice((*VOCABULARY, "x.y.v1", "button", "schedule", "nobody.v1"))
    camera = chance.choice(("cam-1", "cam-2", "cam-3", "cam-4", None))
    schedule = {"workflow": f"w{chance.randrange(30)}", "trigger": f"when.any.{chance.randrange(3)}.schedule"}
    told = {"zone": chance.choice(("apron", "lawn")), "seconds": chance.choice((1, 5, 20)), "name": "one"}
    return event(kind, None if kind == "schedule" else camera, **(schedule if kind == "schedule" else told))


@pytest.mark.parametrize("seed", range(5))
def test_the_index_finds_what_a_test_of_every_trigger_finds(seed: int) -> None:
    chance = random.Random(seed)
    plans = [plan(f"w{number}", *(any_use(chance) for _ in range(chance.randint(1, 3)))) for number in range(30)]
    index = build_index(plans, TRIGGERS, cameras_of)
    found = 0
    for _ in range(300):
        happened = any_event(chance)
        assert started(index, happened) == scanned(plans, happened), happened
        found += len(scanned(plans, happened))
    assert found > 100


def test_no_trigger_is_asked_about_an_event_of_another_camera_or_type() -> None:
    asked = []

    def noted(settings: Mapping[str, Any], event: Event) -> bool:
        asked.append(event)
        return True

    triggers = {"doorbell": dataclasses.replace(TRIGGERS["doorbell"], matches=noted)}
    index = build_index(
        [plan(f"w{number}", ("doorbell", {"cameras": "gate"})) for number in range(50)], triggers, cameras_of
    )

    assert index.find(event("doorbell", "cam-2")) is NOTHING
    assert index.find(event("doorbell", None)) is NOTHING
    assert index.find(event("nobody.v1")) is NOTHING
    assert asked == []
    assert len(index.find(event("doorbell", "cam-1")).matches) == 50


def test_a_due_schedule_is_found_among_many_without_asking_them() -> None:
    plans = [plan(f"w{number}", ("schedule", {"at": "07:00"})) for number in range(50)]
    index = build_index(plans, TRIGGERS, cameras_of)
    due = event("schedule", None, workflow="w7", trigger="when.any.0.schedule")

    assert started(index, due) == {"w7"}


def test_of_two_versions_with_a_schedule_of_one_name_each_is_found_at_its_own_time() -> None:
    on, beside = (
        dataclasses.replace(plan("w7", ("schedule", {"at": at})), version=version)
        for at, version in (("07:00", 1), ("08:00", 2))
    )
    index = build_index([on], TRIGGERS, cameras_of, [beside])
    for at, wanted in (
        ("07:00", Match(on, on.document.triggers[0])),
        ("08:00", Match(beside, beside.document.triggers[0], True)),
    ):
        due = event("schedule", None, workflow="w7", trigger="when.any.0.schedule", schedule={"at": at})
        assert index.find(due).matches == [wanted]


def test_two_versions_of_a_workflow_are_found_once_each() -> None:
    on, beside = (
        dataclasses.replace(plan("w7", ("doorbell", {}), ("button", {"name": "x"})), version=version)
        for version in (1, 2)
    )
    index = build_index([on], TRIGGERS, cameras_of, [beside])
    found = index.find(event("doorbell")).matches
    assert found == [Match(on, on.document.triggers[0]), Match(beside, beside.document.triggers[0], True)]


@pytest.mark.parametrize("workflow", [None, 7, ["w7"], {"w7": 1}])
def test_an_event_that_calls_itself_a_schedule_and_names_none_starts_nothing(workflow: object) -> None:
    index = build_index([plan("w7", ("schedule", {"at": "07:00"}))], TRIGGERS, cameras_of)

    assert index.find(event("schedule", None, workflow=workflow, trigger="when.any.0.schedule")) is NOTHING


def test_of_several_triggers_of_a_workflow_the_first_that_fits_is_named() -> None:
    two = plan("w", ("detect.vehicle_in_zone", {"zone": "lawn"}), ("detect.vehicle_in_zone", {"zone": "apron"}))
    index = build_index([two], TRIGGERS, cameras_of)

    (match,) = index.find(event("detect.vehicle_in_zone", zone="apron")).matches
    assert match == Match(two, two.document.triggers[1])


def test_the_first_in_the_file_is_named_whatever_other_workflows_ask() -> None:
    other = plan("other", ("detect.vehicle_in_zone", {"zone": "apron"}))
    two = plan("w", ("detect.vehicle_in_zone", {"min_seconds": 1}), ("detect.vehicle_in_zone", {"zone": "apron"}))
    index = build_index([other, two], TRIGGERS, cameras_of)

    matches = index.find(event("detect.vehicle_in_zone", zone="apron", seconds=5)).matches
    assert [(match.plan.name, match.use.path[2]) for match in matches] == [("other", 0), ("w", 0)]


def test_those_that_ask_the_same_are_asked_once() -> None:
    asked = []

    def noted(settings: Mapping[str, Any], event: Event) -> bool:
        asked.append(settings)
        return True

    triggers = {"doorbell": dataclasses.replace(TRIGGERS["doorbell"], matches=noted)}
    index = build_index(
        [plan(f"w{number}", ("doorbell", {"n": number % 2})) for number in range(50)], triggers, cameras_of
    )

    assert len(index.find(event("doorbell")).matches) == 50
    assert asked == [{"n": 0}, {"n": 1}]


def test_true_one_and_a_text_of_it_ask_different_things() -> None:
    plans = [
        plan(str(number), ("event", {"type": "x", "where": {"n": wanted}}))
        for number, wanted in enumerate((1, True, "1"))
    ]
    index = build_index(plans, TRIGGERS, cameras_of)

    assert [started(index, event("x", n=said)) for said in (1, True, "1")] == [{"0"}, {"1"}, {"2"}]


def test_a_trigger_that_breaks_is_told_and_holds_up_no_other() -> None:
    def breaks(settings: Mapping[str, Any], event: Event) -> bool:
        raise RuntimeError("no such thing")

    triggers = {**TRIGGERS, "doorbell": dataclasses.replace(TRIGGERS["doorbell"], matches=breaks)}
    broken = plan("broken", ("doorbell", {"cameras": "gate"}))
    sound = plan("sound", ("event", {"type": "doorbell"}))
    found = build_index([broken, sound], triggers, cameras_of).find(event("doorbell"))

    assert [match.plan.name for match in found.matches] == ["sound"]
    ((match, error),) = found.broken
    assert match.plan.name == "broken" and "RuntimeError" in error.sentence
