"""From event to runs. An event is accepted once its row is committed; then it is matched, in one transaction for all its workflows.

The match rides behind the event's own write, so that the usual event waits for the disk once. It rests on what this process remembers and is
written under the condition that the rows say the same; who loses that race decides again from the rows. So an event makes its runs exactly
once, whatever crashes or arrives in between.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakValueDictionary

from siteward.core.engine import rows
from siteward.core.engine.admission import BROKEN, Admission, Decided
from siteward.core.engine.catalog import Catalog
from siteward.core.engine.hints import Hints
from siteward.core.engine.matcher import NOTHING, Found
from siteward.core.engine.parts import Parts
from siteward.core.engine.pokes import EVENTS
from siteward.core.engine.views import Run
from siteward.core.events.event import Event
from siteward.core.store.errors import CommitFailed, LostRace, ReadFailed
from siteward.core.store.writer import Op

_log = logging.getLogger(__name__)

ATTEMPTS: Final = 8
"""How often a decision is made again because something changed meanwhile, before the event is left to the next sweep."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted event: whether it is new, the runs that it made (also those that were over at once), and those that are to be driven."""

    new: bool
    runs: tuple[str, ...] = ()
    started: tuple[Run, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What all workflows together make of an event."""

    each: Sequence[Decided]
    broken: Sequence[Op]
    broken_by: Sequence[str] = ()

    @property
    def ops(self) -> list[Op]:
        return [*self.broken, *(op for one in self.each for op in one.ops)]

    @property
    def made(self) -> int:
        return sum(one.made for one in self.each)

    @property
    def started(self) -> tuple[Run, ...]:
        return tuple(one.run for one in self.each if one.run is not None)


class Acceptance:
    """Takes events in."""

    def __init__(self, parts: Parts, catalog: Catalog, admission: Admission, hints: Hints) -> None:
        self._parts = parts
        self._catalog = catalog
        self._admission = admission
        self._hints = hints
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def accept(self, event: Event) -> Accepted:
        """Accept an event and match it. Raises `CommitFailed` where it is not sure that the event is kept: its source should send it again."""
        parts = self._parts
        found = self._find(event)
        if found is NOTHING:
            return await self._keep(event)
        if not self._hints.useful:
            return await self._at_once(event, found)
        kept = parts.store.send(rows.new_event(event, parts.now()))
        return await self._kept(event, kept, self._ride(event, found))

    async def _kept(
        self, event: Event, kept: asyncio.Future[None], matching: Awaitable[tuple[Run, ...] | None]
    ) -> Accepted:
        """An event whose write is under way, with its match behind it."""
        try:
            started = await matching
        except BaseException:
            kept.add_done_callback(_heard)
            raise
        # What became of the event is known by now.
        return await self._accepted(event, await self._is_new(event, kept), started)

    async def _is_new(self, event: Event, kept: asyncio.Future[None]) -> bool:
        """Whether the event was not known before, once that is committed."""
        try:
            await kept
        except LostRace:
            return False
        self._parts.boundaries.reach("event.accepted")
        self._parts.meters.event_accepted(event.type)
        return True

    async def _accepted(self, event: Event, new: bool, started: tuple[Run, ...] | None) -> Accepted:
        """What an event that is kept made; where its match did not ride with it, once that is made by the rows."""
        if started is None:
            try:
                started = await self._match(event)
            except (LostRace, CommitFailed, ReadFailed):
                _log.warning(
                    "Event %s is accepted and not matched yet; the next sweep does it.", event.id, exc_info=True
                )
                return Accepted(new)
        if new or started:
            return Accepted(new, tuple(run.id for run in started), started)
        return Accepted(False, await self._runs_of(event.id))

    async def _ride(self, event: Event, found: Found) -> tuple[Run, ...] | None:
        """Match an event whose own write is under way; None where the rows have to be asked."""
        try:
            return await self._written(event, await self._decide(event, found, look=False))
        except ReadFailed:
            return None

    async def _written(self, event: Event, decision: Decision) -> tuple[Run, ...] | None:
        try:
            await self._parts.store.send(*self._match_ops(event, decision))
        except (LostRace, CommitFailed):
            return None
        return self._made(decision)

    async def _keep(self, event: Event) -> Accepted:
        """Nobody wants it: it is kept for those who look back."""
        kept = self._parts.store.send(rows.new_event(event, self._parts.now(), matched=0))
        return await self._accepted(event, await self._is_new(event, kept), ())

    async def _at_once(self, event: Event, found: Found) -> Accepted:
        """Decide by the rows first and write both together, so that no other engine finds the event between the two."""
        async with self._alone_with(event):
            decision = await self._decide(event, found, look=True)
            kept = self._parts.store.send(rows.new_event(event, self._parts.now()))
            return await self._kept(event, kept, self._written(event, decision))

    @asynccontextmanager
    async def _alone_with(self, event: Event) -> AsyncIterator[None]:
        """Where each decision reads, those on one camera are made one after the other: of a burst that decides at once, all but one would have to
        decide again, and again."""
        if self._hints.useful:
            yield
            return
        turn = self._turns.get(event.camera or "")
        if turn is None:
            turn = self._turns[event.camera or ""] = asyncio.Lock()
        async with turn:
            yield

    async def leave(self, event: Event) -> Accepted:
        """Accept an event that another process of the site matches."""
        kept = self._parts.store.send(rows.new_event(event, self._parts.now()))
        self._parts.store.notify(EVENTS)
        return await self._accepted(event, await self._is_new(event, kept), ())

    def _match_ops(self, event: Event, decision: Decision) -> tuple[Op, ...]:
        in_turn = self._parts.in_turn if decision.ops else ()
        return (*in_turn, rows.event_matched(event.id, decision.made), *decision.ops)

    async def match(self, event: Event) -> tuple[Run, ...]:
        """Make the runs of an accepted event, by its rows. Returns those that are to be driven; none where it was matched already. Raises
        `LostRace` where its workflows changed at each attempt."""
        async with self._alone_with(event):
            return await self._match(event)

    async def _match(self, event: Event) -> tuple[Run, ...]:
        for _ in range(ATTEMPTS):
            decision = await self._decide(event, self._find(event), look=True)
            try:
                await self._parts.store.submit(*self._match_ops(event, decision))
            except LostRace:
                if await self._is_matched(event.id):
                    return ()
                continue
            return self._made(decision)
        raise LostRace(f"Event {event.id} could not be matched: its workflows changed at each attempt.", where=event.id)

    def _made(self, decision: Decision) -> tuple[Run, ...]:
        """The decision is committed."""
        self._parts.boundaries.reach("event.matched")
        for workflow_id in decision.broken_by:
            self._parts.meters.refused(workflow_id, BROKEN)
        for one in decision.each:
            one.tell(self._parts.meters)
            if (held := one.holding) is not None:
                self._hints.started(held.key, held.alive, held.cooling, held.hour)
        return decision.started

    def _find(self, event: Event) -> Found:
        """What the event may start, of those whose provider is here now: one that went is out of the index only with the next one."""
        found, triggers = self._catalog.index.find(event), self._parts.skills.triggers
        if all(match.use.name in triggers for match in found.matches):
            return found
        return Found([match for match in found.matches if match.use.name in triggers], found.broken)

    async def _decide(self, event: Event, found: Found, *, look: bool) -> Decision:
        """What each workflow makes of the event; and a counter for each trigger that broke over it, so that it holds up no other."""
        broken: list[Op] = []
        for match, error in found.broken:
            _log.error("Event %s cannot start %s.", event.id, match.plan.name, exc_info=error)
            broken += self._admission.counted(match.scope, event, BROKEN, error.sentence)
        each = [await self._admission.decide(match, event, look=look) for match in found.matches]
        return Decision(each, broken, [match.plan.workflow_id for match, _ in found.broken])

    async def _is_matched(self, event_id: str) -> bool:
        found = await self._parts.store.fetch("SELECT matched FROM events WHERE id = :id", {"id": event_id})
        return not found or found[0]["matched"] is not None

    async def _runs_of(self, event_id: str) -> tuple[str, ...]:
        query = "SELECT id FROM workflow_runs WHERE event_id = :event AND mode IN ('on', 'test') ORDER BY id"
        return tuple(row["id"] for row in await self._parts.store.fetch(query, {"event": event_id}))


def _heard(write: asyncio.Future[Any]) -> None:
    """The outcome of a write that nobody waits for any more."""
    if not write.cancelled():
        write.exception()
