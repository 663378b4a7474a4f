"""`wait` and `wait_for`: how long, for what, and what a test does instead."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from siteward.core.contract.document import Step
from siteward.core.contract.registry import Provenance
from siteward.core.engine.seam import Done, Failed, Labelled, Mode, NewWait, Outcome, Park, StepStatus, Wake, WakeKind
from siteward.core.events.event import Event
from siteward.steps import host_steps
from tests.steps.world import NOON, PLATE, Provided, World, event, provided, step, use, value

TESTS = [Mode.TEST, Mode.TRY, Mode.REPLAY]


async def wait(text: str, mode: Mode = Mode.ON) -> Outcome:
    return await host_steps()["wait"].start(step("wait", {"for": text}), World(mode=mode))


async def test_a_wait_is_a_due_time() -> None:
    due = NOON + timedelta(minutes=10)
    assert await wait("10m") == Park((NewWait("wait", due),), result={"until": due.isoformat()})


async def test_after_the_wait_it_goes_on() -> None:
    found = await host_steps()["wait"].resume(
        step("wait", {"for": "10m"}), World(), Wake(WakeKind.DUE, NewWait("wait", NOON), NOON)
    )
    assert isinstance(found, Done)
    assert found.outcome is None


async def test_no_time_is_no_wait() -> None:
    assert isinstance(await wait("0s"), Done)


@pytest.mark.parametrize("mode", TESTS)
async def test_a_test_skips_what_takes_over_ten_seconds(mode: Mode) -> None:
    assert isinstance(await wait("10s", mode), Park)
    skipped = await wait("11s", mode)
    assert isinstance(skipped, Done)
    assert (skipped.status, skipped.result) == (StepStatus.SKIPPED, {"skipped": "11s"})


CLOSED = use("gate.changed", {"gate": "north", "to": "closed"})


def gate(to: str, **over: Any) -> Event:
    return event("gate.changed", id="g1", camera=None, payload={"gate": "north", "to": to}, **over)


def waiting(*uses: Any, timeout: str = "2m") -> Step:
    return step("wait_for", {"timeout": timeout}, triggers=uses or (CLOSED,), id="closing")


PARKED = NewWait("wait_for", NOON + timedelta(minutes=2), event_types=("gate.changed",))


async def woken(by: Event | None, *uses: Any, **values: Labelled) -> Outcome:
    kind = WakeKind.DUE if by is None else WakeKind.EVENT
    run = World(values={"plate": PLATE, **values})
    return await host_steps()["wait_for"].resume(waiting(*uses), run, Wake(kind, PARKED, NOON, event=by))


async def test_it_waits_for_the_types_of_its_triggers() -> None:
    found = await host_steps()["wait_for"].start(waiting(CLOSED, use("event", {"type": "badge.read.v1"})), World())
    assert isinstance(found, Park)
    assert found.waits == (
        NewWait("wait_for", NOON + timedelta(minutes=2), event_types=("gate.changed", "badge.read.v1")),
    )


async def test_what_was_waited_for_happened() -> None:
    found = await woken(gate("closed"))
    assert isinstance(found, Done)
    assert found.outcome == "happened"
    assert {name: one.value for name, one in found.values.items()} == {
        "gate": "north",
        "to": "closed",
        "event_id": "g1",
        "time": "2026-06-01 12:00:00",
        "trigger": "gate.changed",
    }


async def test_another_event_of_the_type_does_not_end_the_wait() -> None:
    assert await woken(gate("open")) == Park((PARKED,))


async def test_when_the_time_is_over_it_did_not_happen() -> None:
    found = await woken(None)
    assert isinstance(found, Done)
    assert (found.outcome, found.values) == ("not_happened", {})


async def test_waiting_never_authorises_and_brings_no_identity() -> None:
    found = await woken(event(id="p2"), use("event", {"type": "plate.recognized.v1"}))
    assert isinstance(found, Done)
    assert found.authority is None
    assert found.values["plate"].value == "B-AB 123"
    assert not any(one.authorises for one in found.values.values())


async def test_the_first_of_several_that_fits_is_named() -> None:
    uses = (use("gate.changed", {"to": "open"}), use("gate.changed", {"to": "closed"}), use("doorbell"))
    found = await woken(gate("closed"), *uses)
    assert isinstance(found, Done)
    assert found.values["trigger"].value == "gate.changed"
    assert found.result["event"] == "g1"


async def test_a_camera_role_is_asked_too() -> None:
    rung = event("doorbell", payload={})
    assert isinstance(await woken(rung, use("doorbell", {"cameras": ("yard",)})), Park)
    assert isinstance(await woken(rung, use("doorbell", {"cameras": ("gate",)})), Done)


async def test_what_is_waited_for_may_read_the_run() -> None:
    same_car = use("event", {"type": "plate.recognized.v1", "where": {"plate": "{plate}"}})
    assert isinstance(await woken(event(id="p2"), same_car), Done)
    assert isinstance(await woken(event(id="p2", payload={"plate": "C-X 1"}), same_car), Park)


async def test_a_wait_chosen_by_ai_says_what_it_read() -> None:
    seen = use("event", {"type": "plate.recognized.v1", "where": {"plate": "{look.plate}"}})
    found = await woken(event(id="p2"), seen, **{"look.plate": value("B-AB 123", Provenance.AI)})
    assert isinstance(found, Done)
    assert found.ai_read == {"look.plate"}


@pytest.mark.parametrize("by", [event("message", payload={"text": "open", "person": "ada"}), None])
async def test_a_message_that_came_or_did_not_come_is_ais_word(by: Event | None) -> None:
    found = await woken(by, use("message"))
    assert isinstance(found, Done)
    assert found.ai


async def test_an_event_that_an_ai_told_is_ais_word_whatever_its_type() -> None:
    found = await woken(gate("closed", provenance=Provenance.AI))
    assert isinstance(found, Done)
    assert found.ai
    assert found.values["to"].provenance is Provenance.AI


@pytest.mark.parametrize("mode", TESTS)
async def test_a_test_does_not_wait_for_things(mode: Mode) -> None:
    found = await host_steps()["wait_for"].start(waiting(), World(mode=mode))
    assert isinstance(found, Done)
    assert (found.outcome, found.status) == ("not_happened", StepStatus.SKIPPED)


async def test_a_trigger_that_nobody_provides_any_more_fails_clearly() -> None:
    skills = provided()
    found = await host_steps()["wait_for"].start(waiting(), World(skills=Provided(skills.registry, {}, {})))
    assert isinstance(found, Failed)
    assert "gate.changed" in found.sentence
