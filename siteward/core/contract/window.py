"""Event windows: `{ type: …, last: 10m, where: {…} }` or `since: trigger`."""

from __future__ import annotations

from typing import Final

from .durations import parse_duration
from .events_known import check_event_type, check_where
from .fixes import set_to
from .names import Names
from .notes import shown
from .reading import Reading, say_type
from .tree import At

_KEYS: Final = ("type", "last", "since", "where")


def check_events(at: At, names: Names, reading: Reading) -> None:
    """Notes what is wrong with an event window."""
    if not at.is_map:
        reading.notes.error(
            "shape.wrong_type", f"`{at.key}` takes a window such as {{ type: …, last: 10m }}, not {say_type(at)}.", at
        )
        return
    for one in at.entries():
        if one.key not in _KEYS:
            reading.unknown_key(one, _KEYS, "an event window", (e.key for e in at.node.entries))
    kind = at.get("type")
    if kind is None:
        reading.missing_key(at, "type", "An event window")
    known = check_event_type(kind, reading) if kind else None
    where = at.get("where")
    if where is not None:
        check_where(where, known, names, reading)
    _check_span(at, reading)


def _check_span(at: At, reading: Reading) -> None:
    last, since = at.get("last"), at.get("since")
    if last is None and since is None:
        reading.missing_key(at, "last", "An event window", "10m")
    if last is not None and since is not None:
        reading.notes.error("shape.bad_value", "A window has `last` or `since`, not both. Remove one.", since)
    if since is not None and since.text != "trigger":
        told = f"`since` takes only `trigger`, not {shown(since.value)}. For a span write `last: 10m`."
        reading.notes.error("shape.bad_value", told, since, fixes=(set_to(since, "trigger"),))
    if last is not None:
        try:
            parse_duration(last.text or "")
        except ValueError:
            reading.notes.error(
                "shape.bad_duration", f"`last` takes a duration like 10m or 1h30m, not {say_type(last)}.", last
            )
