"""The broker hears of a message after its event is kept; what nobody can keep holds up nothing else."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

import pytest

from siteward.core.contract.registry import Provenance
from siteward.core.errors import NotReady
from siteward.core.events.envelope import Origin
from siteward.core.events.event import Event
from siteward.core.events.intake import ATTEMPTS, Counts, Intake, Message

from .brokers import body

ORIGIN = Origin("mqtt", Provenance.SENSOR)


@dataclass
class Broker:
    """What a broker heard, and the host that it speaks to. Sleeping takes no time, and is counted."""

    heard: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    away: int = 0
    broken: frozenset[str] = frozenset()
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    slept: list[float] = field(default_factory=list)

    async def emit(self, event: Event) -> None:
        await self.gate.wait()
        if event.id in self.broken:
            raise ZeroDivisionError("the host breaks over this one")
        if self.away:
            self.away -= 1
            raise NotReady("the database is away")
        self.kept.append(event.id)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)

    def message(self, number: int, told: bytes | None = None) -> Message:
        async def acknowledge() -> None:
            self.heard.append(f"mqtt:e{number}")

        return Message(body(number) if told is None else told, ORIGIN, acknowledge)


@pytest.fixture
def broker() -> Broker:
    made = Broker()
    made.gate.set()
    return made


def intake_of(broker: Broker, in_flight: int = 8) -> tuple[Intake, Counts]:
    counts = Counts()
    return Intake(broker.emit, counts, in_flight, sleep=broker.sleep), counts


async def test_a_message_is_acknowledged_only_after_its_event_is_kept(broker: Broker) -> None:
    broker.gate.clear()
    intake, counts = intake_of(broker)
    intake.take(broker.message(1))
    await asyncio.sleep(0.01)
    assert (broker.heard, broker.kept) == ([], [])
    broker.gate.set()
    await intake.idle()
    assert (broker.heard, broker.kept, counts.accepted) == (["mqtt:e1"], ["mqtt:e1"], 1)


async def test_an_event_that_may_not_be_kept_is_offered_again_until_it_is(broker: Broker) -> None:
    broker.away = 20
    intake, counts = intake_of(broker)
    intake.take(broker.message(1))
    await intake.idle()
    assert (broker.heard, broker.kept, counts.accepted, dict(counts.refused)) == (["mqtt:e1"], ["mqtt:e1"], 1, {})
    assert broker.slept == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2] + [5.0] * 14


async def test_a_closed_intake_leaves_what_is_not_kept_to_the_broker(broker: Broker) -> None:
    broker.away = 1_000_000
    intake, _ = intake_of(broker)
    intake.take(broker.message(1))
    await asyncio.sleep(0.01)
    intake.close()
    await asyncio.wait_for(intake.idle(), 5)
    intake.take(broker.message(2))
    await intake.idle()
    assert (broker.heard, broker.kept) == ([], [])


async def test_what_is_in_hand_when_it_closes_is_brought_to_its_end(broker: Broker) -> None:
    broker.gate.clear()
    intake, _ = intake_of(broker)
    intake.take(broker.message(1))
    await asyncio.sleep(0)
    intake.close()
    broker.gate.set()
    await intake.idle()
    assert broker.heard == ["mqtt:e1"]


async def test_an_event_that_the_host_breaks_over_is_put_aside_and_the_others_come_through(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.broken = frozenset({"mqtt:e1"})
    intake, counts = intake_of(broker)
    for number in (1, 2, 3):
        intake.take(broker.message(number))
    with caplog.at_level(logging.ERROR):
        await intake.idle()
    assert sorted(broker.heard) == ["mqtt:e1", "mqtt:e2", "mqtt:e3"]
    assert sorted(broker.kept) == ["mqtt:e2", "mqtt:e3"]
    assert (dict(counts.refused), len(broker.slept)) == ({"event.not_taken": 1}, ATTEMPTS - 1)
    assert "mqtt:e1 (detect.vehicle_in_zone) could not be accepted" in counts.samples["event.not_taken"]
    assert "event mqtt:e1 is put aside" in caplog.text


async def test_what_is_no_event_is_counted_with_a_sample_and_does_not_come_again(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    intake, counts = intake_of(broker)
    for number in range(100):
        intake.take(broker.message(number, b"no event"))
    intake.take(broker.message(100, body(100, type="button")))
    with caplog.at_level(logging.WARNING):
        await intake.idle()
    assert len(broker.heard) == 101
    assert (broker.kept, dict(counts.refused)) == ([], {"message.not_json": 100, "message.type": 1})
    assert counts.samples["message.not_json"].startswith("The message is no JSON")
    assert len(caplog.records) == 7 + 1  # the 1st, 2nd, 4th … 64th of one reason, and the 1st of the other


async def test_no_more_than_so_many_are_in_hand_and_room_comes_back(broker: Broker) -> None:
    broker.gate.clear()
    intake, _ = intake_of(broker, in_flight=2)
    assert await intake.wait_for_room() == 2
    intake.take(broker.message(1))
    intake.take(broker.message(2))
    waiting = asyncio.ensure_future(intake.wait_for_room())
    await asyncio.sleep(0.01)
    assert (waiting.done(), intake.room) == (False, 0)
    broker.gate.set()
    assert await asyncio.wait_for(waiting, 5) == 2


async def test_whoever_waits_for_room_hears_that_it_closed(broker: Broker) -> None:
    broker.gate.clear()
    intake, _ = intake_of(broker, in_flight=1)
    intake.take(broker.message(1))
    waiting = asyncio.ensure_future(intake.wait_for_room())
    await asyncio.sleep(0)
    intake.close()
    assert await asyncio.wait_for(waiting, 5) == 0
    broker.gate.set()
    await intake.idle()
