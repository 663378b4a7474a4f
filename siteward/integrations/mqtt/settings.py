"""What `configuration.yaml` says of a broker, checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import voluptuous as vol

from siteward.sdk import Host, Provenance
from siteward.sdk.mqtt import MqttSettings
from siteward.sdk.transports import CARRIED, Origin, parse_duration

SHORTEST_SESSION: Final = 3600
"""Seconds. A restart, an update or a power cut is to be shorter than the session, or what came meanwhile is lost."""


def _topic(value: Any) -> str:
    """A topic filter as MQTT has it: `+` is a whole level, `#` the last one."""
    levels = value.split("/") if isinstance(value, str) else []
    if not levels or value.startswith("$") or not value or len(value.encode()) > 1000 or "\0" in value:
        raise vol.Invalid("a topic filter is expected, such as site/+/events")
    for number, level in enumerate(levels):
        wild = "+" in level or "#" in level
        if wild and (level not in ("+", "#") or (level == "#" and number != len(levels) - 1)):
            raise vol.Invalid("in a topic filter `+` is a whole level, and `#` the whole last one")
    return str(value)


def _session(value: Any) -> int:
    if not isinstance(value, str):
        raise vol.Invalid("a duration is expected, such as 24h")
    try:
        seconds = parse_duration(value)
    except ValueError as error:
        raise vol.Invalid(str(error)) from error
    if seconds < SHORTEST_SESSION:
        raise vol.Invalid("the broker keeps the session for at least 1h")
    return seconds


_TEXT: Final = vol.All(str, vol.Length(min=1, max=1000))
SCHEMA: Final = vol.Schema(
    {
        vol.Required("broker"): vol.Match(
            r"^mqtts?://[^\s/@?#]+/?$", msg="an address such as mqtt://192.0.2.7:1883 or mqtts://broker.example"
        ),
        vol.Required("topics"): vol.All(
            [
                {
                    vol.Required("topic"): _topic,
                    vol.Required("carries"): vol.In(CARRIED, msg=f"one of {', '.join(CARRIED)}"),
                    vol.Optional("types"): vol.All([_TEXT], vol.Length(min=1)),
                }
            ],
            vol.Length(min=1, max=100),
        ),
        vol.Optional("user"): _TEXT,
        vol.Optional("password"): _TEXT,
        vol.Optional("ca"): _TEXT,
        vol.Optional("group"): vol.Match(r"^[A-Za-z0-9_-]{1,64}$", msg="a group is up to 64 letters, digits, - and _"),
        vol.Optional("session", default="24h"): _session,
        vol.Optional("in_flight", default=64): vol.All(int, vol.Range(min=1, max=1000)),
    }
)


async def settings_of(site: Host, settings: Mapping[str, Any], transport: str) -> MqttSettings:
    """The settings as the transport wants them; the client id is this process's own, for as long as the site lives."""
    site_id = await site.site_id()
    ca = settings.get("ca")
    return MqttSettings(
        url=settings["broker"],
        client_id=f"siteward-{site_id}-{site.replica}",
        group=settings.get("group"),
        topics=tuple(
            (
                one["topic"],
                Origin(transport, Provenance(one["carries"]), frozenset(one["types"]) if "types" in one else None),
            )
            for one in settings["topics"]
        ),
        user=settings.get("user"),
        password=settings.get("password"),
        ca=None if ca is None else str(Path(site.config_dir, ca)),
        session_seconds=settings["session"],
        in_flight=settings["in_flight"],
    )
