"""`event.v1`: an event as a message on a bus, and what the site's configuration says of where it came from.

A message is one JSON object: `id`, `type` and `at` are required; `source, camera, correlation_id, chain, caused_by, provenance, payload` may be
there; nothing else may. What it says of itself can lower how far it is trusted and never raise it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from siteward.core.contract.provenance import least_trusted
from siteward.core.contract.registry import Provenance
from siteward.core.errors import SitewardError

from .event import Event

CONTRACT: Final = "event.v1"
MAXIMUM_BYTES: Final = 256 * 1024
MAXIMUM_DEPTH: Final = 32
"""How deep a payload nests. The store's JSON would carry more; no honest event does."""
MAXIMUM_CHAIN: Final = 1000
CARRIED: Final = (Provenance.SENSOR, Provenance.APP, Provenance.AI)
"""What a bus can carry. A person is known by signing in, never by a message."""
HOSTS_OWN: Final = frozenset({"schedule", "button", "message"})
"""Events that only the host makes: a due schedule, a person who pressed a button or wrote to the assistant."""
EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Origin:
    """What the configuration says of a topic or subject: the transport's name (`mqtt`), the provenance of what it carries, and the event
    types that may come by it (None: all but the host's own)."""

    transport: str
    provenance: Provenance
    types: frozenset[str] | None = None

    def narrowed(self, other: Origin) -> Origin:
        """The origin of a message that came by both: trusted as the less trusted one, for the types that both let through."""
        if self.types is None or other.types is None:
            types = other.types if self.types is None else self.types
        else:
            types = self.types & other.types
        return Origin(self.transport, least_trusted((self.provenance, other.provenance)), types)


class MessageRefused(SitewardError):
    """A message that makes no event. `code` is the kind of reason, which is what is counted."""

    code = "message.invalid"


def event_from_message(body: bytes, origin: Origin) -> Event:
    """The event that a message tells. Raises `MessageRefused`."""
    said = _checked(_parsed(body))
    if said["type"] in HOSTS_OWN or (origin.types is not None and said["type"] not in origin.types):
        raise MessageRefused(
            f"An event of the type {said['type']} may not come this way.", code="message.type", where=said["id"]
        )
    claimed = Provenance(said.get("provenance", origin.provenance))
    publisher = said.get("source")
    source = f"{origin.transport}:{publisher}" if publisher else origin.transport
    return Event(
        # Within its own source: no publisher can take an id away from another one, or from the host.
        id=f"{source}:{said['id']}",
        type=said["type"],
        source=source,
        provenance=least_trusted((origin.provenance, claimed)),
        at=said["at"],
        camera=said.get("camera"),
        correlation_id=said.get("correlation_id", ""),
        chain=said.get("chain", 0),
        caused_by=said.get("caused_by"),
        payload=said.get("payload", {}),
    )


def _parsed(body: bytes) -> Mapping[str, Any]:
    if len(body) > MAXIMUM_BYTES:
        raise MessageRefused(f"The message is larger than {MAXIMUM_BYTES // 1024} KiB.", code="message.too_large")
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MessageRefused(f"The message is no JSON: {error}.", code="message.not_json") from None
    if not isinstance(said, dict):
        raise MessageRefused("The message is no JSON object.", code="message.not_json")
    return said


def _checked(said: Mapping[str, Any]) -> dict[str, Any]:
    """Every key known and as it should be. Plain calls and no schema: this runs for each message of a busy bus."""
    checked: dict[str, Any] = {}
    for key, value in said.items():
        check = _KEYS.get(key)
        try:
            if check is None:
                raise ValueError("is not known here")
            checked[key] = check(value)
        except ValueError as error:
            # A key that only the message knows is cut short: a reason goes into a log.
            raise MessageRefused(f"{key[:80]!r}: {error}.", code="message.invalid") from None
    for key in REQUIRED:
        if key not in checked:
            raise MessageRefused(f"{key!r}: it is missing.", code="message.invalid")
    return checked


def _contract(value: Any) -> str:
    if value != CONTRACT:
        raise ValueError(f"this is read as {CONTRACT}")
    return CONTRACT


def _text(most: int) -> Callable[[Any], str]:
    """A text of one line without control characters: it becomes a key, a column, a word in a log."""
    pattern = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")

    def check(value: Any) -> str:
        if not isinstance(value, str) or len(value) > most or not pattern.fullmatch(value):
            raise ValueError(f"a text of one line with 1 to {most} characters is expected")
        return value

    return check


def _type(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 100 or not _TYPE.fullmatch(value):
        raise ValueError("an event type is expected, such as plate.recognized.v1")
    return value


def _at(value: Any) -> datetime:
    """When it happened. Without a zone it could be read in two ways, and what moves asks how old its event is."""
    try:
        at = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError("a time with its zone is expected, such as 2026-03-02T07:00:00Z") from None
    if at.tzinfo is None:
        raise ValueError("the time has no zone; write Z or an offset")
    if not EARLIEST <= at <= LATEST:
        raise ValueError(f"the time lies outside {EARLIEST.year} to {LATEST.year}")
    return at.astimezone(UTC)


def _chain(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAXIMUM_CHAIN:
        raise ValueError(f"a whole number from 0 to {MAXIMUM_CHAIN} is expected")
    return value


def _provenance(value: Any) -> str:
    if not isinstance(value, str) or value not in set(Provenance):
        raise ValueError(f"one of {', '.join(CARRIED)} is expected")
    return str(value)


def _payload(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("an object is expected")
    layer = [one for one in value.values() if isinstance(one, dict | list)]
    depth = 1
    while layer:
        depth += 1
        if depth > MAXIMUM_DEPTH:
            raise ValueError(f"it nests deeper than {MAXIMUM_DEPTH}")
        inner = [one for outer in layer for one in (outer.values() if isinstance(outer, dict) else outer)]
        layer = [one for one in inner if isinstance(one, dict | list)]
    return value


_TYPE: Final = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*(\.v[0-9]+)?")
REQUIRED: Final = ("id", "type", "at")
_KEYS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "contract": _contract,
    "id": _text(200),
    "type": _type,
    "at": _at,
    "source": _text(64),
    "camera": _text(64),
    "correlation_id": _text(200),
    "chain": _chain,
    "caused_by": _text(200),
    "provenance": _provenance,
    "payload": _payload,
}
