"""What each condition asks, and that no value of any type can make one fail."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siteward.core.contract.registry import Provenance
from siteward.core.engine.judging import ConditionFailed, Judgement, judge
from siteward.core.plugins.objects import Condition as HostCondition
from siteward.core.plugins.objects import ConditionView
from siteward.steps.conditions import COMPARISONS
from tests.steps.world import NOON, PLATE, Provided, Site, View, conditions, event, provided, value


async def asked(
    listed: list[dict[str, Any]], *, site: Site | None = None, at: datetime = NOON, **known: Any
) -> Judgement:
    values = {"plate": PLATE, **{name: value(one) for name, one in known.items()}}
    view = View(site or Site(), at, event())
    return await judge(conditions(*listed), values, view, provided())


async def holds(name: str, settings: Any, **over: Any) -> bool:
    return (await asked([{name: settings}], **over)).holds


@pytest.mark.parametrize(("utc_hour", "inside"), [(19, False), (20, True), (23, True), (3, True), (4, False)])
async def test_time_is_a_window_of_the_sites_night(utc_hour: int, inside: bool) -> None:
    at = datetime(2026, 6, 1, utc_hour, tzinfo=UTC)
    assert await holds("time", {"from": "22:00", "to": "06:00"}, at=at) is inside


async def test_days_are_the_sites_days() -> None:
    late_sunday_utc = datetime(2026, 5, 31, 23, tzinfo=UTC)
    assert await holds("days", ["mon"], at=late_sunday_utc)
    assert not await holds("days", ["sun"], at=late_sunday_utc)


async def test_site_mode_is_one_of_those() -> None:
    assert await holds("site_mode", ["armed_home", "armed_away"])
    assert not await holds("site_mode", ["disarmed"])


async def test_camera_asks_the_roles_of_the_triggers_camera() -> None:
    assert await holds("camera", ["gate"])
    assert await holds("camera", "gate")
    assert not await holds("camera", ["yard"])
    assert not await holds("camera", ["cam-gate"])


VALUES: list[tuple[str, Any, Any, bool]] = [
    ("is", "van", "van", True),
    ("is", "van", "Van", False),
    ("is", 3, 3.0, True),
    ("is", "3", 3, False),
    ("is", True, 1, False),
    ("is", True, True, True),
    ("is_not", "van", "car", True),
    ("is_not", "van", "van", False),
    ("one_of", "van", ["car", "van"], True),
    ("one_of", "van", ["car"], False),
    ("one_of", "van", "van", True),
    ("one_of", 1, [True], False),
    ("at_least", 3, 3, True),
    ("at_least", 2, 3, False),
    ("at_least", "3", 3, True),
    ("at_least", "many", 3, False),
    ("at_least", True, 0, False),
    ("at_least", [3], 3, False),
    ("at_least", "nan", 0, False),
    ("at_least", "inf", 0, False),
    ("at_most", 3, 3, True),
    ("at_most", 4, 3, False),
    ("at_most", "few", 3, False),
    ("at_most", {"a": 1}, 3, False),
    ("contains", "white van", "van", True),
    ("contains", "white van", 3, False),
    ("contains", ["a", "b"], "b", True),
    ("contains", ["a", "b"], "c", False),
    ("contains", 33, 3, False),
    ("contains", {"van": 1}, "van", False),
]


@pytest.mark.parametrize(("comparison", "of", "wanted", "expected"), VALUES)
async def test_values_compare_without_coercion(comparison: str, of: Any, wanted: Any, expected: bool) -> None:
    assert await holds("value", {"of": "{seen}", comparison: wanted}, seen=of) is expected


def test_every_comparison_of_the_manifest_is_there() -> None:
    declared = {field.name for field in provided().registry.conditions["value"].fields} - {"of"}
    assert set(COMPARISONS) == declared


async def test_both_sides_may_be_values() -> None:
    assert await holds("value", {"of": "{seen}", "is": "{wanted}"}, seen="x", wanted="x")


async def test_without_a_comparison_nothing_holds() -> None:
    assert not await holds("value", {"of": "{plate}"})


@pytest.mark.parametrize("comparison", [*COMPARISONS])
async def test_what_nobody_knows_never_holds(comparison: str) -> None:
    for name in ("company", "nowhere"):
        found = await asked([{"value": {"of": f"{{{name}}}", comparison: "x"}}], company=None)
        assert not found.holds
        assert f"{{{name}}} is not known" in found.said


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(JSON_VALUES, JSON_VALUES)
def test_no_pair_of_values_makes_a_comparison_fail(one: Any, other: Any) -> None:
    for compare in COMPARISONS.values():
        assert compare(one, other) in (True, False)


LISTS = Site(lists={"expected": ({"plate": "B-AB 123"}, {"plate": "3"}, {"plate": ""})})


async def test_a_list_holds_a_value() -> None:
    assert await holds("in_list", {"value": "{plate}", "list": "expected"}, site=LISTS)
    assert not await holds("in_list", {"value": "{seen}", "list": "expected"}, site=LISTS, seen="C-X 1")
    assert await holds("in_list", {"value": "{seen}", "list": "expected"}, site=LISTS, seen=3)


@pytest.mark.parametrize("seen", ["", "  ", None, True, ["B-AB 123"], {"plate": "B-AB 123"}])
async def test_what_is_no_entry_is_in_no_list(seen: Any) -> None:
    assert not await holds("in_list", {"value": "{seen}", "list": "expected"}, site=LISTS, seen=seen)


def past(*minutes_ago: int, **payload: Any) -> Site:
    return Site(
        past=tuple(event(id=f"e{one}", at=NOON - timedelta(minutes=one), payload=payload) for one in minutes_ago)
    )


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({}, True),
        ({"at_least": 2}, True),
        ({"at_least": 3}, False),
        ({"at_most": 2}, True),
        ({"at_most": 1}, False),
        ({"at_most": 0}, False),
    ],
)
async def test_count_says_how_often_something_happened(bounds: dict[str, int], expected: bool) -> None:
    window = {"type": "plate.recognized.v1", "last": "10m"}
    assert await holds("count", {"events": window, **bounds}, site=past(1, 5, 30)) is expected


async def test_count_says_that_something_did_not_happen() -> None:
    assert await holds("count", {"events": {"type": "doorbell", "last": "10m"}, "at_most": 0}, site=past(1))


async def test_count_takes_values_into_its_window() -> None:
    window = {"type": "plate.recognized.v1", "last": "10m", "where": {"plate": "{plate}"}}
    assert await holds("count", {"events": window, "at_least": 1}, site=past(1, plate="B-AB 123"))
    assert not await holds("count", {"events": window, "at_least": 1}, site=past(1, plate="C-X 1"))


async def test_a_window_over_an_unknown_value_never_holds() -> None:
    window = {"type": "plate.recognized.v1", "last": "10m", "where": {"plate": "{seen}"}}
    assert not await holds("count", {"events": window, "at_most": 0}, seen=None)


YES, NO = {"site_mode": ["armed_away"]}, {"site_mode": ["disarmed"]}


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ([YES, YES], True),
        ([YES, NO], False),
        ([{"any": [NO, YES]}], True),
        ([{"any": [NO, NO]}], False),
        ([{"not": [NO]}], True),
        ([{"not": [NO, YES]}], False),
        ([{"not": [{"any": [NO, NO]}]}], True),
        ([{"not": [{"not": [YES]}]}], True),
        ([{"any": [{"not": [YES]}, NO]}], False),
    ],
)
async def test_conditions_nest(listed: list[dict[str, Any]], expected: bool) -> None:
    assert (await asked(listed)).holds is expected


async def test_the_answer_says_which_condition_decided() -> None:
    found = await asked([YES, {"days": ["sat"]}, {"site_mode": ["disarmed"]}])
    assert (found.said, found.path) == ("days sat: no", ("if", 0, "days"))
    found = await asked([YES, {"value": {"of": "{plate}", "is": "B-AB 123"}}])
    assert found.said == "site_mode armed_away: yes; value of B-AB 123, is B-AB 123: yes"


async def test_under_not_the_unwanted_one_is_named() -> None:
    assert (await asked([{"not": [NO, YES]}])).said == "not wanted: site_mode armed_away: yes"


async def test_a_condition_that_nobody_provides_is_said() -> None:
    skills = provided()
    without = Provided(skills.registry, skills.triggers, {})
    with pytest.raises(ConditionFailed, match="Nobody provides"):
        await judge(conditions(YES), {}, View(Site(), NOON, event()), without)


async def test_a_condition_that_never_answers_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("siteward.core.engine.judging.CHECK_SECONDS", 0.0)

    async def never(settings: Any, view: ConditionView) -> bool:
        await asyncio.Event().wait()
        return True

    skills = provided()
    known = skills.registry.conditions
    theirs = replace(skills.registry, conditions={**known, "site_mode": replace(known["site_mode"], provider="theirs")})
    hanging = Provided(theirs, skills.triggers, {"site_mode": HostCondition("site_mode", never)})
    with pytest.raises(ConditionFailed, match="did not answer"):
        await judge(conditions(YES), {}, View(Site(), NOON, event()), hanging)


async def test_on_a_moving_lane_only_confirmed_rows_count() -> None:
    site = Site(lists={"expected": ({"plate": "B-AB 123"},)}, unconfirmed=frozenset({"B-AB 123"}))
    listed = conditions({"any": [{"not": [YES]}, {"in_list": {"value": "{plate}", "list": "expected"}}]})
    for confirmed_only, expected in ((False, True), (True, False)):
        view = View(site, NOON, event())
        found = await judge(listed, {"plate": PLATE}, view, provided(), confirmed_only=confirmed_only)
        assert found.holds is expected
        assert view.asked_lists == [("expected", "B-AB 123", confirmed_only)]


async def test_a_value_of_ai_can_be_asked() -> None:
    values = {"look.people": value(2, Provenance.AI)}
    found = await judge(
        conditions({"value": {"of": "{look.people}", "at_least": 1}}), values, View(Site(), NOON, event()), provided()
    )
    assert found.holds
