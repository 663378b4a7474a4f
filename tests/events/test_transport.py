"""A transport tries for ever, says what it must once, and leaves nothing unsaid to the broker when it stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from siteward.core.contract.registry import Provenance
from siteward.core.errors import AuthFailed, NotReady
from siteward.core.events import transport as module
from siteward.core.events.envelope import Origin
from siteward.core.events.event import Event
from siteward.core.events.intake import Intake, Message
from siteward.core.events.transport import Transport

from .brokers import body, until

ORIGIN = Origin("mqtt", Provenance.SENSOR)


class ScriptedLink:
    def __init__(self, broker: ScriptedBroker) -> None:
        self.broker = broker
        self.gone: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def lost(self) -> str:
        return await asyncio.shield(self.gone)

    async def stop_taking(self) -> None:
        self.broker.heard.append("stop")

    async def leave(self) -> bool:
        self.broker.heard.append("leave")
        if self.broker.lost_while_leaving:
            self.broker.lost_while_leaving -= 1
            self.gone.set_result("It went away.")
            return False
        return True


class ScriptedBroker:
    """Raises what stands in `fails`, one per try; None connects. After the last it connects."""

    name = "The broker"

    def __init__(self, *fails: BaseException | None) -> None:
        self.fails = list(fails)
        self.heard: list[str] = []
        self.links: list[ScriptedLink] = []
        self.intakes: list[Intake] = []
        self.lost_while_leaving = 0

    @asynccontextmanager
    async def connect(self, intake: Intake) -> AsyncIterator[ScriptedLink]:
        if self.fails and (failure := self.fails.pop(0)) is not None:
            raise failure
        link = ScriptedLink(self)
        self.links.append(link)
        self.intakes.append(intake)
        self.heard.append("connected")
        yield link
        self.heard.append("closed")

    async def connected(self, times: int) -> None:
        await until(lambda: self.heard.count("connected") >= times)

    def message(self, number: int) -> Message:
        async def acknowledge() -> None:
            self.heard.append(f"ack {number}")

        return Message(body(number), ORIGIN, acknowledge)


class World:
    def __init__(self, broker: ScriptedBroker) -> None:
        self.slept: list[float] = []
        self.kept: list[str] = []
        self.open = asyncio.Event()
        self.open.set()
        self.transport = Transport(broker, self.emit, 8, Random(7), sleep=self.sleep)

    async def emit(self, event: Event) -> None:
        await self.open.wait()
        self.kept.append(event.id)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)


def away() -> NotReady:
    return NotReady("It is not there.")


async def test_it_tries_for_ever_with_growing_pauses_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    broker = ScriptedBroker(*(away() for _ in range(50)))
    world = World(broker)
    with caplog.at_level(logging.INFO):
        world.transport.start()
        await broker.connected(1)
    bounds = [1.0, 2.0, 4.0, 8.0, 16.0] + [30.0] * 45
    assert all(bound / 2 <= slept <= bound for bound, slept in zip(bounds, world.slept, strict=True))
    assert len(set(world.slept)) > 40  # by chance, so that replicas do not come back all at once
    assert [record.getMessage() for record in caplog.records] == [
        "The broker: It is not there. It is tried again until it works."
    ]
    assert (world.transport.problem, world.transport.facts()["connections"]) == ("", 1)
    await world.transport.stop()


async def test_what_a_library_raises_ends_nothing() -> None:
    broker = ScriptedBroker(ZeroDivisionError("a bug"), OSError("a socket"), AuthFailed("It refused us."), None)
    world = World(broker)
    world.transport.start()
    await broker.connected(1)
    assert len(world.slept) == 3
    await world.transport.stop()


async def test_a_lost_connection_is_made_again_and_its_end_is_said_when_it_stands(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = ScriptedBroker()
    world = World(broker)
    with caplog.at_level(logging.INFO):
        world.transport.start()
        for number in range(1, 21):  # comes and goes: a flapping broker is one loss, not twenty
            await broker.connected(number)
            broker.links[-1].gone.set_result("It went away.")
        monkeypatch.setattr(module, "STEADY_SECONDS", 0.0)
        await broker.connected(21)
        await until(lambda: len(caplog.records) == 2)
    assert [record.getMessage() for record in caplog.records] == [
        "The broker: It went away. It is tried again until it works.",
        "The broker is there again.",
    ]
    await world.transport.stop()


async def test_each_connection_has_its_own_intake_so_that_no_late_word_reaches_another_one() -> None:
    broker = ScriptedBroker()
    world = World(broker)
    world.open.clear()
    world.transport.start()
    await broker.connected(1)
    broker.intakes[0].take(broker.message(1))
    broker.links[0].gone.set_result("It went away.")
    world.open.set()
    await broker.connected(2)
    assert broker.intakes[0] is not broker.intakes[1]
    assert (broker.intakes[0].is_open, broker.intakes[1].is_open) == (False, True)
    await world.transport.stop()


async def test_a_stop_brings_to_its_end_what_is_in_hand_then_disconnects() -> None:
    broker = ScriptedBroker()
    world = World(broker)
    world.open.clear()
    world.transport.start()
    await broker.connected(1)
    broker.intakes[0].take(broker.message(1))
    stopping = asyncio.create_task(world.transport.stop())
    await asyncio.sleep(0.01)
    assert not stopping.done()
    world.open.set()
    await stopping
    assert broker.heard == ["connected", "stop", "ack 1", "closed"]
    assert world.kept == ["mqtt:e1"]


async def test_a_stop_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(module, "DRAIN_SECONDS", 0.02)
    broker = ScriptedBroker()
    world = World(broker)
    world.open.clear()
    world.transport.start()
    await broker.connected(1)
    broker.intakes[0].take(broker.message(1))
    await world.transport.stop()
    assert broker.heard == ["connected", "stop", "closed"]
    assert "will come again" in caplog.text
    world.open.set()
    await broker.intakes[0].idle()


async def test_a_stop_ends_the_tries_of_a_broker_that_is_not_there() -> None:
    broker = ScriptedBroker(*(away() for _ in range(1000)))
    transport = Transport(broker, World(broker).emit, 8, Random(7))
    transport.start()
    await asyncio.sleep(0)
    await asyncio.wait_for(transport.stop(), 5)
    await Transport(broker, World(broker).emit, 8, Random(7)).stop()  # never started


async def test_a_replica_that_is_removed_gives_up_its_place_even_if_the_connection_breaks_meanwhile() -> None:
    broker = ScriptedBroker(away())
    broker.lost_while_leaving = 1
    world = World(broker)
    world.transport.start()
    await world.transport.leave(5)
    assert broker.heard == ["connected", "leave", "stop", "closed", "connected", "leave", "stop", "closed"]


async def test_a_place_that_cannot_be_given_up_is_said_to_be_held_still() -> None:
    broker = ScriptedBroker(*(away() for _ in range(100_000)))
    world = World(broker)
    world.transport.start()
    with pytest.raises(
        NotReady, match=r"could not be given up within 0\.05 seconds\. The broker: It is not there\. Try again"
    ):
        await world.transport.leave(0.05)
    await world.transport.stop()
