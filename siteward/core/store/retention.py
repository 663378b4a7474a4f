"""What is old leaves the database: runs that ended, their steps and questions, and then the events, pictures and updates that nothing refers to any
more. What is open, and what nobody has seen yet, stays however old it is.

It must hold up nobody. Rows are found by their key, from a place that goes on and never from the beginning again, on a reader's connection; what leaves
goes in writes of a few milliseconds, and after each of them this rests for as long as it took. Ids carry their time, so that "old" is a range of
the key and needs no index of its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from siteward.core.clock import Clock
from siteward.core.ids import first_at
from siteward.core.store.statements import Op
from siteward.core.store.store import Store

DAY: Final = 24 * 3600.0
KEPT_DAYS: Final = 30
AUDIT_DAYS: Final = 400
"""Who did what stays for a year and a month, so that the same day of last year can still be looked up."""
UPDATES_DAYS: Final = 1
"""Live updates are for pages that are open, or were a moment ago."""
BATCH: Final = 50
"""Runs, or other rows that others hang on, that one write takes away."""
ROWS: Final = 250
"""Rows that nothing hangs on that one write takes away."""
BYTES: Final = 4 * 1024 * 1024
"""Pictures that one write takes away: all of their pages are touched."""
PAGES: Final = 64
"""Free pages that one write gives back to the disk."""
SPARE: Final = 0.2
"""So much of the file may stay free, for the day that comes."""
LONGEST_REST: Final = 0.25
ONCE_SECONDS: Final = DAY
TRUSTED_AFTER: Final = 3600.0
"""For so long the two clocks must agree before anything is called old: a wall clock that is wrong for a moment must not empty a site."""
DRIFT_SECONDS: Final = 60.0

_OF_A_RUN: Final = ("workflow_tool_calls", "workflow_run_steps", "workflow_approvals", "waits")
_ALIVE: Final = "('running', 'waiting')"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ages:
    """Before when (seconds since 1970) each kind of row is old."""

    runs: float
    audit: float
    updates: float

    @classmethod
    def of(cls, now: float, kept_days: float = KEPT_DAYS) -> Ages:
        """The ages at a time. The audit stays for longer than what it speaks of, however long that is kept."""
        audit = max(AUDIT_DAYS, kept_days)
        return cls(now - kept_days * DAY, now - audit * DAY, now - min(UPDATES_DAYS, kept_days) * DAY)


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows left."""

    runs: int = 0
    events: int = 0
    pictures: int = 0
    alerts: int = 0
    audit: int = 0


