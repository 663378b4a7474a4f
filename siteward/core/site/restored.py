"""When the database was last put back from a backup. What was allowed before then was allowed in another past, which may have acted on it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import select

from siteward.core.store.schema import site_settings
from siteward.core.store.store import Store

RESTORED_AT: Final = "restored_at"
CLOCK_SECONDS: Final = 600.0
"""Times in a backup may be this far ahead of this machine's clock, and what they date is still from before the restore."""
_STAMPS: Final = (
    ("events", "at"),
    ("events", "accepted_at"),
    ("workflow_approvals", "answered_at"),
    ("workflow_runs", "started_at"),
)
_MARK: Final = (
    "INSERT INTO site_settings (name, value, revision) VALUES (:name, :at, 1) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value, revision = site_settings.revision + 1"
)

Execute = Callable[[str, Mapping[str, object]], Any]
"""Runs a statement with `:name` marks on the database that is being put back; what it gives has `fetchone`."""


def mark_restored(execute: Execute, now: float) -> None:
    """Mark the database as put back at `now`, and log everybody out: who lost the right to log in since the backup must not be let in by it."""
    execute("DELETE FROM sessions", {})
    execute(_MARK, {"name": RESTORED_AT, "at": json.dumps(_past_until(execute, now))})


def _past_until(execute: Execute, now: float) -> float:
    """Up to when things are from before the restore: now, or a little later where the clock of the backup's machine went ahead of this one's."""
    newest = now
    for table, column in _STAMPS:
        query = f"SELECT max({column}) FROM {table} WHERE {column} <= :most"
        (found,) = execute(query, {"most": now + CLOCK_SECONDS}).fetchone()
        newest = max(newest, found or 0.0)
    return newest


async def read_restored_at(store: Store) -> datetime | None:
    """The moment up to which everything is from before the last restore; None where there was none."""
    rows = await store.read(select(site_settings.c.value).where(site_settings.c.name == RESTORED_AT))
    return datetime.fromtimestamp(json.loads(rows[0]["value"]), UTC) if rows else None
