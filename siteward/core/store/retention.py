"""What is old leaves the database, in small batches between the writes of the day: runs that ended, their steps and questions, and then the events,
pictures and updates that nothing refers to any more. What is open, and what nobody has seen yet, stays however old it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import orjson
from sqlalchemy import Select, exists, select

from siteward.core.clock import Clock
from siteward.core.store.schema import alerts, events, media, outbox, waits, workflow_approvals, workflow_runs
from siteward.core.store.store import Store
from siteward.core.store.writer import Op

KEPT_DAYS: Final = 30
BATCH: Final = 50
"""Rows that one write takes away: what holds up nobody who waits for the next commit."""
ONCE_SECONDS: Final = 24 * 3600.0
TRUSTED_AFTER: Final = 3600.0
"""For so long the two clocks must agree before anything is called old: a wall clock that is wrong for a moment must not empty a site."""
DRIFT_SECONDS: Final = 60.0

_OF_A_RUN: Final = ("workflow_tool_calls", "workflow_run_steps", "workflow_approvals", "waits", "logs")
_ALIVE: Final = ("running", "waiting")


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows left."""

    runs: int
    events: int
    pictures: int


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
        return await prune(self._store, wall - KEPT_DAYS * 24 * 3600.0)


async def prune(store: Store, before: float) -> Pruned:
    """Take away what ended before this time (seconds since 1970). Raises what the store raises; what was taken away until then stays so."""
    runs = 0
    ended = select(workflow_runs.c.id).where(workflow_runs.c.state.not_in(_ALIVE), workflow_runs.c.ended_at < before)
    while found := await _some(store, ended):
        of_them = [_delete(table, "run_id", found) for table in _OF_A_RUN]
        await store.submit(*of_them, _delete("workflow_runs", "id", found))
        runs += len(found)
    unused = select(events.c.id).where(
        events.c.accepted_at < before,
        events.c.matched.is_not(None),
        ~exists().where(workflow_runs.c.event_id == events.c.id),
    )
    gone = await _all(store, "events", unused)
    await _all(store, "alerts", select(alerts.c.id).where(alerts.c.at < before, alerts.c.acknowledged_at.is_not(None)))
    await _all(store, "outbox", select(outbox.c.id).where(outbox.c.at < before))
    over = select(waits.c.id).where(waits.c.run_id.is_(None), waits.c.state != "open", waits.c.due_at < before)
    await _all(store, "waits", over)
    await store.submit(*_counters(before))
    return Pruned(runs, gone, await _pictures(store, before))


async def _some(store: Store, query: Select[Any]) -> list[Any]:
    return [next(iter(row.values())) for row in await store.read(query.limit(BATCH))]


async def _all(store: Store, table: str, query: Select[Any]) -> int:
    count = 0
    while found := await _some(store, query):
        await store.submit(_delete(table, "id", found))
        count += len(found)
    return count


async def _pictures(store: Store, before: float) -> int:
    """Pictures that no event, run, question or alert shows."""
    attached = await store.read(select(alerts.c.attach).where(alerts.c.attach != "[]"))
    shown = {item for row in attached for item in orjson.loads(row["attach"]) if isinstance(item, str)}
    alive = await store.read(select(workflow_runs.c.position).where(workflow_runs.c.state.in_(_ALIVE)))
    shown |= {orjson.loads(row["position"]).get("looked_at") for row in alive}
    last, count = "", 0
    old = select(media.c.id).where(media.c.at < before).order_by(media.c.id)
    while found := await _some(store, old.where(media.c.id > last)):
        last = found[-1]
        shown_now = shown | await _referred(store, found)
        unused = [media_id for media_id in found if media_id not in shown_now]
        if unused:
            await store.submit(_delete("media", "id", unused))
        count += len(unused)
    return count


async def _referred(store: Store, ids: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for column in (events.c.picture, workflow_runs.c.newest_picture, workflow_approvals.c.picture):
        found |= {row["picture"] for row in await store.read(select(column.label("picture")).where(column.in_(ids)))}
    return found


def _delete(table: str, column: str, ids: Iterable[Any]) -> Op:
    params = {f"id{number}": one for number, one in enumerate(ids)}
    return Op(f"DELETE FROM {table} WHERE {column} IN ({', '.join(f':{name}' for name in params)})", params)


def _counters(before: float) -> tuple[Op, ...]:
    hour = datetime.fromtimestamp(before, UTC).strftime("%Y-%m-%dT%H")
    return (
        Op("DELETE FROM counters WHERE name <> 'cooldown' AND bucket < :hour", {"hour": hour}),
        Op("DELETE FROM counters WHERE name = 'cooldown' AND until < :before", {"before": before}),
    )
