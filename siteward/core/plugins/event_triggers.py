"""Triggers that are events of one type with a residual test: the shape of nearly all of them, and the vocabulary's own.

The names are those of the vocabulary (`detect.vehicle_in_zone`, `doorbell`, `gate.changed`); an integration that sees such things provides
the skill with the object from here, so that a file means the same whoever provides it. Cameras are not tested: the matcher knows
the site's roles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from functools import partial
from typing import Any, Final, TypeAlias

from siteward.core.contract.durations import parse_duration
from siteward.core.events.event import Event
from siteward.core.events.payload import same

from .objects import Trigger

Test: TypeAlias = Callable[[Mapping[str, Any], Event], bool]
Bound: TypeAlias = Callable[[Event], bool]


@dataclass(frozen=True, slots=True)
class SettingsTest:
    """A test that reads its settings once, where they are known before the events are: thousands of workflows are asked about each event. `of`
    makes the test for settings; None where they ask nothing. It never looks at `cameras`, which the matcher knows."""

    of: Callable[[Mapping[str, Any]], Bound | None]

    def __call__(self, settings: Mapping[str, Any], event: Event) -> bool:
        bound = self.of(settings)
        return bound is None or bound(event)


def bind(test: Test, settings: Mapping[str, Any]) -> Bound | None:
    """A test for settings that stay; None where they ask nothing of an event. Settings that cannot be read fail with each event."""
    if isinstance(test, SettingsTest):
        with suppress(TypeError, ValueError):
            return test.of(settings)
    return partial(test, settings)


def all_of(tests: tuple[Bound, ...]) -> Bound | None:
    """One test that holds where all do."""
    if len(tests) < 2:
        return tests[0] if tests else None
    if len(tests) == 2:
        one, other = tests
        return lambda event: one(event) and other(event)
    return lambda event: all(test(event) for test in tests)


def is_text(field: str, wanted: str) -> Bound:
    """Whether a field of the payload is this text, which nearly all tests ask."""
    return lambda event: bool(event.payload.get(field) == wanted)


def common_values(event: Event) -> dict[str, Any]:
    """What every trigger gives: `time` (UTC here; a run shows it in the site's zone), `event_id`, and `camera` where there is one."""
    values: dict[str, Any] = {"time": event.at.astimezone(UTC).isoformat(timespec="seconds"), "event_id": event.id}
    if event.camera is not None:
        values["camera"] = event.camera
    return values


def event_trigger(name: str, gives: tuple[str, ...] = (), *tests: Test) -> Trigger:
    """A trigger for events of the type that it is named after. It gives the payload's fields named in `gives`; what a payload lacks is
    not given. All `tests` of settings against event must hold."""

    def values(event: Event) -> Mapping[str, Any]:
        payload = {field: event.payload[field] for field in gives if event.payload.get(field) is not None}
        return payload | common_values(event)

    def of(settings: Mapping[str, Any]) -> Bound | None:
        bound = (bind(test, settings) for test in tests)
        return all_of(tuple(test for test in bound if test is not None))

    return Trigger(name, event_types=lambda settings: (name,), matches=SettingsTest(of), values=values)


def equals(setting: str) -> Test:
    """The payload's field of the setting's name is what the setting says; a setting that was left out asks nothing."""

    def of(settings: Mapping[str, Any]) -> Bound | None:
        wanted = settings.get(setting)
        if wanted is None:
            return None
        if isinstance(wanted, str):
            return is_text(setting, wanted)
        return lambda event: same(wanted, event.payload.get(setting))

    return SettingsTest(of)


def lasted(setting: str) -> Test:
    """The payload's `seconds` are at least the setting, a number of seconds or a duration. A source says again how long it lasts."""

    def of(settings: Mapping[str, Any]) -> Bound | None:
        wanted = settings.get(setting)
        if wanted is None:
            return None
        least = parse_duration(wanted) if isinstance(wanted, str) else wanted

        def long_enough(event: Event) -> bool:
            seconds = event.payload.get("seconds")
            if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
                return False
            return bool(seconds >= least)

        return long_enough

    return SettingsTest(of)


_PRESENCE: Final = ("zone", "seconds", "track", "label")

VOCABULARY: Final[Mapping[str, Trigger]] = {
    trigger.name: trigger
    for trigger in (
        event_trigger("detect.person_in_zone", _PRESENCE, equals("zone"), lasted("min_seconds")),
        event_trigger("detect.vehicle_in_zone", _PRESENCE, equals("zone"), lasted("min_seconds")),
        event_trigger(
            "detect.line_crossed", ("line", "direction", "track", "label"), equals("line"), equals("direction")
        ),
        event_trigger("detect.zone_empty", _PRESENCE, equals("zone"), lasted("for")),
        event_trigger("camera.offline", ("since",), lasted("for")),
        event_trigger("camera.online", ("since",)),
        event_trigger("doorbell"),
        event_trigger("gate.changed", ("gate", "to"), equals("gate"), equals("to")),
    )
}
"""The triggers of the vocabulary that an integration provides as skills, by name."""
