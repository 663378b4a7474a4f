"""`for_each`: its five forms, and how far an item can be trusted."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from siteward.core.contract.registry import Provenance
from siteward.core.engine.seam import Failed, Iterate, Labelled, Outcome
from siteward.steps import host_steps
from tests.steps.world import NOON, PLATE, Site, World, event, step, value

AI, LIST, LITERAL = Provenance.AI, Provenance.LIST, Provenance.LITERAL
VALUES = {
    "plate": PLATE,
    "look.plates": value(["B-AB 123", "C-X 1"], AI),
    "look.name": value("expected", AI),
    "zones": value(["a", "b"]),
    "nothing": value(None, AI),
}
SITE = Site(
    lists={"expected": ({"plate": "B-AB 123", "gate": "north"}, {"plate": "C-X 1", "gate": "south"})},
    past=(
        event(id="old", at=NOON - timedelta(hours=2)),
        event(id="new", at=NOON - timedelta(minutes=5)),
        event("message", id="said", at=NOON - timedelta(minutes=1), provenance=AI, payload={"text": "hi"}),
    ),
)


async def outcome(source: Any, **settings: Any) -> Outcome:
    each = step("for_each", {"in": source, "as": "item", **settings})
    return await host_steps()["for_each"].start(each, World(values=VALUES, site=SITE))


async def items(source: Any) -> Iterate:
    found = await outcome(source)
    assert isinstance(found, Iterate)
    return found


async def test_a_written_list_is_the_authors() -> None:
    found = await items(["main", "inner"])
    assert found.items == (Labelled("main", LITERAL), Labelled("inner", LITERAL))
    assert (found.name, found.ai, found.ai_read) == ("item", False, frozenset())


async def test_an_item_of_a_written_list_has_the_label_of_what_it_reads() -> None:
    found = await items(["{plate}", "main"])
    assert found.items[0].provenance is Provenance.SENSOR
    assert not found.items[0].authorises
    assert found.items[1].provenance is LITERAL


@pytest.mark.parametrize("source", ["role:yard", "group:yard"])
async def test_the_cameras_of_a_role(source: str) -> None:
    found = await items(source)
    assert [item.value for item in found.items] == ["cam-1", "cam-2"]
    assert found.items[0].provenance is LITERAL


async def test_the_rows_of_a_list_with_their_columns() -> None:
    found = await items("list:expected")
    assert [item.value["gate"] for item in found.items] == ["north", "south"]
    assert {item.provenance for item in found.items} == {LIST}


async def test_where_the_body_moves_a_row_needs_a_person_behind_it() -> None:
    each = step("for_each", {"in": "list:expected", "as": "item"})
    site = replace(SITE, unconfirmed=frozenset({"C-X 1"}))
    for moves, gates in (({}, ["north", "south"]), ({"do": ("gate.open {item.gate}",)}, ["north"])):
        found = await host_steps()["for_each"].start(each, World(values=VALUES, site=site, moves=moves))
        assert isinstance(found, Iterate)
        assert [item.value["gate"] for item in found.items] == gates


async def test_a_list_that_ai_chose_is_ais() -> None:
    found = await items("list:{look.name}")
    assert {item.provenance for item in found.items} == {AI}
    assert (found.ai, found.ai_read) == (False, frozenset({"look.name"}))


async def test_an_item_of_ais_list_is_ais() -> None:
    found = await items("{look.plates}")
    assert [item.value for item in found.items] == ["B-AB 123", "C-X 1"]
    assert {item.provenance for item in found.items} == {AI}
    assert (found.ai, found.ai_read) == (False, frozenset({"look.plates"}))


async def test_an_item_of_a_sensors_list_is_the_sensors() -> None:
    found = await items("{zones}")
    assert {item.provenance for item in found.items} == {Provenance.SENSOR}
    assert not found.ai


async def test_the_events_of_a_window() -> None:
    found = await items({"events": {"type": "plate.recognized.v1", "last": "1h"}})
    assert [item.value["event_id"] for item in found.items] == ["new"]
    assert found.items[0].value["plate"] == "B-AB 123"
    assert found.items[0].provenance is Provenance.SENSOR


async def test_events_that_an_ai_told_are_ais_also_where_there_are_none() -> None:
    assert {item.provenance for item in (await items({"events": {"type": "message", "last": "1h"}})).items} == {AI}
    none = await items({"events": {"type": "message", "last": "10s"}})
    assert (none.items, none.ai) == ((), True)


async def test_a_field_that_nobody_filled_goes_over_nothing() -> None:
    assert (await items("{nothing}")).items == ()


async def test_the_name_of_the_item_is_the_authors() -> None:
    found = await outcome(["a"], **{"as": "place"})
    assert isinstance(found, Iterate)
    assert found.name == "place"


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("{plate}", "for_each.not_a_list"),
        ("{nowhere}", "value.missing"),
        ("list:nobody_has", "role.unknown"),
        ("role:nobody_has", "role.unknown"),
    ],
)
async def test_what_cannot_be_gone_over_fails_the_step(source: str, code: str) -> None:
    found = await outcome(source)
    assert isinstance(found, Failed)
    assert found.code == code
