"""The clock of a process that shares its site with others, maybe on other machines: `since_boot` counts from the start of their database server.

How old a person's reply is must not depend on who asks: the web process took it, an engine elsewhere acts on it. Each process counts with its own
machine's clock that never jumps, from a point that it agreed on with the server, and asks again at each beat. A server that was started anew begins a
range of its own, as a machine does: what was allowed before allows nothing after it.

The server's own clock may be set while everybody counts on: then they count on, and one of them writes down how far it is off, for who comes later.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from zlib import crc32

from siteward.core.clock import RANGE_SECONDS, RANGES, Clock
from siteward.core.store.statements import Op
from siteward.core.store.store import Store

_log = logging.getLogger(__name__)

ROUGH_SECONDS: Final = 0.1
"""An answer that took longer says less than what is known already."""
WRONG_SECONDS: Final = 1.0
"""No drift makes so much between two beats."""
SERVER_CLOCK: Final = "server_clock"
_ASK: Final = (
    "SELECT EXTRACT(EPOCH FROM clock_timestamp() - pg_postmaster_start_time())::float8 AS seconds, "
    "pg_postmaster_start_time()::text AS began, (SELECT value FROM site_settings WHERE name = :name) AS off"
)


class SharedClock:
    """Made by `SharedClock.agreed`; `agree` is called at each beat."""

    def __init__(self, own: Clock, store: Store) -> None:
        self._own = own
        self._store = store
        self._ahead = 0.0
        self._began: str | None = None
        self._off: str | None = None

    @classmethod
    async def agreed(cls, own: Clock, store: Store) -> SharedClock:
        """One that counts as the others of this database do. Raises `ReadFailed`."""
        clock = cls(own, store)
        await clock.agree()
        return clock

    def now(self) -> datetime:
        return self._own.now()

    def since_boot(self) -> float:
        return self._own.since_boot() + self._ahead

    async def sleep_until(self, due: datetime) -> None:
        await self._own.sleep_until(due)

    async def agree(self) -> None:
        """Ask the server how long it runs. Raises what the store raises."""
        asked = self._own.since_boot()
        (told,) = await self._store.fetch(_ASK, {"name": SERVER_CLOCK})
        took = self._own.since_boot() - asked
        ahead = _range(told["began"]) + told["seconds"] + _corrected(told) - (asked + took / 2)
        known = told["began"] == self._began and told["off"] == self._off
        if known and abs(ahead - self._ahead) > WRONG_SECONDS + took:
            await self._say_off(told, ahead - self._ahead)
        elif not known or took <= ROUGH_SECONDS:
            self._ahead, self._began, self._off = ahead, told["began"], told["off"]

    async def _say_off(self, told: Mapping[str, Any], jump: float) -> None:
        """Its clock was set: for who comes later it says how far it is off. Of several who notice, the first one says it."""
        _log.warning("The clock of the database's server was set by %.0f s.", jump)
        off = json.dumps({"began": told["began"], "seconds": _corrected(told) - jump})
        await self._store.submit(
            Op(
                "INSERT INTO site_settings (name, value, revision) VALUES (:name, :off, 1) ON CONFLICT (name) DO UPDATE "
                "SET value = excluded.value, revision = site_settings.revision + 1 WHERE site_settings.value IS NOT DISTINCT FROM :before",
                {"name": SERVER_CLOCK, "off": off, "before": told["off"]},
            )
        )
        self._off = off


def _range(began: str) -> float:
    return crc32(began.encode()) % RANGES * RANGE_SECONDS


def _corrected(told: Mapping[str, Any]) -> float:
    """How far the server's clock is off since it was set; 0 where it never was in this life of the server."""
    off = {} if told["off"] is None else json.loads(told["off"])
    return float(off["seconds"]) if off.get("began") == told["began"] else 0.0
