"""NATS: events from a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from siteward.sdk import TRIGGERS, Entry, Host, Trigger, hookimpl
from siteward.sdk.nats import NatsBroker
from siteward.sdk.transports import carry_events

from .settings import SCHEMA, settings_of

PURPOSE: Final = "nats"


@hookimpl
def siteward_triggers() -> Sequence[Trigger]:
    """A bus may bring whatever the vocabulary names."""
    return tuple(TRIGGERS.values())


@hookimpl
def siteward_config_schema() -> Callable[[Any], Mapping[str, Any]]:
    """`server` and `subjects`, each with what it `carries` and, for JetStream, its `stream`; `user, password, token, ca`; `group, in_flight, ack_wait`."""
    return SCHEMA


@hookimpl
async def siteward_setup(site: Host, entry: Entry) -> None:
    """Connect once the host is at work, and for ever. A server that is not there fails nothing: it is tried until it is."""
    settings = await settings_of(site, entry.settings, entry.domain)
    broker = NatsBroker(settings, lambda url: site.reached(url, purpose=PURPOSE))
    carry_events(site, entry, broker, settings.in_flight)


@hookimpl
def siteward_diagnostics(entry: Entry) -> Mapping[str, Any]:
    """The state of the connection, and what became of the messages."""
    return {} if entry.transport is None else entry.transport.facts()
