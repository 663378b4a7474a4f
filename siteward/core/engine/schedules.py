"""Schedules as due-time rows: one per schedule trigger of a workflow that takes events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import select

from siteward.core.clock import is_set
from siteward.core.contract.document import TriggerUse
from siteward.core.contract.registry import Provenance
from siteward.core.engine import rows
from siteward.core.engine.catalog import Catalog
from siteward.core.engine.matcher import SCHEDULE, name_of_use, plain_settings, when_of
from siteward.core.engine.parts import Parts
from siteward.core.engine.records import engine_alert
from siteward.core.engine.schedule import Missed, catch_up
from siteward.core.errors import ConfigurationInvalid
from siteward.core.events.event import Event
from siteward.core.store.errors import LostRace
from siteward.core.store.schema import OPEN_WAIT, waits
from siteward.core.store.writer import Op

_log = logging.getLogger(__name__)

Accept = Callable[[Event], Awaitable[object]]
"""Takes a due schedule's event in."""


class Schedules:
    """Keeps the due-time rows and fires them."""

    def __init__(self, parts: Parts, catalog: Catalog, accept: Accept) -> None:
        self._parts = parts
        self._catalog = catalog
        self._accept = accept
        self._keeping = asyncio.Lock()
        """Two who look at once would both add what is missing."""

    async def keep(self) -> None:
        """Make the rows that are missing and end those of schedules that are no more. A row that is there keeps its due time: a restart
        neither skips nor repeats. Only one that waits for longer than its schedule ever does comes from a clock that was ahead then, and is
        dated anew; a time that had fired already does not fire again, since its event is known. While nobody has set the clock since the
        machine has power, nothing is known of when anything is due."""
        async with self._keeping:
            if is_set(self._parts.clock.now()):
                await self._keep()

    async def _keep(self) -> None:
        wanted = dict(self._wanted())
        held = await self._parts.store.read(select(waits).where(OPEN_WAIT, waits.c.kind == SCHEDULE))
        ops = [_end(row["id"]) for row in held if rows.load(row["payload"])["key"] not in wanted]
        known = {rows.load(row["payload"])["key"] for row in held}
        ops += [op for row in held if (op := self._earlier(row, wanted)) is not None]
        for key, use in wanted.items():
            if key not in known and (due := self._next(use, self._parts.clock.now())) is not None:
                ops.append(self._row(key, due))
        if ops:
            await self._parts.store.submit(*ops)

    def _earlier(self, row: Mapping[str, Any], wanted: Mapping[str, TriggerUse]) -> Op | None:
        use = wanted.get(rows.load(row["payload"])["key"])
        due = None if use is None else self._next(use, self._parts.clock.now())
        return None if due is None or due.timestamp() >= row["due_at"] else _redate(row, due)

    async def next_due(self) -> datetime | None:
        """When the next schedule is due."""
        query = select(waits.c.due_at).where(OPEN_WAIT, waits.c.kind == SCHEDULE).order_by(waits.c.due_at).limit(1)
        found = await self._parts.store.read(query)
        return rows.moment(found[0]["due_at"]) if found else None

    async def fire_due(self) -> bool:
        """Fire what is due; whether anything was."""
        query = select(waits).where(OPEN_WAIT, waits.c.kind == SCHEDULE, waits.c.due_at <= self._parts.now())
        found = await self._parts.store.read(query.order_by(waits.c.due_at))
        uses = dict(self._wanted())
        for row in found:
            try:
                await self._fire(row, uses.get(rows.load(row["payload"])["key"]))
            except ConfigurationInvalid:
                # It can never be due again as it stands; the others are.
                _log.exception("The schedule %s cannot be read and ends.", row["payload"])
                await self._parts.store.submit(_end(row["id"]))
        return bool(found)

    async def _fire(self, row: Mapping[str, Any], use: TriggerUse | None) -> None:
        """The events first, by ids that a repeat gives again; then the row moves on. A crash between makes no second run."""
        if use is None:
            await self._parts.store.submit(_end(row["id"]))
            return
        key, now = rows.load(row["payload"])["key"], self._parts.clock.now()
        workflow_id = key.partition("/")[0]
        caught = catch_up(
            plain_settings(use), rows.moment(row["due_at"]), now, self._parts.site.zone, policy=_missed(use)
        )
        for due in caught.fire:
            await self._accept(self._event(key, workflow_id, use, due))
        self._parts.boundaries.reach("schedule.fired")
        moved = _end(row["id"]) if caught.next is None else _move(row, caught.next)
        said = self._said(workflow_id, key, use, caught.said, now)
        try:
            await self._parts.store.submit(moved, *said)
        except LostRace:
            _log.debug("Schedule %s moved on meanwhile.", key)

    def _wanted(self) -> list[tuple[str, TriggerUse]]:
        triggers = self._parts.skills.triggers
        return [
            (_key(workflow.id, use), use)
            for workflow in self._catalog
            for plan in (workflow.takes_events, workflow.beside)
            if plan is not None
            for use in plan.document.triggers
            if use.name in triggers and triggers[use.name].next_due is not None
        ]

    def _next(self, use: TriggerUse, after: datetime) -> datetime | None:
        trigger = self._parts.skills.triggers[use.name]
        if trigger.next_due is None:
            return None
        try:
            return trigger.next_due(plain_settings(use), after, self._parts.site.zone)
        except ConfigurationInvalid:
            _log.exception("The schedule at line %d cannot be read.", use.place.line)
            return None

    def _event(self, key: str, workflow_id: str, use: TriggerUse, due: datetime) -> Event:
        payload = {"schedule": plain_settings(use), "workflow": workflow_id, "trigger": name_of_use(use)}
        return Event(
            f"{SCHEDULE}:{key}:{due.timestamp():.0f}", SCHEDULE, SCHEDULE, Provenance.LITERAL, due, payload=payload
        )

    def _row(self, key: str, due: datetime) -> Op:
        return Op(
            "INSERT INTO waits (id, kind, due_at, state, payload) VALUES (:id, 'schedule', :due, 'open', :payload) "
            "ON CONFLICT (id) DO UPDATE SET due_at = excluded.due_at, state = 'open' WHERE waits.state <> 'open'",
            {"id": _row_id(key), "due": due.timestamp(), "payload": rows.dump({"key": key})},
        )

    def _said(self, workflow_id: str, key: str, use: TriggerUse, said: str | None, now: datetime) -> tuple[Op, ...]:
        if said is None:
            return ()
        name = self._catalog.get(workflow_id).name
        about = self._event(key, workflow_id, use, now)
        return engine_alert(self._parts, f"{name}: a schedule was missed", said, workflow_id=workflow_id, event=about)


