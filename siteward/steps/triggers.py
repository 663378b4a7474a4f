"""The host's own triggers: a raised alert, a contracted event, a schedule, a button, a message."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from siteward.core.engine.effects import SEVERITIES
from siteward.core.engine.schedule import next_due
from siteward.core.events.event import Event
from siteward.core.events.payload import has, same
from siteward.core.plugins.event_triggers import (
    Bound,
    SettingsTest,
    all_of,
    common_values,
    equals,
    event_trigger,
    is_text,
)
from siteward.core.plugins.objects import Trigger

from .several import several

SCHEDULE: Final = "schedule"
"""The type of the event that a due schedule emits; its payload has the schedule's own settings under `schedule`."""


def _alert_type(settings: Mapping[str, Any], event: Event) -> bool:
    types = settings.get("types")
    return types is None or event.payload.get("type") in several(types)


def _alert_source(settings: Mapping[str, Any], event: Event) -> bool:
    """Who raised it: what the source calls itself, or the host knows it by. Its provenance is the event's, whatever it calls itself."""
    wanted = settings.get("source")
    return wanted is None or wanted in (event.payload.get("source"), event.source)


def _alert_severity(settings: Mapping[str, Any], event: Event) -> bool:
    least, severity = settings.get("min_severity"), event.payload.get("severity")
    if least is None:
        return True
    return severity in SEVERITIES and SEVERITIES.index(severity) >= SEVERITIES.index(least)


def _event_values(event: Event) -> Mapping[str, Any]:
    """All fields of the payload under their names; a payload cannot rename the camera, the time or the event."""
    return {name: value for name, value in event.payload.items() if value is not None} | common_values(event)


def _where(settings: Mapping[str, Any]) -> Bound | None:
    """The values of `where` in the payload. The type is what the matcher looks up by `event_types`."""
    where: Mapping[str, Any] = settings.get("where") or {}
    return all_of(
        tuple(
            is_text(name, wanted) if isinstance(wanted, str) else partial(has, name, wanted)
            for name, wanted in where.items()
        )
    )


def _schedule_matches(settings: Mapping[str, Any], event: Event) -> bool:
    """The due event of exactly this schedule. The same line may stand in two workflows, and each has its own due-time row."""
    return event.type == SCHEDULE and same(settings, event.payload.get("schedule"))


def host_triggers() -> tuple[Trigger, ...]:
    """Every trigger of the host, as its manifest declares them."""
    return (
        event_trigger(
            "alert",
            ("title", "severity", "type", "source", "description"),
            _alert_type,
            _alert_source,
            _alert_severity,
        ),
        Trigger(
            "event",
            event_types=lambda settings: (str(settings.get("type", "")),),
            matches=SettingsTest(_where),
            values=_event_values,
        ),
        Trigger(
            SCHEDULE,
            event_types=lambda settings: (SCHEDULE,),
            matches=_schedule_matches,
            values=common_values,
            next_due=next_due,
        ),
        event_trigger("button", ("name", "person"), equals("name")),
        event_trigger("message", ("text", "person")),
    )
