"""When the database was last put back from a backup. What was allowed before then was allowed in another past, which may have acted on it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import select

from siteward.core.store.schema import site_settings
from siteward.core.store.store import Store

RESTORED_AT: Final = "restored_at"


async def read_restored_at(store: Store) -> datetime | None:
    """The moment up to which everything is from before the last restore; None where there was none."""
    rows = await store.read(select(site_settings.c.value).where(site_settings.c.name == RESTORED_AT))
    return datetime.fromtimestamp(json.loads(rows[0]["value"]), UTC) if rows else None
