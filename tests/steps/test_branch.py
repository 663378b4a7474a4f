"""`if`: which lane it takes, and on what that lane may rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from siteward.core.contract.registry import ConditionSpec, Provenance
from siteward.core.engine.authority import AUTHORISING, RULE
from siteward.core.engine.seam import Done, Failed, Labelled
from siteward.core.errors import UnknownRole
from siteward.core.plugins.objects import Condition, ConditionView
from siteward.steps import host_steps
from tests.steps.world import NOON, PLATE, Provided, Site, World, conditions, provided, step, value

EXPECTED = Site(lists={"expected": ({"plate": "B-AB 123"},)})
IN_LIST = {"in_list": {"value": "{plate}", "list": "expected"}}
PLATE_IS = {"value": {"of": "{plate}", "is": "B-AB 123"}}
ARMED = {"site_mode": ["armed_away"]}


async def branch(*listed: dict[str, Any], world: World | None = None) -> Done:
    world = world or World(site=EXPECTED)
    found = await host_steps()["if"].start(step("if", conditions=conditions(*listed)), world)
    assert isinstance(found, Done)
    return found


async def test_all_conditions_must_hold() -> None:
    assert (await branch(ARMED, IN_LIST)).outcome == "true"
    assert (await branch(ARMED, {"days": ["sun"]})).outcome == "false"


async def test_the_result_says_which_condition_decided() -> None:
    found = await branch(ARMED, {"days": ["sun"]})
    assert found.result == {"holds": False, "decided": "days sun: no", "path": ["if", 0, "days"]}


@pytest.mark.parametrize(
    ("listed", "kind"),
    [
        ([IN_LIST], AUTHORISING),
        ([PLATE_IS], AUTHORISING),
        ([{"value": {"of": "{plate}", "one_of": ["B-AB 123", "C-X 1"]}}], AUTHORISING),
        ([ARMED, IN_LIST], AUTHORISING),
        ([{"any": [IN_LIST, PLATE_IS]}], AUTHORISING),
        ([{"any": [IN_LIST, ARMED]}], RULE),
        ([{"not": [{"value": {"of": "{plate}", "is": "C-X 1"}}]}], RULE),
        ([ARMED], RULE),
        ([{"camera": ["gate"]}], RULE),
        ([{"value": {"of": "{plate}", "contains": "AB"}}], RULE),
        ([{"value": {"of": "{plate}", "is_not": "C-X 1"}}], RULE),
        ([{"value": {"of": "B-AB 123", "is": "B-AB 123"}}], RULE),
        ([{"value": {"of": "{plate}", "is": "{plate}"}}], RULE),
        ([{"value": {"of": "{plate}", "is": "{look.plate}"}}], RULE),
        ([{"in_list": {"value": "{look.plate}", "list": "expected"}}], RULE),
    ],
)
async def test_only_an_identity_against_what_is_written_authorises(listed: list[dict[str, Any]], kind: str) -> None:
    values = {"plate": PLATE, "look.plate": value("B-AB 123", Provenance.AI)}
    found = await branch(*listed, world=World(site=EXPECTED, values=values))
    assert found.outcome == "true"
    assert found.authority is not None
    assert (found.authority.kind, found.authority.lane, found.authority.path) == (kind, "true", "then.0")


async def test_a_plate_that_an_ai_source_gave_authorises_nothing() -> None:
    world = World(site=EXPECTED, values={"plate": Labelled("B-AB 123", Provenance.AI, authorises=True)})
    found = await branch(IN_LIST, world=world)
    assert found.authority is not None and found.authority.kind == RULE
    assert found.ai_read == {"plate"}


async def test_the_authority_says_which_lists_it_read() -> None:
    found = await branch(IN_LIST)
    assert found.authority is not None
    assert found.authority.lists == (frozenset({"expected"}),)
    assert (found.authority.at, found.authority.boot) == (NOON, 1000.0)


@pytest.mark.parametrize("listed", [[{"not": [IN_LIST]}], [{"in_list": {"value": "{plate}", "list": "other"}}]])
async def test_not_to_be_on_a_list_is_a_plain_rule(listed: list[dict[str, Any]]) -> None:
    found = await branch(*listed)
    assert found.outcome == "false"
    assert found.authority is not None
    assert (found.authority.kind, found.authority.lane, found.authority.lists) == (RULE, "false", ())


async def test_on_a_moving_lane_a_row_needs_a_person_behind_it() -> None:
    site = replace(EXPECTED, unconfirmed=frozenset({"B-AB 123"}))
    assert (await branch(IN_LIST, world=World(site=site))).outcome == "true"
    moving = World(site=site, moves={"true": ("gate.open main_gate",)})
    assert (await branch(IN_LIST, world=moving)).outcome == "false"


async def test_a_rule_that_reads_ai_says_what_it_read() -> None:
    world = World(values={"look.people": value(2, Provenance.AI), "plate": PLATE})
    found = await branch({"any": [{"value": {"of": "{look.people}", "at_least": 1}}]}, world=world)
    assert (found.ai, found.ai_read) == (False, frozenset({"look.people"}))


async def test_a_count_of_ai_events_is_ais_word() -> None:
    found = await branch({"count": {"events": {"type": "message", "last": "10m"}, "at_most": 0}})
    assert found.outcome == "true"
    assert found.ai


async def test_a_count_of_sensor_events_is_not() -> None:
    found = await branch({"count": {"events": {"type": "doorbell", "last": "10m"}, "at_most": 0}})
    assert not found.ai


async def check_yes(settings: Any, view: ConditionView) -> bool:
    return True


async def check_broken(settings: Any, view: ConditionView) -> bool:
    raise UnknownRole("There is no list expected.")


def with_condition(condition: Condition, *, ai: bool = False) -> Provided:
    skills = provided()
    registry = replace(
        skills.registry,
        conditions={**skills.registry.conditions, condition.name: ConditionSpec(condition.name, "x", ai=ai)},
    )
    return Provided(registry, skills.triggers, {**skills.conditions, condition.name: condition})


async def test_a_condition_whose_answer_is_a_models_makes_its_lane_ais() -> None:
    world = World(skills=with_condition(Condition("mood.calm", check_yes), ai=True))
    found = await branch({"mood.calm": {}}, world=world)
    assert (found.outcome, found.ai) == ("true", True)


async def test_a_condition_that_cannot_be_asked_fails_the_step() -> None:
    world = World(skills=with_condition(Condition("in_list", check_broken)))
    found = await host_steps()["if"].start(step("if", conditions=conditions(IN_LIST)), world)
    assert isinstance(found, Failed)
    assert "There is no list expected." in found.sentence


async def test_an_unknown_value_takes_the_false_lane() -> None:
    found = await branch(IN_LIST, world=World(site=EXPECTED, values={"plate": Labelled(None, Provenance.SENSOR)}))
    assert found.outcome == "false"
    assert "{plate} is not known" in found.result["decided"]
