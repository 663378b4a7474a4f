"""An integration that takes events from a broker, set up as a host does it, over a host in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

from siteward.core.events.event import Event
from siteward.core.plugins.entry import Entry
from siteward.core.plugins.objects import EventTransport
from tests.events.brokers import until
from tests.integrations.world import HostInMemory


class Bus(HostInMemory):
    """The host of one process. What is in hand at once is counted; while `open` is not set, nothing is accepted."""

    def __init__(self, replica: str = "main") -> None:
        super().__init__()
        self.replica = replica
        self.open = asyncio.Event()
        self.open.set()
        self.emitted = 0
        self.in_hand = 0
        self.most_in_hand = 0

    async def emit(self, event: Event) -> None:
        self.in_hand += 1
        self.most_in_hand = max(self.most_in_hand, self.in_hand)
        try:
            await self.open.wait()
            await super().emit(event)
            self.emitted += 1
        finally:
            self.in_hand -= 1

    @property
    def tracks(self) -> list[str]:
        """Which events it has, by what stands in them."""
        return [str(event.payload["track"]) for event in self.events.values()]


@asynccontextmanager
async def connected(
    module: ModuleType, host: Bus, settings: Mapping[str, Any], *, at_once: bool = True
) -> AsyncIterator[EventTransport]:
    """The integration while it is set up; with `at_once` the block begins when it is connected."""
    entry = Entry(module.__name__.rpartition(".")[2], module.siteward_config_schema()(dict(settings)))
    await module.siteward_setup(host, entry)
    transport = entry.transport
    assert transport is not None
    try:
        if at_once:
            await until(lambda: transport.facts()["connections"] > 0)
        yield transport
    finally:
        await entry.close()


def tracks(*numbers: int) -> list[str]:
    return [f"t{number}" for number in numbers]
