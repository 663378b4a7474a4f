"""Nearest names, look-alikes included, and cron lines."""

from __future__ import annotations

import pytest

from siteward.core.contract.cron import cron_can_fire, parse_cron
from siteward.core.contract.nearest import edit_distance, nearest

KNOWN = (
    "gate.open",
    "gate.close",
    "alert",
    "notify",
    "log",
    "wait",
    "wait_for",
    "for_each",
    "ask_person",
    "state",
    "cooldown",
)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("gate.opne", "gate.open"), ("gate_open", "gate.open"), ("Gate.Open", "gate.open"), ("gate.оpen", "gate.open"),
        ("stаte", "state"), ("аlеrt", "alert"), ("ａｌｅｒｔ", "alert"), ("al\u200bert", "alert"), ("alért", "alert"),
        ("waitfor", "wait_for"), ("foreach", "for_each"), ("cool-down", "cooldown"), ("nofity", "notify"), ("lgo", "log"),
        ("fountain", None), ("", None), ("x" * 500, None), ("xyz", None),
    ],
)  # fmt: skip
def test_the_nearest_name_is_what_a_person_meant(written: str, meant: str | None) -> None:
    assert nearest(written, KNOWN) == meant


def test_a_swap_of_neighbours_is_one_mistake_and_the_limit_is_kept() -> None:
    assert edit_distance("nofity", "notify", 2) == 2
    assert edit_distance("lgo", "log", 1) == 1
    assert edit_distance("abcdef", "uvwxyz", 3) is None


@pytest.mark.parametrize(
    "line",
    [
        "0 7 * * 1-5",
        "*/15 * * * *",
        "0 0 1 jan mon",
        "5,10 0-6/2 * * 7",
        "59 23 31 12 0",
        "0 7 * * MON-FRI",
        "1/20 * * * *",
    ],
)
def test_cron_lines_are_read(line: str) -> None:
    assert len(parse_cron(line)) == 5
    assert cron_can_fire(line)


@pytest.mark.parametrize(
    "line", ["", "0 7 * *", "0 7 * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "a * * * *",
             "*/0 * * * *", "5-1 * * * *", "1,,2 * * * *", "@daily", "٣ * * * *", "* * * * mon-", "*/99 * * * *", "1" * 300]
)  # fmt: skip
def test_what_is_no_cron_line_is_refused_in_a_sentence(line: str) -> None:
    with pytest.raises(ValueError, match="field"):
        parse_cron(line)


def test_sunday_has_two_numbers() -> None:
    assert parse_cron("0 0 * * 7")[4] == parse_cron("0 0 * * sun")[4] == {0}


@pytest.mark.parametrize(("line", "fires"), [("0 0 30 2 *", False), ("0 0 31 4,6 *", False), ("0 0 29 2 *", True),
                                             ("0 0 31 4,5 *", True), ("0 0 30 2 1", True)])  # fmt: skip
def test_a_date_that_no_calendar_has_never_fires(line: str, fires: bool) -> None:
    assert cron_can_fire(line) is fires
