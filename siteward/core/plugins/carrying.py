"""What every integration that takes events from a broker does at its set-up, in one place."""

from __future__ import annotations

import random

from siteward.core.events.transport import Broker, Transport

from .entry import Entry
from .objects import Host


def carry_events(site: Host, entry: Entry, broker: Broker, in_flight: int) -> Transport:
    """Connect to a broker once the host is at work, and keep that up until the integration is unloaded. A broker that is not there fails
    nothing: it is tried until it is, and `entry.transport.problem` says why it is not."""
    transport = Transport(broker, site.emit, in_flight, random.SystemRandom())

    async def begin() -> None:
        await site.at_work()
        transport.start()

    entry.transport = transport
    entry.task(begin(), "begin")
    entry.exits.push_async_callback(transport.stop)
    return transport
