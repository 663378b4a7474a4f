"""The limits of a workflow: keys, cooldown, hourly caps, chains, and who is the same car."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta, timezone
from typing import Any

import pytest

from siteward.core.contract.document import Document, Lane, State, Step, WorkflowLimits
from siteward.core.contract.manifest_data import shipped_registry
from siteward.core.contract.registry import StepKindSpec
from siteward.core.engine.limits import (
    Limits,
    Presence,
    Refusal,
    Repeat,
    Scope,
    admit,
    against_waiting,
    ai_calls_left,
    cooldown_until,
    cooling,
    hour_of,
    limits_of,
    loop_guard,
    one_key,
    presence,
    run_chain,
)
from tests.steps.world import HERE, NOON, event, step

REGISTRY = shipped_registry()
LIMITS = Limits(cooldown=60, scope=Scope.CAMERA, per_hour=3, ai_per_hour=5)


def document(*steps: Step, always: tuple[Step, ...] = (), limits: WorkflowLimits | None = None) -> Document:
    return Document(
        text="",
        name="x",
        description=None,
        state=State.ON,
        needs={},
        limits=limits or WorkflowLimits(),
        triggers=(),
        conditions=(),
        then=steps,
        always=always,
        places={},
        key_places={},
    )


def test_without_ai_a_workflow_may_run_six_hundred_times_an_hour() -> None:
    assert limits_of(document(step("log")), REGISTRY) == Limits(60, Scope.CAMERA, 600, 60)


def test_with_ai_on_any_path_thirty_times() -> None:
    deep = replace(step("if"), lanes=(Lane("true", (replace(step("for_each"), body=(step("ai"),)),), (), HERE, True),))
    assert limits_of(document(deep), REGISTRY).per_hour == 30
    assert limits_of(document(step("log"), always=(step("ai"),)), REGISTRY).per_hour == 30


def test_a_step_kind_that_is_a_models_word_counts_as_ai() -> None:
    registry = replace(
        REGISTRY, step_kinds={**REGISTRY.step_kinds, "chat.ask": StepKindSpec("chat.ask", "chat", ai=True)}
    )
    assert limits_of(document(step("chat.ask")), registry).per_hour == 30


def test_the_file_sets_its_own_limits_zero_included() -> None:
    written = WorkflowLimits(cooldown=0, one_at_a_time="track", per_hour=7, ai_per_hour=0)
    assert limits_of(document(step("ai"), limits=written), REGISTRY) == Limits(0, Scope.TRACK, 7, 0)


def test_no_file_goes_above_the_caps_of_the_site() -> None:
    found = limits_of(document(step("log")), REGISTRY, {"per_hour": 100, "ai_per_hour": 10})
    assert (found.per_hour, found.ai_per_hour) == (100, 10)


@pytest.mark.parametrize(
    ("scope", "key"), [("camera", "camera:cam-gate"), ("plate", "plate:BAB123"), ("track", "track:cam-gate:41")]
)
def test_one_at_a_time_is_per_what_the_file_says(scope: str, key: str) -> None:
    assert one_key(Scope(scope), presence(event(payload={"plate": "b-ab 123", "track": 41}))) == key


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize(
    "payload", [{}, {"plate": None, "track": None}, {"plate": "", "track": True}, {"plate": " - "}]
)
def test_what_is_not_known_falls_back_to_the_camera(scope: Scope, payload: Mapping[str, Any]) -> None:
    assert one_key(scope, presence(event(payload=payload))) == "camera:cam-gate"


def test_without_a_camera_there_is_still_one_key() -> None:
    assert one_key(Scope.PLATE, presence(event("schedule", camera=None, payload={}))) == "camera:"


def test_a_track_of_another_camera_is_another_track() -> None:
    keys = {one_key(Scope.TRACK, Presence(camera, track="7")) for camera in ("a", "b")}
    assert len(keys) == 2


GATE = "cam-gate"


@pytest.mark.parametrize(
    ("waiting", "arriving", "means"),
    [
        (Presence(GATE), Presence(GATE), Repeat.SEEN_AGAIN),
        (Presence(GATE, "AB1"), Presence(GATE, "AB1"), Repeat.SEEN_AGAIN),
        (Presence(GATE, "AB1"), Presence(GATE, "CD2"), Repeat.SUPERSEDES),
        (Presence(GATE, "AB1"), Presence(GATE), Repeat.SEEN_AGAIN),
        (Presence(GATE), Presence(GATE, "AB1"), Repeat.SEEN_AGAIN),
        (Presence(GATE, None, "1"), Presence(GATE, None, "1"), Repeat.SEEN_AGAIN),
        (Presence(GATE, None, "1"), Presence(GATE, None, "2"), Repeat.SUPERSEDES),
        (Presence(GATE, "AB1", "1"), Presence(GATE, "AB1", "2"), Repeat.SEEN_AGAIN),
        (Presence(GATE, "AB1", "1"), Presence(GATE, "CD2", "1"), Repeat.SUPERSEDES),
        (Presence(GATE, "AB1", "1"), Presence(GATE, None, "2"), Repeat.SUPERSEDES),
        (Presence("cam-road", None, "1"), Presence(GATE, None, "2"), Repeat.SEEN_AGAIN),
    ],
)
def test_only_another_known_car_ends_a_waiting_run(waiting: Presence, arriving: Presence, means: Repeat) -> None:
    assert against_waiting(waiting, arriving) is means


def test_a_plate_with_another_dash_is_the_same_car() -> None:
    one, other = presence(event(payload={"plate": "B-AB 123"})), presence(event(payload={"plate": "bab123"}))
    assert against_waiting(one, other) is Repeat.SEEN_AGAIN


def test_a_workflow_ignores_what_it_caused_itself() -> None:
    assert loop_guard(event(caused_by="w1", chain=1), "w1") is Refusal.OWN
    assert loop_guard(event(caused_by="w1", chain=1), "w2") is None


@pytest.mark.parametrize(
    ("chain", "refused"), [(0, None), (1, None), (2, None), (3, Refusal.CHAIN), (9, Refusal.CHAIN)]
)
def test_a_chain_ends_at_the_third_workflow(chain: int, refused: Refusal | None) -> None:
    assert loop_guard(event(chain=chain), "w1") is refused


def test_three_workflows_in_a_row_run_and_a_fourth_does_not() -> None:
    depth, ran = 0, 0
    while loop_guard(event(chain=depth), f"w{ran}") is None:
        depth, ran = run_chain(event(chain=depth)), ran + 1
    assert ran == 3


def test_a_cooldown_holds_until_it_is_over() -> None:
    until = cooldown_until(LIMITS, NOON)
    assert cooling(LIMITS, until, NOON)
    assert cooling(LIMITS, until, NOON + timedelta(seconds=59))
    assert not cooling(LIMITS, until, NOON + timedelta(seconds=60))
    assert not cooling(LIMITS, None, NOON)


def test_a_clock_that_was_set_back_leaves_no_endless_cooldown() -> None:
    until = cooldown_until(LIMITS, NOON)
    assert not cooling(LIMITS, until, NOON - timedelta(hours=1))


def test_a_cooldown_of_zero_holds_nothing() -> None:
    none = replace(LIMITS, cooldown=0)
    assert not cooling(none, cooldown_until(none, NOON), NOON)


@pytest.mark.parametrize(("used", "refused"), [(0, None), (2, None), (3, Refusal.PER_HOUR), (4, Refusal.PER_HOUR)])
def test_the_hourly_cap_is_the_number_it_says(used: int, refused: Refusal | None) -> None:
    assert admit(LIMITS, now=NOON, cools_until=None, runs_this_hour=used) is refused


def test_a_cooldown_is_said_before_a_cap() -> None:
    until = cooldown_until(LIMITS, NOON)
    assert admit(LIMITS, now=NOON, cools_until=until, runs_this_hour=9) is Refusal.COOLDOWN


@pytest.mark.parametrize(("used", "left"), [(0, 5), (4, 1), (5, 0), (9, 0)])
def test_ai_calls_of_an_hour_run_out(used: int, left: int) -> None:
    assert ai_calls_left(LIMITS, used) == left


def test_an_hour_is_the_same_in_every_zone() -> None:
    assert hour_of(NOON) == hour_of(NOON.astimezone(timezone(timedelta(hours=5, minutes=45)))) == "2026-06-01T10"
