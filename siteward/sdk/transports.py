"""For an integration that takes events from a broker: what a topic carries, and the connection that is kept up.

`siteward.sdk.mqtt` and `siteward.sdk.nats` speak to the brokers; each needs the extra of its name.
"""

from siteward.core.contract.durations import parse_duration
from siteward.core.events.envelope import CARRIED, Origin
from siteward.core.events.intake import Intake, Message
from siteward.core.events.transport import Broker, Link, Reach, Transport
from siteward.core.plugins.carrying import carry_events

__all__ = [
    "CARRIED",
    "Broker",
    "Intake",
    "Link",
    "Message",
    "Origin",
    "Reach",
    "Transport",
    "carry_events",
    "parse_duration",
]
