"""Windows: a part of the day in the site's zone, and a stretch of past events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from types import MappingProxyType
from typing import Final

from siteward.core.contract.durations import DAYS, parse_duration, parse_time
from siteward.core.events.event import Event
from siteward.core.events.payload import matches_where

from .seam import JSON

SINCE_TRIGGER: Final = "trigger"


@dataclass(frozen=True, slots=True)
class DayWindow:
    """From one time of day up to, and not with, another. Over midnight where the end is not after the start; the same time twice is
    the whole day. It looks at the clock on the wall, so a DST change makes the window an hour longer or shorter, as people expect."""

    start: time
    end: time

    def holds(self, local: datetime) -> bool:
        """Whether a local time of the site lies in the window."""
        now = local.time()
        if self.start < self.end:
            return self.start <= now < self.end
        return now >= self.start or now < self.end


def day_window(settings: Mapping[str, JSON]) -> DayWindow:
    """The window of a `time` condition (`from`, `to`). Raises `ValueError`."""
    return DayWindow(parse_time(str(settings["from"])), parse_time(str(settings["to"])))


def day_name(local: datetime) -> str:
    """`mon` to `sun`."""
    return DAYS[local.weekday()]


@dataclass(frozen=True, slots=True)
class EventWindow:
    """Past events of a type: of the `last` seconds, or since the run's trigger, whose payload has the values of `where`."""

    type: str | None
    last: float | None = None
    since_trigger: bool = False
    where: Mapping[str, JSON] = field(default_factory=lambda: MappingProxyType({}))

    def starts(self, now: datetime, trigger_at: datetime) -> datetime:
        """The earliest moment that the window holds; it ends now."""
        if self.since_trigger or self.last is None:
            return trigger_at
        return now - timedelta(seconds=self.last)

    def holds(self, event: Event) -> bool:
        """Whether an event of the right time is one of those that the window asks for."""
        return (self.type is None or event.type == self.type) and matches_where(self.where, event)

    def as_json(self) -> dict[str, JSON]:
        """What `ConditionView.count_events` and `SiteReads.events_in` take."""
        window: dict[str, JSON] = {"type": self.type, "where": dict(self.where)}
        if self.since_trigger or self.last is None:
            window["since"] = SINCE_TRIGGER
        else:
            window["last"] = self.last
        return window


def event_window(settings: Mapping[str, JSON]) -> EventWindow:
    """Reads `{type, last | since: trigger, where}` as the file has it, or as `as_json` wrote it; without either it begins at the
    trigger. Raises `ValueError`."""
    last = settings.get("last")
    where = settings.get("where") or {}
    seconds = float(parse_duration(last)) if isinstance(last, str) else last
    return EventWindow(
        type=settings.get("type"),
        last=seconds,
        since_trigger=settings.get("since") == SINCE_TRIGGER or seconds is None,
        where=MappingProxyType(dict(where)),
    )
