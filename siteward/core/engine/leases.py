"""Who of several processes on one database does what: each beats, and who has not beaten for a while has lost its runs to the others.

One beat per process, not per run, by the database's clock alone: no two machines need to agree on the time. A lease only says who may take what;
that a late process changes nothing is the fence's work, which every taker raises. For PostgreSQL: an SQLite file has one process.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from siteward.core.engine.parts import Parts
from siteward.core.errors import SitewardError
from siteward.core.store.errors import LostRace
from siteward.core.store.statements import IN_TURN
from siteward.core.store.store import Store
from siteward.core.store.writer import Op

_log = logging.getLogger(__name__)

BEAT_SECONDS: Final = 3.0
LEASE_SECONDS: Final = 15
"""Who was silent for longer has lost what it held."""
LET_GO_SECONDS: Final = 12.0
"""Who could not beat for so long lets go of what only one process may hold, before another one takes it."""
BATCH: Final = 100
"""Runs that are taken from the dead in one write."""
ROUNDS: Final = 100
FORGOTTEN_SECONDS: Final = 24 * 3600
UPKEEP: Final = "upkeep"
"""The lease of the one process that prunes and says what workflows miss."""

_NOW: Final = "EXTRACT(EPOCH FROM clock_timestamp())::float8"
_ALIVE: Final = f"SELECT engines.id FROM engines WHERE engines.beat_at > {_NOW} - {LEASE_SECONDS}"
_STANDING: Final = (
    "FROM workflow_runs WHERE workflow_runs.state IN ('running', 'waiting') "
    f"AND (workflow_runs.lease_owner IS NULL OR workflow_runs.lease_owner NOT IN ({_ALIVE}))"
)
_SEEN: Final = f"SELECT workflow_runs.id, workflow_runs.state {_STANDING} ORDER BY workflow_runs.state, workflow_runs.id LIMIT {BATCH}"
_LIVING: Final = f"SELECT id, name, drives, beat_at - started_at AS seconds FROM engines WHERE beat_at > {_NOW} - {LEASE_SECONDS} ORDER BY name"

Changed = Callable[[], None]


class Replaced(SitewardError):
    """Another process serves the site under this one's name."""

    code = "engine.replaced"


class Leases:
    """This process among the others."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._wanted: tuple[str, ...] = ()
        self._held: frozenset[str] = frozenset()
        self._beaten = 0.0
        self._listeners: list[Changed] = []
        self.place = (0, 1)
        """Which one of the engines this is, of how many, as of the last beat: for sharing what comes without asking."""
        self.replaced = asyncio.Event()
        """Another process has taken this one's name: it must end."""

    @property
    def owner(self) -> str:
        """This process, as the rows of its runs name it."""
        return self._parts.owner

    # -- life ----------------------------------------------------------------------------------------------------------
    async def join(self) -> None:
        """Be one of them. Who had this name before is dead, or has to end: what it held is free at once."""
        owner, name = self._parts.owner, self._parts.name
        sent = time.monotonic()
        await self._parts.store.submit(
            Op(IN_TURN),
            Op("DELETE FROM engines WHERE name = :name", {"name": name}),
            _joined(owner, name, self._parts.drives),
        )
        self._beaten = sent
        await self._take_leases()

    async def leave(self) -> None:
        """Be none of them any more: what is left is free at once."""
        await self._parts.store.submit(Op("DELETE FROM engines WHERE id = :id", {"id": self._parts.owner}))

    async def run(self) -> None:
        """Beat for ever. By the machine's own seconds: a wall clock that is set must not stop a heart."""
        while not self.replaced.is_set():
            await asyncio.sleep(BEAT_SECONDS)
            try:
                await self.beat()
            except SitewardError:
                _log.warning("The database did not take a beat of this engine.", exc_info=True)
                self._let_go_late()

    async def beat(self) -> None:
        """Say that this process is alive, and take what nobody holds. Raises what the store raises."""
        self._let_go_late()
        sent = time.monotonic()
        try:
            await self._parts.store.submit(_beats(self._parts.owner))
        except LostRace:
            await self._again()
            return
        if sent - self._beaten > LEASE_SECONDS:
            _log.warning("This engine was silent for %.0f s: others may have taken its runs.", sent - self._beaten)
        self._beaten = sent
        await self._take_leases()
        if self._parts.at_beat is not None:
            await self._parts.at_beat()

    async def _again(self) -> None:
        """Its row is gone: another process has its name, or it was silent for so long that it was forgotten."""
        found = await self._parts.store.fetch("SELECT id FROM engines WHERE name = :name", {"name": self._parts.name})
        if not found:
            await self.join()
            return
        _log.error("Another process serves this site as %s: this one ends.", self._parts.name)
        self._hold(frozenset())
        self.replaced.set()

    # -- what only one may do ------------------------------------------------------------------------------------------
    def want(self, names: Iterable[str], changed: Changed) -> None:
        """Hold these leases whenever nobody else does; `changed` is called on the loop whenever what is held changed."""
        self._wanted = tuple(dict.fromkeys((*self._wanted, *names)))
        self._listeners.append(changed)

    def holds(self, name: str) -> bool:
        """Whether this process holds a lease."""
        return name in self._held

    async def _take_leases(self) -> None:
        names = (UPKEEP, *self._wanted) if self._parts.drives else ()
        if names:
            await self._parts.store.submit(*[_leased(name, self._parts.owner) for name in names])
            query = "SELECT name FROM leases WHERE owner = :owner"
            found = await self._parts.store.fetch(query, {"owner": self._parts.owner})
            self._hold(frozenset(row["name"] for row in found))
            driving = [row["id"] for row in await self.living() if row["drives"]]
            if self._parts.owner in driving:
                self.place = (driving.index(self._parts.owner), len(driving))

    def _let_go_late(self) -> None:
        if self._held and time.monotonic() - self._beaten > LET_GO_SECONDS:
            _log.warning("This engine could not say that it is alive, and lets go of what another one will take.")
            self._hold(frozenset())

    def _hold(self, held: frozenset[str]) -> None:
        before, self._held = self._held, held
        if before != held:
            for changed in self._listeners:
                changed()

    # -- runs ----------------------------------------------------------------------------------------------------------
    async def take_up(self) -> set[str] | None:
        """Take the runs of the dead, and those that nobody has. Several who take at once share them. Returns the running ones among those that were
        seen (who took one finds it among its own), None where there was none to take."""
        seen: set[str] | None = None
        for _ in range(ROUNDS):
            standing = await self._parts.store.fetch(_SEEN)
            if not standing:
                break
            seen = (seen or set()) | {row["id"] for row in standing if row["state"] == "running"}
            await self._parts.store.submit(_take_standing(self._parts.owner))
        return seen

    async def forget(self) -> None:
        """Rows of processes that ended long ago."""
        old = f"DELETE FROM engines WHERE beat_at < {_NOW} - {FORGOTTEN_SECONDS}"
        await self._parts.store.submit(Op(old))

    async def living(self) -> list[dict[str, Any]]:
        """Who is alive (see `living`)."""
        return await living(self._parts.store)


