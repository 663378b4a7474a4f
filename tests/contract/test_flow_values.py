"""What triggers, steps and settings give, label by label: each is no better than the worst that had a part in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from siteward.core.contract.document import EMPTY, Place, Step, TriggerUse, Value
from siteward.core.contract.flow_labels import LOST, KnownNames, Label
from siteward.core.contract.flow_moves import moves_things, recipient_fields, target_key
from siteward.core.contract.flow_state import Point
from siteward.core.contract.flow_values import (
    alert_source,
    call_gives,
    item_label,
    step_kind_gives,
    trigger_gives,
    triggers_give,
)
from siteward.core.contract.registry import Field, FieldType, Given, Provenance, SiteView, TriggerSpec
from tests.contract.corpus_files import REGISTRY

HERE = Place(1, 1)
PLATE = TriggerUse("event", {"type": "plate.recognized.v1"}, (), HERE)
VEHICLE = TriggerUse("detect.vehicle_in_zone", {"zone": "barrier"}, (), HERE)
CHAT = TriggerUse("message", EMPTY, (), HERE)
POINT = Point(KnownNames({"plate": Label(Provenance.SENSOR, authorises=True), "said": LOST}))
SERVICE = REGISTRY.actions["home_assistant"]


def entity(*names: str, provenance: Provenance = Provenance.AI) -> TriggerSpec:
    fields = tuple(Field(name, FieldType.ROLE, role="entity") for name in names)
    return TriggerSpec("home.state", "home", provenance, fields, gives=(Given("state", "text", Provenance.AI),))


def test_of_several_triggers_a_name_that_one_does_not_give_is_ai_s() -> None:
    _, names = triggers_give((PLATE, VEHICLE), REGISTRY, None)
    assert names["plate"].provenance is Provenance.AI
    assert names["zone"].provenance is Provenance.AI


def test_of_several_triggers_every_name_is_as_trusted_as_the_least_trusted_trigger() -> None:
    provenance, names = triggers_give((PLATE, CHAT), REGISTRY, None)
    assert provenance is Provenance.AI
    assert {label.provenance for label in names.values()} == {Provenance.AI}
    assert not any(label.authorises for label in names.values())


def test_an_identity_that_ai_gives_is_none() -> None:
    spec = replace(REGISTRY.events["plate.recognized.v1"], provenance=Provenance.AI)
    registry = replace(REGISTRY, events={**REGISTRY.events, "plate.recognized.v1": spec})
    provenance, names = trigger_gives(PLATE, registry, None)
    assert provenance is Provenance.AI
    assert names["plate"] == LOST


def test_an_event_of_a_type_that_nobody_contracted_is_ai_s() -> None:
    provenance, names = trigger_gives(TriggerUse("event", {"type": "nobody.knows.v1"}, (), HERE), REGISTRY, None)
    assert provenance is Provenance.AI
    assert {label.provenance for label in names.values()} == {Provenance.AI}


def test_an_alert_of_several_sources_is_as_trusted_as_the_least_trusted() -> None:
    assert alert_source("detector", REGISTRY) is Provenance.SENSOR
    assert alert_source(("detector", "app:somebody"), REGISTRY) is Provenance.AI
    assert alert_source((), REGISTRY) is Provenance.AI


def test_each_entity_of_a_trigger_must_be_marked_as_a_sensor() -> None:
    registry = replace(REGISTRY, triggers={**REGISTRY.triggers, "home.state": entity("door", "window")})
    use = TriggerUse("home.state", {"door": "front", "window": "kitchen"}, (), HERE)
    site = SiteView(roles={}, visible_cameras=frozenset())
    for marked, expected in (
        ({"front"}, Provenance.AI),
        ({"kitchen"}, Provenance.AI),
        ({"front", "kitchen"}, Provenance.SENSOR),
    ):
        assert trigger_gives(use, registry, replace(site, sensor_entities=frozenset(marked)))[0] is expected


def test_a_marked_entity_makes_an_app_no_sensor() -> None:
    registry = replace(
        REGISTRY, triggers={**REGISTRY.triggers, "home.state": entity("door", provenance=Provenance.APP)}
    )
    site = SiteView(roles={}, visible_cameras=frozenset(), sensor_entities=frozenset({"front"}))
    provenance, names = trigger_gives(TriggerUse("home.state", {"door": "front"}, (), HERE), registry, site)
    assert provenance is Provenance.APP
    assert names["state"].provenance is Provenance.APP


def test_a_value_is_pinned_by_a_text_and_by_nothing_else() -> None:
    assert trigger_gives(VEHICLE, REGISTRY, None)[1]["zone"].texts == ("barrier",)
    for zones in (("barrier", "yard"), None):
        assert trigger_gives(replace(VEHICLE, settings={"zone": zones}), REGISTRY, None)[1]["zone"].texts is None


def test_a_step_that_nobody_knows_is_ai_s() -> None:
    assert step_kind_gives(Step("nobody.knows", EMPTY, (), HERE, "then.0"), POINT, REGISTRY) == (True, {})


def test_the_row_of_a_callee_whom_ai_looked_up_is_ai_s() -> None:
    step = Step("call", EMPTY, (), HERE, "then.0", id="call")
    assert call_gives(step, row=True)["call.row"] == Label(Provenance.AI, row=True)
    assert "call.row" not in call_gives(step, row=False)


@pytest.mark.parametrize(
    ("source", "provenance", "texts"),
    [
        ("{plate}", Provenance.SENSOR, None),
        ("{said}", Provenance.AI, None),
        (("a", "b"), Provenance.LITERAL, ("a", "b")),
        (("a", "{plate}"), Provenance.SENSOR, None),
        (("a", "{said}"), Provenance.AI, None),
        ("list:expected", Provenance.LIST, None),
        ("role:yard", Provenance.LITERAL, None),
        ({"events": {"type": "alert", "last": "1h"}}, Provenance.AI, None),
        ({"events": {"type": "plate.recognized.v1", "last": "1h"}}, Provenance.SENSOR, None),
    ],
)
def test_an_item_comes_from_where_its_loop_takes_it_and_is_no_identity(
    source: Value, provenance: Provenance, texts: tuple[str, ...] | None
) -> None:
    assert item_label(source, POINT, REGISTRY)[1] == Label(provenance, texts=texts)


def test_a_target_that_a_value_fills_has_no_name_that_a_site_could_approve() -> None:
    webhook = REGISTRY.actions["webhook"]
    assert target_key(webhook, {"to": "ticketing"}) == "destination:ticketing"
    assert target_key(webhook, {"to": "{said}"}) is None
    assert moves_things(webhook, {"to": "{said}"}, {"destination:{said}"})
    assert target_key(SERVICE, {"entity": "lamp", "service": "{said}"}) is None


@pytest.mark.parametrize(
    ("service", "data", "moves"),
    [
        ("notify.phone", EMPTY, False),
        ("notify", EMPTY, True),
        ("lock.unlock", EMPTY, True),
        ("{said}.phone", EMPTY, True),
        ("notify.{said}", EMPTY, True),
        ("notify.phone", {"data": ({"entity_id": "lock"},)}, True),
        ("notify.phone", {"inner": {"target": "lock"}}, True),
        ("notify.phone", {"{said}": "lock"}, True),
        ("notify.phone", {"title": "lock"}, False),
    ],
)
def test_a_service_only_tells_where_its_domain_does_and_nothing_leads_it_elsewhere(
    service: str, data: Value, moves: bool
) -> None:
    assert moves_things(SERVICE, {"service": service, "entity": "phone", "data": data}) is moves


def test_whom_or_where_a_message_goes_is_addressed() -> None:
    assert recipient_fields(REGISTRY.actions["webhook"]) == ("to",)
    assert recipient_fields(REGISTRY.actions["notify"]) == ("who",)
    assert recipient_fields(REGISTRY.actions["speak"]) == ("line",)


def test_names_that_are_taken_away_stay_away_and_meet_as_the_worse() -> None:
    base = KnownNames({"a": Label(Provenance.LITERAL), "b": Label(Provenance.SENSOR, authorises=True)})
    without, worse = base.adding({"a": None}), base.adding({"b": LOST, "c": LOST})
    assert dict(without) == {"b": base["b"]}
    assert dict(without.joined(worse)) == {"a": base["a"], "b": LOST, "c": LOST}
    assert dict(worse.joined(without)) == dict(without.joined(worse))
    assert without.adding({"a": base["a"]}) == base
    assert without != base
    assert base.joined(base) == base


def test_many_layers_know_what_one_would() -> None:
    names, plain = KnownNames({}), dict[str, Label]()
    for number in range(200):
        label = Label(Provenance.SENSOR if number % 3 else Provenance.AI)
        names = names.adding({f"n{number % 50}": label, f"m{number}": label})
        plain |= {f"n{number % 50}": label, f"m{number}": label}
        names = names.adding({f"m{number // 2}": None})
        plain.pop(f"m{number // 2}", None)
    assert dict(names) == plain
    assert {name: names.get(name) for name in plain} == plain