def _key(workflow_id: str, use: TriggerUse) -> str:
    """A schedule by its workflow, its place and when it is due: an edit of the time makes a new one, one of what becomes of missed times does not."""
    said = plain_settings(use)
    if use.name == SCHEDULE:
        said = when_of(said)
    return f"{workflow_id}/{name_of_use(use)}/{rows.dump(said)}"


def _missed(use: TriggerUse) -> Missed:
    """What the file says of missed times; the triggers of integrations have no word for it."""
    return Missed(str(use.settings.get("missed", Missed.ONCE))) if use.name == SCHEDULE else Missed.ONCE


def _row_id(key: str) -> str:
    """Of several engines that make the row of a schedule, one makes it."""
    return f"schedule:{sha256(key.encode()).hexdigest()[:32]}"


def _end(wait_id: str) -> Op:
    return Op("UPDATE waits SET state = 'cancelled' WHERE id = :id AND state = 'open'", {"id": wait_id})


def _redate(row: Mapping[str, Any], due: datetime) -> Op:
    return Op(
        "UPDATE waits SET due_at = :next WHERE id = :id AND state = 'open' AND due_at = :due",
        {"id": row["id"], "due": row["due_at"], "next": due.timestamp()},
    )


def _move(row: Mapping[str, Any], due: datetime) -> Op:
    return Op(
        "UPDATE waits SET due_at = :next WHERE id = :id AND state = 'open' AND due_at = :due",
        {"id": row["id"], "due": row["due_at"], "next": due.timestamp()},
        expect=1,
    )
