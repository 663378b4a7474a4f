"""When a schedule is due: times of day, rhythms and cron lines in the site's zone, and what to do about a missed one.

A fixed time fires once a day: a time that a DST change skips fires at the end of the gap, a time that happens twice fires at its first.
A rhythm counts elapsed time. A cron line with fixed hours behaves as a fixed time, one with wildcards as a rhythm (as Debian's
cron does, which cronsim follows).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from siteward.core.contract.cron import cron_can_fire
from siteward.core.contract.durations import DAYS, parse_duration, parse_time, say_duration
from siteward.core.errors import ConfigurationInvalid

from .seam import JSON

GRACE: Final = timedelta(hours=1)
"""A missed schedule still fires once within this time; after it, it is only said to be missed."""

CATCH_UP_LIMIT: Final = 100
"""With the policy `all`, at most so many of the newest missed times fire."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Missed(StrEnum):
    """What becomes of times that passed while nobody was there to fire them."""

    SKIP = "skip"
    ONCE = "once"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class CatchUp:
    """What is due now: the times to fire, oldest first, when to wake next (None: never again), and what to tell a person where
    something was missed for good."""

    fire: tuple[datetime, ...]
    next: datetime | None
    said: str | None = None


@lru_cache(maxsize=64)
def zone_named(name: str) -> ZoneInfo:
    """The IANA zone. Raises `ConfigurationInvalid`."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigurationInvalid(f'"{name}" is no time zone; write one like Europe/Berlin.', where="zone") from error


def zone_of(local: datetime) -> str:
    """The name of the zone that a local time of the site carries; UTC where it carries an offset alone."""
    return local.tzinfo.key if isinstance(local.tzinfo, ZoneInfo) else "UTC"


def next_due(settings: Mapping[str, JSON], after: datetime, zone: str) -> datetime | None:
    """The first time after `after` (aware) at which the schedule is due, in UTC; None where it never is.

    Raises `ConfigurationInvalid` for a schedule that no validator has seen.
    """
    after = after.astimezone(UTC)
    try:
        if (every := settings.get("every")) is not None:
            return _next_every(parse_duration(str(every)), after)
        if (cron := settings.get("cron")) is not None:
            return _next_cron(str(cron), after, zone_named(zone))
        return _next_at(parse_time(str(settings.get("at"))), settings.get("days"), after, zone_named(zone))
    except ValueError as error:
        raise ConfigurationInvalid(f"This schedule cannot be read: {error}.", where="schedule") from error


def _next_every(seconds: int, after: datetime) -> datetime:
    """Rhythms stand still in UTC (a 15m one fires on the quarter hour), so a restart neither shifts nor repeats them."""
    if seconds < 1:
        raise ValueError("a rhythm is at least 1s")
    rounds = (after - _EPOCH) // timedelta(seconds=seconds) + 1
    return _EPOCH + timedelta(seconds=rounds * seconds)


def _next_cron(expression: str, after: datetime, zone: ZoneInfo) -> datetime | None:
    if not cron_can_fire(expression):
        return None
    try:
        found = next(CronSim(expression, after.astimezone(zone)), None)
    except CronSimError as error:
        raise ValueError(f'"{expression}" is no cron line ({error})') from error
    return None if found is None else found.astimezone(UTC)


def _next_at(at: time, days: JSON, after: datetime, zone: ZoneInfo) -> datetime | None:
    wanted = frozenset(DAYS.index(day) for day in ([days] if isinstance(days, str) else days or DAYS))
    today = after.astimezone(zone).date()
    # A week and a day cover every weekday, also where today's time has passed; a day more for a gap at midnight.
    for ahead in range(-1, 9):
        day = today + timedelta(days=ahead)
        if day.weekday() in wanted and (due := local_to_utc(day, at, zone)) > after:
            return due
    return None


def local_to_utc(day: date, at: time, zone: ZoneInfo) -> datetime:
    """The moment at which the wall clock shows `at`: the first where it does twice, the end of the gap where it never does."""
    local = datetime.combine(day, at, tzinfo=zone)
    moment = local.astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) == local.replace(tzinfo=None):
        return moment
    # In a gap. With the offset of after it, the moment lies before the change; with the offset of before, after it.
    low, high = local.replace(fold=1).astimezone(UTC), moment
    new_offset = high.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) // 2
        if middle.astimezone(zone).utcoffset() == new_offset:
            high = middle
        else:
            low = middle
    return high.replace(microsecond=0)


def catch_up(
    settings: Mapping[str, JSON],
    due: datetime,
    now: datetime,
    zone: str,
    *,
    policy: Missed = Missed.ONCE,
    grace: timedelta = GRACE,
) -> CatchUp:
    """What a due-time row of a schedule means at `now`, `due` being the time that the row carries.

    On time, it fires. Late, the policy says: `skip` fires nothing that is late, `once` the newest missed time if it is younger than
    `grace`, `all` each one that is. A time before `now` is never fired twice: the next row is always after both.
    """
    if now < due:
        return CatchUp((), due)
    upcoming = next_due(settings, max(now, due), zone)
    passed = _passed(settings, due, now, zone, grace)
    late = now - due > ON_TIME
    if not late:
        return CatchUp(passed[-1:] or (due,), upcoming)
    if policy is Missed.SKIP:
        fire: tuple[datetime, ...] = tuple(one for one in passed if now - one <= ON_TIME)[-1:]
    elif policy is Missed.ONCE:
        fire = passed[-1:]
    else:
        fire = passed[-CATCH_UP_LIMIT:]
    return CatchUp(fire, upcoming, _say(due, now, fire, zone, grace, policy))


ON_TIME: Final = timedelta(seconds=60)
"""A busy or sleeping loop may be this late without anybody calling it missed."""


def _passed(
    settings: Mapping[str, JSON], due: datetime, now: datetime, zone: str, grace: timedelta
) -> tuple[datetime, ...]:
    """The due times from `due` to `now` that are younger than the grace, at most so many as may ever fire."""
    found = [due] if now - due <= grace else []
    last: datetime | None = max(due, now - grace)
    while last is not None and (last := next_due(settings, last, zone)) is not None and last <= now:
        found.append(last)
        if len(found) > CATCH_UP_LIMIT:
            found.pop(0)
    return tuple(found)


def _say(
    due: datetime, now: datetime, fire: tuple[datetime, ...], zone: str, grace: timedelta, policy: Missed
) -> str | None:
    if fire and fire[0] <= due:
        return None
    moment = f"{due.astimezone(zone_named(zone)):%Y-%m-%d %H:%M}"
    if policy is Missed.SKIP:
        return f"Missed {'since' if fire else 'at'} {moment}: this schedule skips what is late."
    if not fire:
        late, most = say_duration((now - due).total_seconds()), say_duration(grace.total_seconds())
        return f"Missed at {moment}: {late} late, more than the grace of {most}."
    if policy is Missed.ALL and len(fire) > 1:
        return f"Missed since {moment}; fired for the newest {len(fire)} times only."
    return f"Missed since {moment}; fired for the newest time only."