class Retention:
    """Prunes once a day, as long as the clocks can be believed. `tick` is called now and then by whoever owns a loop of that kind."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._agree_since: tuple[float, float] | None = None
        self._last: float | None = None

    async def tick(self) -> Pruned | None:
        """Prune where it is time; None where it is not."""
        wall, boot = self._clock.now().timestamp(), self._clock.since_boot()
        if (
            self._agree_since is None
            or abs((wall - self._agree_since[0]) - (boot - self._agree_since[1])) > DRIFT_SECONDS
        ):
            self._agree_since = (wall, boot)
        if boot - self._agree_since[1] < TRUSTED_AFTER or (self._last is not None and boot - self._last < ONCE_SECONDS):
            return None
        self._last = boot
        return await prune(self._store, Ages.of(wall))


async def prune(store: Store, ages: Ages) -> Pruned:
    """Take away what is old. Raises what the store raises; what was taken away until then stays so."""
    pruning = _Pruning(store, ages)
    done = Pruned(runs=await pruning.runs(), alerts=await pruning.alerts())
    done = replace(done, events=await pruning.events(), audit=await pruning.audit())
    await pruning.logs()
    await pruning.waits()
    await pruning.updates()
    await pruning.counters()
    done = replace(done, pictures=await pruning.pictures())
    await pruning.give_back()
    return done


async def would_prune(store: Store, ages: Ages) -> Pruned:
    """How much `prune` would take away; nothing is. Pictures are those of the age: some of them may still be shown."""
    old = {"before": ages.runs, "bound": first_at(ages.runs), "audit": ages.audit}
    counted = {
        "runs": f"SELECT count(*) AS found FROM workflow_runs WHERE id < :bound AND state NOT IN {_ALIVE} AND ended_at < :before",
        "events": "SELECT count(*) AS found FROM events WHERE accepted_at < :before AND matched IS NOT NULL AND NOT EXISTS (SELECT 1 "
        f"FROM workflow_runs r WHERE r.event_id = events.id AND (r.state IN {_ALIVE} OR r.ended_at >= :before OR r.id >= :bound))",
        "pictures": "SELECT count(*) AS found FROM media WHERE id < :bound",
        "alerts": "SELECT count(*) AS found FROM alerts WHERE id < :bound AND acknowledged_at IS NOT NULL",
        "audit": "SELECT count(*) AS found FROM audit WHERE at < :audit",
    }
    return Pruned(**{name: (await store.fetch(sql, old))[0]["found"] for name, sql in counted.items()})


class _Pruning:
    """One pass over the database."""

    def __init__(self, store: Store, ages: Ages) -> None:
        self._store = store
        self._ages = ages
        self._bound = first_at(ages.runs)

    async def runs(self) -> int:
        """Runs that ended, with what is theirs alone."""
        sql = f"SELECT id FROM workflow_runs WHERE id > :last AND id < :bound AND state NOT IN {_ALIVE} AND ended_at < :before ORDER BY id LIMIT :most"
        count = 0
        async for rows in self._pages(sql, BATCH):
            ids = [row["id"] for row in rows]
            await self._write(
                *(_delete(table, "run_id", ids) for table in _OF_A_RUN), _delete("workflow_runs", "id", ids)
            )
            count += len(ids)
        return count

    async def logs(self) -> None:
        """Lines of runs that left."""
        await self._each(
            "logs",
            "NOT EXISTS (SELECT 1 FROM workflow_runs r WHERE r.id = logs.run_id)",
            "id < :bound AND at < :before",
        )

    async def waits(self) -> None:
        """Waits of schedules that are over."""
        await self._each("waits", "run_id IS NULL AND state <> 'open' AND due_at < :before", "id < :bound")

    async def alerts(self) -> int:
        """Alerts that somebody acknowledged."""
        return await self._each("alerts", "acknowledged_at IS NOT NULL", "id < :bound AND at < :before")

    async def _each(self, table: str, which: str, old: str) -> int:
        """Rows of a table whose ids carry their time."""
        sql = f"SELECT id FROM {table} WHERE id > :last AND {old} AND {which} ORDER BY id LIMIT :most"
        count = 0
        async for rows in self._pages(sql, ROWS):
            await self._write(_delete(table, "id", [row["id"] for row in rows]))
            count += len(rows)
        return count

    async def events(self) -> int:
        """Events that no run needs any more, by type: their ids are whatever their source gave them."""
        count = 0
        kind = await self._type_after("")
        while kind is not None:
            async for rows in self._of_type(kind):
                await self._write(_delete("events", "id", [row["id"] for row in rows]))
                count += len(rows)
            kind = await self._type_after(kind)
        return count

    async def _type_after(self, last: str) -> str | None:
        found: str | None = (
            await self._store.fetch("SELECT min(type) AS found FROM events WHERE type > :last", {"last": last})
        )[0]["found"]
        return found

    async def _of_type(self, kind: str) -> AsyncIterator[list[Row]]:
        sql = (
            "SELECT id, at FROM events WHERE type = :type AND at >= :at AND (at > :at OR id > :id) AND at < :before AND accepted_at < :before "
            "AND matched IS NOT NULL AND NOT EXISTS (SELECT 1 FROM workflow_runs r WHERE r.event_id = events.id) "
            "ORDER BY at, id LIMIT :most"
        )
        place = {"type": kind, "at": float("-inf"), "id": "", "before": self._ages.runs, "most": BATCH}
        while rows := await self._store.fetch(sql, place):
            yield rows
            place |= {"at": rows[-1]["at"], "id": rows[-1]["id"]}

    async def audit(self) -> int:
        """What was done longer ago than the audit goes back."""
        sql = "SELECT id FROM audit WHERE at < :audit ORDER BY at, id LIMIT :most"
        count = 0
        while rows := await self._store.fetch(sql, {"audit": self._ages.audit, "most": ROWS}):
            await self._write(_delete("audit", "id", [row["id"] for row in rows]))
            count += len(rows)
        return count

    async def updates(self) -> None:
        """Live updates, in the order in which they were told: the first that is young ends it."""
        sql = "SELECT id, at FROM outbox ORDER BY id LIMIT :most"
        while rows := await self._store.fetch(sql, {"most": ROWS}):
            old = [row["id"] for row in rows if row["at"] < self._ages.updates]
            if old:
                await self._write(Op("DELETE FROM outbox WHERE id <= :last", {"last": max(old)}))
            if len(old) < len(rows):
                return

    async def counters(self) -> None:
        """Counts of hours that are past, and cooldowns that are over. The key begins with what is counted, so all of it is read once; what is old
        is found by the reader and leaves by its key."""
        hour = datetime.fromtimestamp(self._ages.runs, UTC).strftime("%Y-%m-%dT%H")
        sql = (
            "SELECT scope, name, bucket FROM counters WHERE scope >= :scope AND (scope > :scope OR name > :name OR (name = :name AND bucket > "
            ":bucket)) AND ((name <> 'cooldown' AND bucket < :hour) OR (name = 'cooldown' AND until < :before)) "
            "ORDER BY scope, name, bucket LIMIT :most"
        )
        place = {"scope": "", "name": "", "bucket": "", "hour": hour, "before": self._ages.runs, "most": ROWS}
        while rows := await self._store.fetch(sql, place):
            gone = "DELETE FROM counters WHERE scope = :scope AND name = :name AND bucket = :bucket"
            await self._write(*(Op(gone, row) for row in rows))
            place |= rows[-1]

    async def pictures(self) -> int:
        """Pictures that no event, run, question or alert shows."""
        shown = await self._shown()
        sql = "SELECT id, length(data) AS size FROM media WHERE id > :last AND id < :bound AND at < :before ORDER BY id LIMIT :most"
        count = 0
        async for rows in self._pages(sql, BATCH):
            unused = [row for row in rows if row["id"] not in shown]
            for together in _by_size(unused):
                await self._write(_delete("media", "id", together))
            count += len(unused)
        return count

    async def _shown(self) -> set[str]:
        """The old pictures that something still shows; what is old and in use is little, once the old runs and events are gone."""
        old = {"bound": self._bound}
        found: set[str] = set()
        for table, column in (
            ("events", "picture"),
            ("workflow_runs", "newest_picture"),
            ("workflow_approvals", "picture"),
        ):
            sql = f"SELECT DISTINCT {column} AS picture FROM {table} WHERE {column} < :bound"
            found |= {row["picture"] for row in await self._store.fetch(sql, old)}
        for row in await self._store.fetch("SELECT attach FROM alerts WHERE attach <> '[]'"):
            found |= {item for item in orjson.loads(row["attach"]) if isinstance(item, str)}
        for row in await self._store.fetch(f"SELECT position FROM workflow_runs WHERE state IN {_ALIVE}"):
            found.add(orjson.loads(row["position"]).get("looked_at") or "")
        return found

    async def give_back(self) -> None:
        """What is free beyond what tomorrow needs goes back to the disk."""
        more = True
        while more:
            begun = time.perf_counter()
            more = await self._store.give_back(PAGES, SPARE)
            await _rest(begun)

    # -- paging and writing --------------------------------------------------------------------------------------------
    async def _pages(self, sql: str, most: int) -> AsyncIterator[list[Row]]:
        """Pages of a query by id, each from where the last one ended."""
        params = {"last": "", "bound": self._bound, "before": self._ages.runs, "most": most}
        named = {name: value for name, value in params.items() if f":{name}" in sql}
        while rows := await self._store.fetch(sql, named):
            yield rows
            named["last"] = rows[-1]["id"]

    async def _write(self, *ops: Op) -> None:
        """One write, and a rest of the same length: half of the disk is left to others."""
        begun = time.perf_counter()
        await self._store.submit(*ops)
        await _rest(begun)


async def _rest(begun: float) -> None:
    await asyncio.sleep(min(time.perf_counter() - begun, LONGEST_REST))


def _by_size(rows: Iterable[Row]) -> Iterable[list[str]]:
    """Ids in groups of at most `BYTES` (one that is larger goes alone)."""
    together: list[str] = []
    size = 0
    for row in rows:
        if together and size + row["size"] > BYTES:
            yield together
            together, size = [], 0
        together.append(row["id"])
        size += row["size"]
    if together:
        yield together


def _delete(table: str, column: str, ids: Sequence[str]) -> Op:
    params = {f"id{number}": one for number, one in enumerate(ids)}
    return Op(f"DELETE FROM {table} WHERE {column} IN ({', '.join(f':{name}' for name in params)})", params)
