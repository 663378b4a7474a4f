"""NATS as a source of events, by JetStream or without it. Needs the extra `nats`."""

from siteward.core.events.nats import NatsBroker, NatsSettings, NatsSubject

__all__ = ["NatsBroker", "NatsSettings", "NatsSubject"]
