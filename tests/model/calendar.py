"""When things should happen by the calendar on the wall: found by looking at the clock of a zone, not by the engine's way."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def at_times(zone: ZoneInfo, at: time, days: tuple[str, ...], begin: datetime, end: datetime) -> list[datetime]:
    """Each moment in (begin, end] at which the clock on the wall first shows `at` on one of `days`; where a change skips it, the end of the gap."""
    found = []
    day = begin.astimezone(zone).date() - timedelta(days=1)
    while day <= end.astimezone(zone).date():
        if DAYS[day.weekday()] in days and begin < (moment := _shows(zone, day, at)) <= end:
            found.append(moment)
        day += timedelta(days=1)
    return found


def rhythm(seconds: int, begin: datetime, end: datetime) -> list[datetime]:
    """Each moment in (begin, end] that is a whole number of `seconds` after 1970."""
    first = int(begin.timestamp()) // seconds + 1
    last = int(end.timestamp()) // seconds
    return [datetime.fromtimestamp(number * seconds, UTC) for number in range(first, last + 1)]


def changes(zone: ZoneInfo, begin: datetime, end: datetime) -> int:
    """How often the clocks are changed."""
    days = [begin + timedelta(days=number) for number in range((end - begin).days + 1)]
    offsets = [day.astimezone(zone).utcoffset() for day in days]
    return sum(1 for before, after in pairwise(offsets) if before != after)


def _shows(zone: ZoneInfo, day: date, at: time) -> datetime:
    wanted = datetime.combine(day, at)
    for moment in _candidates(zone, wanted):
        if moment.astimezone(zone).replace(tzinfo=None) == wanted:
            return moment
    # Minute by minute over the hours around it: the first that is later on the wall.
    moment = wanted.replace(tzinfo=UTC) - timedelta(hours=15)
    while moment.astimezone(zone).replace(tzinfo=None) < wanted:
        moment += MINUTE
    return moment


def _candidates(zone: ZoneInfo, wanted: datetime) -> Iterator[datetime]:
    """The moments that it could be, by every offset of that day; the earlier first."""
    naive = wanted.replace(tzinfo=UTC)
    offsets = {(naive + timedelta(hours=hours)).astimezone(zone).utcoffset() for hours in range(-15, 16)}
    yield from sorted(naive - offset for offset in offsets if offset is not None)
