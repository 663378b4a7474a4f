"""The host's steps in real runs: what they leave, whom they reach, and what they allow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from siteward.core.plugins.objects import AiAnswer, AiMode, AiRequest
from siteward.core.store.schema import alerts, workflow_approvals

from .house import House

PLATE_READ = """
contract: workflow.v1
name: Gate
when:
  event: { type: plate.recognized.v1, cameras: [gate] }
"""
VEHICLE = """
contract: workflow.v1
name: Gate
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
"""
LOOK = """
  - id: look
    ai:
      mode: look
      prompt: Who is it?
      decision: [delivery, visitor]
      delivery: [log: "delivery"]
      visitor: [log: "visitor"]
      unsure: [log: "unsure"]
"""


@dataclass
class Rows:
    """Rows of a list, of which a person stands for some."""

    confirmed: list[dict[str, str]]
    candidates: list[dict[str, str]] = field(default_factory=list)
    asked_confirmed: list[bool] = field(default_factory=list)

    def now(self, confirmed_only: bool) -> list[dict[str, str]]:
        self.asked_confirmed.append(confirmed_only)
        return self.confirmed if confirmed_only else [*self.confirmed, *self.candidates]

    async def in_list(self, name: str, value: str, *, confirmed_only: bool) -> bool:
        return any(value in row.values() for row in self.now(confirmed_only))

    async def list_rows(self, name: str, *, confirmed_only: bool) -> Sequence[Mapping[str, Any]]:
        return self.now(confirmed_only)


def with_rows(house: House, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house.site, "in_list", rows.in_list)
    monkeypatch.setattr(house.site, "list_rows", rows.list_rows)


def answering(house: House, answer: AiAnswer) -> None:
    async def run(request: AiRequest) -> AiAnswer:
        return answer

    modes = house.skills.ai_modes
    assert isinstance(modes, dict)
    modes["look"] = AiMode("look", run)


async def test_the_models_line_joins_the_alert_that_waits_for_it(house: House) -> None:
    await house.save(
        VEHICLE
        + """
then:
  - alert: { severity: low, title: "Vehicle at {camera}", update_with: look }
  - alert: { severity: low, title: "Another" }
"""
        + LOOK
    )
    await house.happens(house.vehicle())
    messages = {row["title"]: row["message"] for row in await house.rows(alerts)}
    assert messages["Vehicle at cam-1"] is not None and "a parcel van" in messages["Vehicle at cam-1"]
    assert messages["Another"] is None


async def test_a_model_that_is_down_does_not_keep_the_guard_from_being_asked(house: House) -> None:
    answering(house, AiAnswer("unsure", {"reason": "The model is down.", "confidence": None}))
    await house.save(
        VEHICLE
        + """
then:
  - id: look
    ai:
      mode: look
      prompt: Who is it?
      decision: [delivery]
      fields: { company: text, people: number }
      delivery: [log: "delivery"]
      unsure:
        - ask_person: { who: role:guard, message: "{company}, {people}, {confidence}: {reason}", replies: [Let in], timeout: 60s }
          Let in: [ gate.open: { gate: main_gate } ]
"""
    )
    await house.happens(house.vehicle())
    (question,) = await house.rows(workflow_approvals)
    assert question["message"] == "unknown, unknown, not measured: The model is down."
    await house.reply("Let in")
    assert len(house.outside.named("gate.open")) == 1


@pytest.mark.parametrize(("came_with", "shown"), [(None, "taken-by-look"), ("of-the-event", "of-the-event")])
async def test_the_guard_sees_what_the_model_saw(house: House, came_with: str | None, shown: str) -> None:
    answering(house, AiAnswer("delivery", {"reason": "x", "confidence": 1.0}, picture="taken-by-look"))
    await house.save(
        VEHICLE
        + "\nthen:"
        + LOOK
        + "  - ask_person: { who: role:guard, message: Well, replies: [Yes], timeout: 60s }\n"
    )
    await house.happens(house.vehicle(picture=came_with))
    (question,) = await house.rows(workflow_approvals)
    assert question["picture"] == shown


AUTHORISED = (
    PLATE_READ
    + """
then:
  - if:
      - in_list: { value: "{plate}", list: residents }
    true:
      - id: look
        ai:
          mode: look
          prompt: Is it a car?
          decision: [car]
          fields: { plate: text }
          car: [log: "{plate} {look.plate}"]
          unsure: [log: "unsure"]
      - gate.open: { gate: main_gate }
    false: [log: "not listed"]
"""
)


async def test_a_field_of_the_model_never_hides_the_plate_that_was_read(house: House) -> None:
    answering(house, AiAnswer("car", {"reason": "x", "confidence": 1.0, "plate": "FORGED"}))
    house.site.lists["residents"] = [{"plate": "B-AB 123"}]
    await house.save(AUTHORISED)
    await house.happens(house.plate("B-AB 123"))
    assert await house.logged() == ["B-AB 123 FORGED"]
    assert len(house.outside.named("gate.open")) == 1


async def test_a_plate_that_nobody_read_is_on_no_list(house: House) -> None:
    house.site.lists["residents"] = [{"plate": ""}, {"plate": "unknown"}, {"plate": "None"}]
    await house.save(AUTHORISED)
    for plate in (None, "", " "):
        await house.happens(house.plate(plate))
        await house.passes(3600)
    assert set(await house.logged()) == {"not listed"}
    assert house.outside.calls == []


@pytest.mark.parametrize("listed", ["inside", "on top"])
async def test_a_row_that_nobody_stands_for_opens_no_gate(
    house: House, monkeypatch: pytest.MonkeyPatch, listed: str
) -> None:
    rows = Rows([{"plate": "C-X 1"}], candidates=[{"plate": "B-AB 123"}])
    with_rows(house, rows, monkeypatch)
    on_top = '\nif:\n  - in_list: { value: "{plate}", list: residents }\nthen:\n  - gate.open: { gate: main_gate }\n'
    await house.save(AUTHORISED if listed == "inside" else PLATE_READ + on_top)
    await house.happens(house.plate("B-AB 123"))
    assert house.outside.calls == []
    assert set(rows.asked_confirmed) == {True}
    await house.passes(3600)
    await house.happens(house.plate("C-X 1"))
    assert len(house.outside.named("gate.open")) == 1


async def test_where_nothing_moves_a_candidate_row_counts(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows([], candidates=[{"plate": "B-AB 123"}])
    with_rows(house, rows, monkeypatch)
    await house.save(
        PLATE_READ + '\nif:\n  - in_list: { value: "{plate}", list: residents }\nthen:\n  - log: "seen {plate}"\n'
    )
    await house.happens(house.plate("B-AB 123"))
    assert await house.logged() == ["seen B-AB 123"]


async def test_a_loop_goes_over_rows_cameras_events_and_written_items(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_rows(house, Rows([{"plate": "A", "name": "Ada"}, {"plate": "B", "name": "Bob"}]), monkeypatch)
    await house.save(
        VEHICLE
        + """
