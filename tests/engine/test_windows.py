"""Parts of the day, and stretches of the past."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from siteward.core.contract.durations import parse_duration, parse_time, say_duration
from siteward.core.engine.windows import day_name, day_window, event_window
from siteward.core.events.payload import same
from tests.steps.world import NOON, event

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-06-01T{text}").replace(tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("2m", 120), ("1h30m", 5400), ("1d", 86400), ("0s", 0), ("1h5s", 3605)]
)
def test_durations_read_as_written(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "90", "2 m", "1.5h", "-5s", "30m1h", "5M", "٣s", "s", "1h30", "400d", "9" * 30 + "s"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_duration(text)


@pytest.mark.parametrize("seconds", [0, 1, 59, 60, 61, 3600, 3661, 86400])
def test_a_duration_reads_back(seconds: int) -> None:
    assert parse_duration(say_duration(seconds)) == seconds


@pytest.mark.parametrize("text", ["7:00", "24:00", "12:60", "12", "12:00:00", " 12:00", "१२:००"])
def test_what_is_no_time_of_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_time(text)


@pytest.mark.parametrize(
    ("now", "holds"),
    [
        ("21:59", False),
        ("22:00", True),
        ("23:59:59.999999", True),
        ("00:00", True),
        ("05:59:59", True),
        ("06:00", False),
    ],
)
def test_a_night_crosses_midnight(now: str, holds: bool) -> None:
    assert day_window({"from": "22:00", "to": "06:00"}).holds(at(now)) is holds


@pytest.mark.parametrize(("now", "holds"), [("07:59", False), ("08:00", True), ("16:59", True), ("17:00", False)])
def test_a_day_ends_before_its_end(now: str, holds: bool) -> None:
    assert day_window({"from": "08:00", "to": "17:00"}).holds(at(now)) is holds


def test_the_same_time_twice_is_the_whole_day() -> None:
    window = day_window({"from": "08:00", "to": "08:00"})
    assert all(window.holds(at(now)) for now in ("07:59", "08:00", "23:00"))


def test_a_window_looks_at_the_wall_in_the_doubled_hour() -> None:
    window = day_window({"from": "02:00", "to": "03:00"})
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC).astimezone(BERLIN)
    assert window.holds(first)
    assert window.holds(first + timedelta(0)) and window.holds(
        (first.astimezone(UTC) + timedelta(hours=1)).astimezone(BERLIN)
    )


def test_days_have_the_names_of_the_file() -> None:
    names = [day_name(at("12:00") + timedelta(days=ahead)) for ahead in range(7)]
    assert names == ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


def test_the_last_minutes_end_now() -> None:
    window = event_window({"type": "alert", "last": "10m"})
    assert window.starts(NOON, NOON - timedelta(hours=1)) == NOON - timedelta(minutes=10)


def test_since_the_trigger_begins_there() -> None:
    window = event_window({"type": "alert", "since": "trigger"})
    assert window.starts(NOON, NOON - timedelta(hours=1)) == NOON - timedelta(hours=1)


def test_a_window_reads_back() -> None:
    for settings in ({"type": "alert", "last": "10m", "where": {"a": 1}}, {"type": "alert", "since": "trigger"}):
        window = event_window(settings)
        assert event_window(window.as_json()) == window


def test_where_asks_every_field() -> None:
    window = event_window(
        {"type": "plate.recognized.v1", "last": "10m", "where": {"plate": "B-AB 123", "confidence": 0.9}}
    )
    assert window.holds(event())
    assert not window.holds(event(payload={"plate": "B-AB 123"}))
    assert not window.holds(event("alert"))


def test_a_list_in_where_is_any_of_it() -> None:
    window = event_window({"type": "plate.recognized.v1", "last": "10m", "where": {"plate": ("X", "B-AB 123")}})
    assert window.holds(event())


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (0, False, False),
        ("5", 5, False),
        (None, None, True),
        (None, "", False),
        ([1, "a"], (1, "a"), True),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ("\u00e9", "e\u0301", False),
    ],
)
def test_nothing_is_coerced_to_be_equal(left: object, right: object, equal: bool) -> None:
    assert same(left, right) is equal