async def living(store: Store) -> list[dict[str, Any]]:
    """The processes that are at work on a shared database: `id`, `name`, whether each `drives` runs, and `seconds` since its start. Raises `ReadFailed`."""
    return await store.fetch(_LIVING)


def claim_own(run_id: str, owner: str) -> Op:
    """Take a running run that is ours already, or nobody's; whoever drove it before is fenced off (see `rows.claim_run`)."""
    return Op(
        "UPDATE workflow_runs SET fence = fence + 1, lease_owner = :owner "
        "WHERE id = :id AND state = 'running' AND (lease_owner IS NULL OR lease_owner = :owner)",
        {"id": run_id, "owner": owner},
        expect=1,
    )


def unless_busy(change: Op) -> Op:
    """The same change of one run, which loses its race where somebody is just writing that run."""
    found = "WHERE id = :id"
    free = "WHERE id IN (SELECT r.id FROM workflow_runs r WHERE r.id = :id FOR UPDATE SKIP LOCKED)"
    return change._replace(sql=change.sql.replace(found, free, 1))


def _joined(owner: str, name: str, drives: bool) -> Op:
    sql = f"INSERT INTO engines (id, name, drives, started_at, beat_at) VALUES (:id, :name, :drives, {_NOW}, {_NOW})"
    return Op(sql, {"id": owner, "name": name, "drives": drives}, expect=1)


def _beats(owner: str) -> Op:
    return Op(f"UPDATE engines SET beat_at = {_NOW} WHERE id = :id", {"id": owner}, expect=1)


def _leased(name: str, owner: str) -> Op:
    return Op(
        "INSERT INTO leases (name, owner) VALUES (:name, :owner) ON CONFLICT (name) DO UPDATE SET owner = excluded.owner "
        f"WHERE leases.owner <> excluded.owner AND leases.owner NOT IN ({_ALIVE})",
        {"name": name, "owner": owner},
    )


def _take_standing(owner: str) -> Op:
    """The running ones first: a person may be waiting. A waiting run keeps its fence, so that who wakes it just then still can."""
    return Op(
        f"WITH standing AS MATERIALIZED (SELECT workflow_runs.id {_STANDING} "
        f"ORDER BY workflow_runs.state, workflow_runs.id LIMIT {BATCH} FOR UPDATE SKIP LOCKED) "
        "UPDATE workflow_runs SET lease_owner = :owner, "
        "fence = workflow_runs.fence + CASE WHEN workflow_runs.state = 'running' THEN 1 ELSE 0 END "
        "FROM standing WHERE workflow_runs.id = standing.id",
        {"owner": owner},
    )
