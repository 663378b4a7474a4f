"""What is said to a relay: one POST that acts, with a key that tells a repetition, and a GET that tells the state.

The answer of both may be JSON with `state` (`open`, `closed`) and `key`, the key of the last command that the relay carried out. A relay
that tells the key lets a lost answer be settled: it either carried out this very command, or did not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import voluptuous as vol

from siteward.sdk import ConfigurationInvalid, GateSettings, Host, Unreachable

PURPOSE: Final = "gate"
KEY_HEADER: Final = "Idempotency-Key"
OPEN: Final = "open"
CLOSED: Final = "closed"
UNKNOWN: Final = "unknown"

_PATH = vol.Match(r"^/[^\s]*$", msg="a path that begins with /")
_SETTINGS: Final = vol.Schema(
    {
        vol.Required("url"): vol.Match(r"^https?://[^\s?#]+$", msg="an http or https address"),
        vol.Optional("open_path", default="/open"): _PATH,
        vol.Optional("close_path", default="/close"): _PATH,
        vol.Optional("state_path", default="/state"): _PATH,
        vol.Optional("timeout", default=5): vol.All(vol.Any(int, float), vol.Range(min=1, max=30)),
        vol.Optional("settle_seconds", default=10): vol.All(vol.Any(int, float), vol.Range(min=0, max=60)),
        vol.Optional("dry_run", default=False): bool,
    }
)


@dataclass(frozen=True, slots=True)
class Relay:
    """A relay's addresses, and how long it may take (seconds)."""

    gate: str
    open_url: str
    close_url: str
    state_url: str
    timeout: float
    settle_seconds: float
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What a relay says: the state (`open`, `closed`, `unknown`), and the key of the last command that it carried out."""

    state: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A relay's answer to a command: the HTTP status, and its sentence where it gives one."""

    status: int
    sentence: str = ""

    @property
    def taken(self) -> bool:
        """It took the command."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def refused(self) -> bool:
        """It says that it did nothing: every answer that blames the request, but not one that may follow a lost race in the relay."""
        blames_us = HTTPStatus.BAD_REQUEST <= self.status < HTTPStatus.INTERNAL_SERVER_ERROR
        return blames_us and self.status != HTTPStatus.REQUEST_TIMEOUT


def relay_of(gate: GateSettings) -> Relay:
    """The relay behind a gate. Raises `ConfigurationInvalid`."""
    try:
        checked = _SETTINGS(dict(gate.settings))
    except vol.Invalid as error:
        raise ConfigurationInvalid(
            f"The relay of the gate {gate.role} is configured wrongly: {error}.", where=gate.role
        ) from error
    base = checked["url"].rstrip("/")
    return Relay(
        gate=gate.role,
        open_url=base + checked["open_path"],
        close_url=base + checked["close_path"],
        state_url=base + checked["state_path"],
        timeout=float(checked["timeout"]),
        settle_seconds=float(checked["settle_seconds"]),
        dry_run=checked["dry_run"],
    )


async def read(relay: Relay, host: Host) -> Reading:
    """Ask for the state. Raises `Unreachable` where no state comes, `EgressRefused` where it may not be asked."""
    status, body = await host.http("GET", relay.state_url, purpose=PURPOSE, timeout=relay.timeout)
    if status != HTTPStatus.OK:
        raise Unreachable(
            f"The relay of the gate {relay.gate} answered {status} to the question for its state.", where=relay.gate
        )
    said = _json(body)
    state, key = said.get("state"), said.get("key")
    return Reading(state if state in (OPEN, CLOSED) else UNKNOWN, key if isinstance(key, str) else None)


async def command(relay: Relay, url: str, key: str, headers: Mapping[str, str], host: Host) -> Answer:
    """Send one command, once. Raises `Unreachable` (it may have been received), `EgressRefused` (nothing was sent)."""
    status, body = await host.http(
        "POST", url, purpose=PURPOSE, body=b"", headers={KEY_HEADER: key, **headers}, timeout=relay.timeout
    )
    sentence = _json(body).get("sentence")
    return Answer(status, sentence if isinstance(sentence, str) else "")


async def read_state(gate: GateSettings, host: Host) -> str:
    """`open`, `closed` or `unknown`, as the relay says now. Raises `Unreachable`, `EgressRefused`, `ConfigurationInvalid`."""
    return (await read(relay_of(gate), host)).state


def _json(body: bytes) -> Mapping[str, Any]:
    """The answer as a mapping; an answer that is none says nothing."""
    try:
        said = json.loads(body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