then:
  - for_each: { in: list:residents, as: who, do: [ log: "{who.name}" ] }
  - for_each: { in: role:yard, as: place, do: [ log: "{place}" ] }
  - for_each: { in: [one, "at {camera}"], as: item, do: [ log: "{item}" ] }
  - for_each: { in: { events: { type: doorbell, last: 1h } }, as: ring, do: [ log: "{ring.camera} {ring.button}" ] }
"""
    )
    await house.engine.accept(house.event("doorbell", {"button": "front"}, camera="cam-2"))
    await house.happens(house.vehicle())
    assert await house.logged() == ["Ada", "Bob", "cam-2", "cam-3", "one", "at cam-1", "cam-2 front"]


async def test_after_a_while_others_are_asked_the_same_question(house: House) -> None:
    await house.save(
        VEHICLE
        + """
then:
  - ask_person:
      who: role:guard
      message: "Let in?"
      replies: [Let in, Send away]
      timeout: 2m
      escalate: [ { after: 30s, who: role:boss } ]
    Let in: [ gate.open: { gate: main_gate } ]
    no_answer: [ log: "nobody" ]
"""
    )
    await house.happens(house.vehicle())
    await house.passes(29)
    assert [json.loads(row["who"]) for row in await house.rows(workflow_approvals)] == [["role:guard"]]
    await house.passes(1)
    assert [json.loads(row["who"]) for row in await house.rows(workflow_approvals)] == [["role:guard", "role:boss"]]
    await house.passes(89)
    assert await house.states() == ["waiting"]
    await house.reply("Let in", by="user:boss")
    assert len(house.outside.named("gate.open")) == 1


CLOSES = (
    VEHICLE
    + """
then:
  - id: closing
    wait_for:
      gate.changed: { gate: main_gate, to: closed }
      timeout: 2m
    happened: [ log: "closed at {closing.time}" ]
    not_happened: [ log: "still open" ]
"""
)


async def test_it_waits_for_the_gate_and_not_for_another(house: House) -> None:
    await house.save(CLOSES)
    await house.happens(house.vehicle())
    for gate, to in (("other_gate", "closed"), ("main_gate", "open")):
        await house.happens(house.event("gate.changed", {"gate": gate, "to": to}, camera=None))
        assert await house.states() == ["waiting"]
    await house.happens(house.event("gate.changed", {"gate": "main_gate", "to": "closed"}, camera=None))
    (line,) = await house.logged()
    assert line.startswith("closed at 20")


async def test_when_the_gate_did_not_close_in_time_that_is_said(house: House) -> None:
    await house.save(CLOSES)
    await house.happens(house.vehicle())
    await house.happens(house.event("gate.changed", {"gate": "main_gate", "to": "open"}, camera=None))
    await house.passes(119)
    assert await house.logged() == []
    await house.passes(1)
    assert await house.logged() == ["still open"]


async def test_the_false_lane_of_a_plain_rule_may_move(house: House) -> None:
    house.site.mode = "disarmed"
    await house.save(
        VEHICLE
        + """
then:
  - if: [ site_mode: [armed_away] ]
    true: [ log: "armed" ]
    false: [ gate.open: { gate: main_gate } ]
"""
    )
    await house.happens(house.vehicle())
    assert len(house.outside.named("gate.open")) == 1


@pytest.mark.parametrize(("approved", "sent"), [(True, 1), (False, 0)])
async def test_a_message_after_ai_leaves_only_for_a_destination_that_only_tells(
    house: House, approved: bool, sent: int
) -> None:
    house.site.approved = frozenset({"destination:ticketing"})
    await house.save(VEHICLE + "\nthen:\n" + LOOK + '  - webhook: { to: ticketing, body: { why: "{look.reason}" } }\n')
    house.site.approved = house.site.approved if approved else frozenset()
    await house.happens(house.vehicle())
    assert len(house.outside.named("webhook")) == sent
    assert await house.states() == ["done" if approved else "failed"]


async def test_how_often_something_happened_is_counted(house: House) -> None:
    await house.save(
        VEHICLE
        + """
if:
  - count: { events: { type: doorbell, last: 10m }, at_least: 2 }
then:
  - log: "rang twice"
"""
    )
    await house.engine.accept(house.event("doorbell"))
    await house.happens(house.vehicle())
    await house.engine.accept(house.event("doorbell"))
    await house.happens(house.vehicle())
    await house.passes(601)
    await house.happens(house.vehicle())
    assert await house.states() == ["not_met", "done", "not_met"]
