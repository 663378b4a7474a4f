"""What `configuration.yaml` says of a NATS server, checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import voluptuous as vol

from siteward.sdk import Host, Provenance
from siteward.sdk.nats import NatsSettings, NatsSubject
from siteward.sdk.transports import CARRIED, Origin

_TOKEN: Final = re.compile(r"[^\s.*>\x00-\x1f\x7f]+")


def _subject(value: Any) -> str:
    """A subject as NATS has it: `*` is a whole token, `>` the last one."""
    tokens = value.split(".") if isinstance(value, str) and len(value) <= 255 else [""]
    for number, token in enumerate(tokens):
        last = number == len(tokens) - 1
        if not (_TOKEN.fullmatch(token) or token == "*" or (token == ">" and last)) or token.startswith("$"):
            raise vol.Invalid("a subject is expected, such as site.*.events; `*` is a whole token, `>` the last one")
    return str(value)


def _one_way_in(value: Mapping[str, Any]) -> Mapping[str, Any]:
    if "token" in value and ("user" in value or "password" in value):
        raise vol.Invalid("a server asks for `user` and `password` or for a `token`, not for both", path=["token"])
    return value


_TEXT: Final = vol.All(str, vol.Length(min=1, max=1000))
_NAME: Final = r"^[A-Za-z0-9_-]{1,64}$"
SCHEMA: Final = vol.Schema(
    vol.All(
        {
            vol.Required("server"): vol.Match(
                r"^(nats|tls)://[^\s/@?#]+/?$", msg="an address such as nats://192.0.2.7:4222 or tls://nats.example"
            ),
            vol.Required("subjects"): vol.All(
                [
                    {
                        vol.Required("subject"): _subject,
                        vol.Required("carries"): vol.In(CARRIED, msg=f"one of {', '.join(CARRIED)}"),
                        vol.Optional("types"): vol.All([_TEXT], vol.Length(min=1)),
                        vol.Optional("stream"): vol.Match(_NAME, msg="a stream is up to 64 letters, digits, - and _"),
                    }
                ],
                vol.Length(min=1, max=100),
            ),
            vol.Optional("user"): _TEXT,
            vol.Optional("password"): _TEXT,
            vol.Optional("token"): _TEXT,
            vol.Optional("ca"): _TEXT,
            vol.Optional("group"): vol.Match(_NAME, msg="a group is up to 64 letters, digits, - and _"),
            vol.Optional("ack_wait", default=30): vol.All(int, vol.Range(min=1, max=600)),
            vol.Optional("in_flight", default=64): vol.All(int, vol.Range(min=1, max=1000)),
        },
        _one_way_in,
    )
)


async def settings_of(site: Host, settings: Mapping[str, Any], transport: str) -> NatsSettings:
    """The settings as the transport wants them."""
    site_id = await site.site_id()
    ca = settings.get("ca")
    return NatsSettings(
        url=settings["server"],
        client=f"siteward-{site_id}-{site.replica}",
        group=settings.get("group", f"siteward-{site_id}"),
        subjects=tuple(
            NatsSubject(
                one["subject"],
                Origin(transport, Provenance(one["carries"]), frozenset(one["types"]) if "types" in one else None),
                one.get("stream"),
            )
            for one in settings["subjects"]
        ),
        user=settings.get("user"),
        password=settings.get("password"),
        token=settings.get("token"),
        ca=None if ca is None else str(Path(site.config_dir, ca)),
        in_flight=settings["in_flight"],
        ack_wait=float(settings["ack_wait"]),
    )
