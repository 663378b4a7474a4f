"""When a schedule fires: the site's zone, both sides of a DST change, and a host that was not there in time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siteward.core.engine.schedule import CATCH_UP_LIMIT, GRACE, Missed, catch_up, local_to_utc, next_due, zone_of
from siteward.core.errors import ConfigurationInvalid

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def dues(settings: Mapping[str, Any], start: str, end: str, zone: str) -> list[str]:
    """Every due time of a stretch, as the clocks of the site show it."""
    found, at = [], utc(start)
    while (at_next := next_due(settings, at, zone)) is not None and at_next < utc(end):
        found.append(at_next.astimezone(ZoneInfo(zone)).strftime("%d %H:%M %z"))
        at = at_next
    return found


def test_a_time_of_day_is_the_sites_own() -> None:
    assert next_due({"at": "07:00"}, utc("2026-06-01T00:00"), BERLIN) == utc("2026-06-01T05:00")
    assert next_due({"at": "07:00"}, utc("2026-01-10T00:00"), BERLIN) == utc("2026-01-10T06:00")
    assert next_due({"at": "07:00"}, utc("2026-06-01T00:00"), NEW_YORK) == utc("2026-06-01T11:00")


def test_a_time_that_is_now_is_due_tomorrow() -> None:
    assert next_due({"at": "07:00"}, utc("2026-06-01T05:00"), BERLIN) == utc("2026-06-02T05:00")


def test_days_are_the_sites_days() -> None:
    # Sunday evening in UTC is Monday morning at Lord Howe.
    assert next_due({"at": "07:00", "days": ("mon",)}, utc("2026-05-31T12:00"), LORD_HOWE) == utc("2026-05-31T20:30")
    assert next_due({"at": "07:00", "days": ("sun",)}, utc("2026-06-01T12:00"), BERLIN) == utc("2026-06-07T05:00")


@pytest.mark.parametrize("schedule", [{"at": "02:30"}, {"cron": "30 2 * * *"}])
def test_a_time_that_spring_skips_fires_once_at_the_end_of_the_gap(schedule: Mapping[str, Any]) -> None:
    assert dues(schedule, "2026-03-28T12:00", "2026-03-30T12:00", BERLIN) == ["29 03:00 +0200", "30 02:30 +0200"]
    assert dues(schedule, "2026-03-07T12:00", "2026-03-09T12:00", NEW_YORK) == ["08 03:00 -0400", "09 02:30 -0400"]


def test_a_gap_of_half_an_hour_is_a_gap_too() -> None:
    # Lord Howe goes from 02:00 to 02:30.
    assert dues({"at": "02:15"}, "2026-10-02T16:00", "2026-10-04T16:00", LORD_HOWE) == [
        "04 02:30 +1100",
        "05 02:15 +1100",
    ]


@pytest.mark.parametrize("schedule", [{"at": "02:30"}, {"cron": "30 2 * * *"}])
def test_a_time_that_autumn_repeats_fires_at_its_first(schedule: Mapping[str, Any]) -> None:
    assert dues(schedule, "2026-10-24T12:00", "2026-10-26T12:00", BERLIN) == ["25 02:30 +0200", "26 02:30 +0100"]


def test_new_york_and_lord_howe_repeat_theirs_once() -> None:
    assert dues({"at": "01:30"}, "2026-10-31T12:00", "2026-11-02T12:00", NEW_YORK) == [
        "01 01:30 -0400",
        "02 01:30 -0500",
    ]
    assert dues({"at": "01:45"}, "2026-04-04T12:00", "2026-04-06T12:00", LORD_HOWE) == [
        "05 01:45 +1100",
        "06 01:45 +1030",
    ]


def test_a_fixed_cron_line_fires_once_a_day_at_lord_howe() -> None:
    for line, month, day in (("45 1 * * *", 4, 5), ("15 2 * * *", 10, 4), ("0 7 * * *", 10, 4)):
        start = datetime(2026, month, day, tzinfo=ZoneInfo(LORD_HOWE)).astimezone(UTC)
        found = dues(
            {"cron": line},
            start.strftime("%Y-%m-%dT%H:%M"),
            (start + timedelta(days=3)).strftime("%Y-%m-%dT%H:%M"),
            LORD_HOWE,
        )
        assert len(found) == 3


def test_every_minute_runs_sixty_times_more_in_the_doubled_hour() -> None:
    # The doubled hour of Berlin: 00:00 to 02:00 UTC is twice 02:00 to 03:00 on the wall.
    assert len(dues({"cron": "* * * * *"}, "2026-10-24T23:59", "2026-10-25T02:00", BERLIN)) == 120
    assert len(dues({"every": "1m"}, "2026-10-24T23:59", "2026-10-25T02:00", BERLIN)) == 120


def test_a_rhythm_counts_elapsed_time_over_a_gap() -> None:
    found = dues({"every": "15m"}, "2026-03-29T00:29", "2026-03-29T01:31", BERLIN)
    assert found == ["29 01:30 +0100", "29 01:45 +0100", "29 03:00 +0200", "29 03:15 +0200", "29 03:30 +0200"]


def test_a_rhythm_does_not_shift_with_a_restart() -> None:
    assert next_due({"every": "15m"}, utc("2026-06-01T10:07:13"), BERLIN) == utc("2026-06-01T10:15")
    assert next_due({"every": "15m"}, utc("2026-06-01T10:14:59"), BERLIN) == utc("2026-06-01T10:15")


def test_a_date_that_never_comes_is_never_due() -> None:
    assert next_due({"cron": "0 7 30 2 *"}, utc("2026-06-01T00:00"), BERLIN) is None


@pytest.mark.parametrize(
    "settings", [{"at": "7 am"}, {"at": "24:00"}, {"cron": "every day"}, {"every": "0s"}, {"every": "soon"}, {}]
)
def test_what_is_no_schedule_is_said(settings: Mapping[str, Any]) -> None:
    with pytest.raises(ConfigurationInvalid):
        next_due(settings, utc("2026-06-01T00:00"), BERLIN)


def test_what_is_no_zone_is_said() -> None:
    for zone in ("Mars/Olympus", "../etc/passwd", ""):
        with pytest.raises(ConfigurationInvalid, match="no time zone"):
            next_due({"at": "07:00"}, utc("2026-06-01T00:00"), zone)


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)),
    st.times(),
    st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, "Asia/Kathmandu", "Africa/Casablanca", "America/Sao_Paulo"]),
)
def test_every_day_has_the_time_exactly_once(after: datetime, at: time, zone: str) -> None:
    settings = {"at": at.strftime("%H:%M")}
    first = next_due(settings, after.replace(tzinfo=UTC), zone)
    assert first is not None
    second = next_due(settings, first, zone)
    assert second is not None
    days = [due.astimezone(ZoneInfo(zone)).date() for due in (first, second)]
    assert days[1] - days[0] == timedelta(days=1)
    assert first > after.replace(tzinfo=UTC)


def test_the_end_of_a_gap_is_exact() -> None:
    assert local_to_utc(date(2026, 3, 29), time(2, 0), ZoneInfo(BERLIN)) == utc("2026-03-29T01:00")
    assert local_to_utc(date(2026, 3, 29), time(2, 59), ZoneInfo(BERLIN)) == utc("2026-03-29T01:00")
    assert local_to_utc(date(2026, 3, 29), time(3, 0), ZoneInfo(BERLIN)) == utc("2026-03-29T01:00")


DUE = utc("2026-06-01T05:00")
SEVEN = {"at": "07:00"}


def test_on_time_it_fires_and_says_nothing() -> None:
    found = catch_up(SEVEN, DUE, DUE + timedelta(seconds=2), BERLIN)
    assert (found.fire, found.next, found.said) == ((DUE,), DUE + timedelta(days=1), None)


def test_before_its_time_it_waits() -> None:
    # The wall clock was set back after the row was written.
    found = catch_up(SEVEN, DUE, DUE - timedelta(hours=1), BERLIN)
    assert (found.fire, found.next) == ((), DUE)


def test_missed_within_the_grace_it_fires_once() -> None:
    found = catch_up(SEVEN, DUE, DUE + timedelta(minutes=59), BERLIN)
    assert found.fire == (DUE,)


def test_missed_beyond_the_grace_it_is_said_and_does_not_fire() -> None:
    found = catch_up(SEVEN, DUE, DUE + GRACE + timedelta(minutes=1), BERLIN)
    assert found.fire == ()
    assert found.next == DUE + timedelta(days=1)
    assert found.said is not None and "Missed at 2026-06-01 07:00" in found.said


def test_many_missed_times_fire_once_for_the_newest() -> None:
    found = catch_up({"every": "15m"}, DUE, DUE + timedelta(hours=3, minutes=1), BERLIN)
    assert found.fire == (DUE + timedelta(hours=3),)
    assert found.next == DUE + timedelta(hours=3, minutes=15)
    assert found.said is not None and "newest" in found.said


def test_the_policy_skip_fires_nothing_late() -> None:
    found = catch_up({"every": "15m"}, DUE, DUE + timedelta(minutes=40), BERLIN, policy=Missed.SKIP)
    assert found.fire == ()
    assert found.next == DUE + timedelta(minutes=45)
    assert found.said == "Missed at 2026-06-01 07:00: this schedule skips what is late."


def test_the_policy_all_fires_each_within_the_grace() -> None:
    found = catch_up({"every": "15m"}, DUE, DUE + timedelta(minutes=40), BERLIN, policy=Missed.ALL)
    assert found.fire == (DUE, DUE + timedelta(minutes=15), DUE + timedelta(minutes=30))


def test_the_policy_all_is_bounded() -> None:
    found = catch_up({"every": "1s"}, DUE, DUE + timedelta(minutes=50), BERLIN, policy=Missed.ALL)
    assert len(found.fire) == CATCH_UP_LIMIT
    assert found.said == "Missed since 2026-06-01 07:00; fired for the newest 100 times only."


def test_a_clock_that_jumped_two_years_does_not_fire_two_years() -> None:
    found = catch_up({"every": "1s"}, DUE, DUE + timedelta(days=730), BERLIN)
    assert len(found.fire) == 1
    assert found.next == DUE + timedelta(days=730, seconds=1)


@given(
    st.integers(0, 5 * 86400),
    st.sampled_from(list(Missed)),
    st.sampled_from([SEVEN, {"every": "7m"}, {"cron": "*/10 * * * *"}]),
)
def test_no_time_is_fired_twice(late: int, policy: Missed, settings: Mapping[str, Any]) -> None:
    due = next_due(settings, DUE - timedelta(seconds=1), BERLIN)
    assert due is not None
    now = due + timedelta(seconds=late)
    found = catch_up(settings, due, now, BERLIN, policy=policy)
    assert list(found.fire) == sorted(set(found.fire))
    assert all(due <= one <= now for one in found.fire)
    assert found.next is not None and found.next > now


def test_the_zone_of_a_local_time_has_its_name() -> None:
    assert zone_of(DUE.astimezone(ZoneInfo(BERLIN))) == BERLIN
    assert zone_of(DUE) == "UTC"
