"""Times as the pages get them: RFC 3339 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime


def stamp(seconds: float) -> str:
    """A row's time as text."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def stamp_or_none(seconds: float | None) -> str | None:
    """A row's time as text, None where there is none."""
    return None if seconds is None else stamp(seconds)
