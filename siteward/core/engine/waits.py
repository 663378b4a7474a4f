"""Waits end here: their time comes, a person replies, or an event arrives. Each end is one conditional write, and the first one wins."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, select, tuple_

from siteward.core.contract.document import TriggerUse
from siteward.core.engine import rows
from siteward.core.engine.also import Also, nothing_also
from siteward.core.engine.catalog import Catalog
from siteward.core.engine.matcher import TriggerBroken, fits
from siteward.core.engine.parts import Parts
from siteward.core.engine.position import Position, WakeNote, position_from_json, position_to_json, wait_from_json
from siteward.core.engine.seam import Labelled, RunState, WakeKind
from siteward.core.engine.values import plain, resolve_settings
from siteward.core.errors import ConfigurationInvalid, Conflict, NotAllowed, NotFound, SitewardError
from siteward.core.events.event import Event
from siteward.core.store.errors import LostRace
from siteward.core.store.schema import events, waits, workflow_approvals, workflow_run_steps, workflow_runs
from siteward.core.store.writer import Op

_log = logging.getLogger(__name__)

BATCH: Final = 100
"""Due rows fired at once; a burst after a long sleep goes on in the next round."""


OVERLAP_SECONDS: Final = 60.0
"""An event's row may be committed this much after the time that it carries; so far a look back overlaps the last one."""


class AlreadyAnswered(Conflict):
    """The question is no longer open: somebody answered it, its time was over, or its run ended."""

    code = "approval.closed"


class Waits:
    """Ends waits and wakes their runs. Methods return the runs that are to be driven now."""

    def __init__(self, parts: Parts, catalog: Catalog) -> None:
        self._parts = parts
        self._catalog = catalog
        self._looked: dict[str, float] = {}
        """Up to when (`accepted_at`) each open wait for an event has been looked through, by its id."""
        self._listened: set[str] = set()
        """Event types that a run waits for, or has waited for lately."""

    # -- their time comes ----------------------------------------------------------------------------------------------
    async def next_due(self) -> datetime | None:
        """When the next wait of a run is due."""
        query, params = self._own(_NEXT_DUE, {})
        found = await self._parts.store.fetch(query, params)
        return rows.moment(found[0]["due_at"]) if found else None

    async def fire_due(self, run_id: str | None = None) -> tuple[str, ...]:
        """End every wait (of one run) whose time has come."""
        query, params = self._own(_DUE, {}) if run_id is None else (_DUE_OF_RUN, {"run": run_id})
        due = await self._parts.store.fetch(query, {"now": self._parts.now(), "most": BATCH, **params})
        woken = await asyncio.gather(*(self._fire(row) for row in due))
        return tuple(found for found in woken if found is not None)

    def _own(self, query: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Of several engines each ends the waits of the runs that it holds: nobody races for them."""
        if self._parts.alone:
            return query.replace(_OWN, ""), params
        return query, {**params, "owner": self._parts.owner}

    async def _fire(self, row: Mapping[str, Any]) -> str | None:
        wait = wait_from_json(rows.load(row["payload"]))
        note = WakeNote(WakeKind.DUE, wait, self._parts.now(), self._parts.clock.since_boot())
        ops = [rows.take_wait(row["id"])]
        if wait.kind == "ask":
            # A reply that was committed before keeps the question, and this wait ends with it.
            ops += [_no_answer(row), self._closed(row["run_id"], "no_answer")]
        if wait.event_types:
            ops.append(_take_siblings(row))
        return await self._wake(row["run_id"], note, tuple(ops))

    # -- a person replies ----------------------------------------------------------------------------------------------
    async def answer(
        self, approval_id: str, reply: str, by: str, note: str | None = None, also: Also = nothing_also
    ) -> str | None:
        """Record a reply; the first one wins. `by` is `user:<name>`. Returns the run to drive, if it goes on.

        Raises `NotFound`, `NotAllowed`, `ConfigurationInvalid` (no such reply) and `AlreadyAnswered`.
        """
        approval = await self.approval(approval_id)
        await self._check_answer(approval, reply, by)
        now, boot = self._parts.now(), self._parts.clock.since_boot()
        try:
            await self._parts.store.submit(
                _answered(approval_id, reply, by, now, boot, note),
                _take_waits_of(approval["run_id"], approval["path"]),
                self._closed(approval["run_id"], "answered", approval_id, reply, by),
                *also(approval_id),
            )
        except LostRace:
            raise _already(await self.approval(approval_id)) from None
        self._parts.boundaries.reach("answer.committed")
        return await self._wake_answered(
            {**approval, "reply": reply, "answered_by": by, "answered_at": now, "answered_boot": boot, "note": note}
        )

    async def approval(self, approval_id: str) -> Mapping[str, Any]:
        """A question's row. Raises `NotFound`."""
        found = await self._parts.store.read(select(workflow_approvals).where(workflow_approvals.c.id == approval_id))
        if not found:
            raise NotFound("There is no such question.", where=approval_id)
        return found[0]

    async def _check_answer(self, approval: Mapping[str, Any], reply: str, by: str) -> None:
        if not await self._parts.site.may_answer(by, rows.load(approval["who"]), approval["camera"]):
            raise NotAllowed("This question is not for you: ask an admin to add you to those who are asked.")
        replies = [offered["reply"] for offered in rows.load(approval["replies"])]
        if reply not in replies:
            raise ConfigurationInvalid(f"{reply!r} is no reply to this question; choose one of {', '.join(replies)}.")
        if approval["rehearsal"]:
            raise ConfigurationInvalid("This question belongs to a test run: answer it as a rehearsal.")
        if approval["state"] != "open":
            raise _already(approval)
        if approval["due_at"] is not None and approval["due_at"] <= self._parts.now():
            raise AlreadyAnswered("The time for this question is over.")

    async def settle(self, run_id: str | None = None) -> tuple[str, ...]:
        """Wake runs (or one that has just parked) for what happened while nobody could wake them."""
        return (*await self._answered(run_id), *await self._missed_events(run_id))

    def _of(self, query: Select[Any], run_id: str | None) -> Select[Any]:
        """Of one run, or of all that this engine holds."""
        if run_id is not None:
            return query.where(workflow_runs.c.id == run_id)
        return query if self._parts.alone else query.where(workflow_runs.c.lease_owner == self._parts.owner)

    async def _answered(self, run_id: str | None) -> tuple[str, ...]:
        """Questions that were answered while their run was under way, or whose wake a crash cut off: the answer's row is the mailbox."""
        query = (
            select(workflow_approvals)
            .join(workflow_runs, workflow_runs.c.id == workflow_approvals.c.run_id)
            .join(workflow_run_steps, _same_step(workflow_approvals))
            .where(
                workflow_approvals.c.state == "answered",
                workflow_approvals.c.rehearsal.is_(False),
                workflow_runs.c.state == RunState.WAITING,
                workflow_run_steps.c.status == "waiting",
            )
        )
        query = self._of(query, run_id)
        woken = [await self._wake_answered(row) for row in await self._parts.store.read(query)]
        return tuple(found for found in woken if found is not None)

    async def _wake_answered(self, approval: Mapping[str, Any]) -> str | None:
        due = None if approval["due_at"] is None else approval["due_at"]
        note = WakeNote(
            WakeKind.REPLY,
            wait_from_json({"kind": "ask", "due": due, "payload": {"approval": approval["id"]}, "event_types": []}),
            approval["answered_at"],
            approval["answered_boot"],
            approval["reply"],
            approval["answered_by"],
            approval["note"],
        )
        return await self._wake(approval["run_id"], note, (), approval["path"])

    # -- an event arrives ----------------------------------------------------------------------------------------------
    async def listen(self) -> None:
        """Look which event types are waited for. What another engine's runs wait for since is found by the next look."""
        found = await self._parts.store.fetch(_LISTENED)
        self._listened = {row["event_type"] for row in found}

    def listens(self, types: Iterable[str]) -> None:
        """A run has just parked for events of these types."""
        self._listened.update(types)

    async def offer(self, event: Event) -> tuple[str, ...]:
        """Give an event to the runs that wait for one of its type."""
        if event.type not in self._listened and self._parts.alone:
            return ()
        open_now = await self._parts.store.fetch(_WAITING_FOR, {"type": event.type})
        woken = [await self._offer(row, event) for row in open_now]
        return tuple(run_id for run_id in woken if run_id is not None)

    async def _missed_events(self, run_id: str | None) -> tuple[str, ...]:
        """Events that were accepted between a step's start and its wait, or whose offer a crash cut off."""
        query = (
            select(waits, workflow_run_steps.c.started_at)
            .select_from(_with_run().join(workflow_run_steps, _same_step(waits)))
            .where(waits.c.state == "open", waits.c.event_type.is_not(None), workflow_runs.c.state == RunState.WAITING)
        )
        query = self._of(query, run_id)
        woken: dict[str, None] = {}
        open_now = await self._parts.store.read(query)
        if run_id is None:
            kept = {row["id"] for row in open_now}
            self._looked = {wait_id: until for wait_id, until in self._looked.items() if wait_id in kept}
        for row in open_now:
            if row["run_id"] not in woken and await self._look_back(row):
                woken[row["run_id"]] = None
        return tuple(woken)

    async def _look_back(self, row: Mapping[str, Any]) -> bool:
        """Offer a wait what was accepted since its step began and was not looked at yet, a page at a time: a wait of a day on a busy street must not read
        that street's day again at each sweep."""
        began = max(row["started_at"], self._looked.get(row["id"], 0.0) - OVERLAP_SECONDS)
        query = select(events).where(events.c.type == row["event_type"]).order_by(events.c.accepted_at, events.c.id)
        last: tuple[float, str] = (began, "")
        while found := await self._parts.store.read(
            query.where(tuple_(events.c.accepted_at, events.c.id) > tuple_(*last)).limit(BATCH)
        ):
            for one in found:
                if await self._offer(row, rows.event_from_row(one)):
                    return True
            last = (found[-1]["accepted_at"], found[-1]["id"])
            self._looked[row["id"]] = last[0]
        return False

    async def _offer(self, row: Mapping[str, Any], event: Event) -> str | None:
        run = await self._run(row["run_id"])
        if run is None or run["event_id"] == event.id:
            return None
        if not await self._fits(run, row["path"], event):
            return None
        note = WakeNote(
            WakeKind.EVENT,
            wait_from_json(rows.load(row["payload"])),
            self._parts.now(),
            self._parts.clock.since_boot(),
            event_id=event.id,
        )
        return await self._wake(row["run_id"], note, (rows.take_wait(row["id"]), _take_siblings(row)), row["path"])

    async def _fits(self, run: Mapping[str, Any], path: str, event: Event) -> bool:
        """Whether one of the triggers that the step waits for fits, its settings filled with the run's values."""
        try:
            plan = await self._catalog.plan(run["workflow_id"], run["version"])
        except SitewardError as error:
            _log.warning("Run %s cannot take an event: %s", run["id"], error.sentence)
            return False
        position = position_from_json(rows.load(run["position"]))
        at = position.current(plan)
        if at is None or at[1] != path:
            return False
        try:
            return any(
                fits(use, event, self._parts.skills.triggers, self._parts.site.cameras_of)
                for use in _filled(at[0].triggers, position.values)
            )
        except TriggerBroken:
            _log.exception("Run %s cannot take event %s.", run["id"], event.id)
            return False

    # -- the wake ------------------------------------------------------------------------------------------------------
    async def _wake(self, run_id: str, note: WakeNote, ops: tuple[Op, ...], path: str | None = None) -> str | None:
        """Let a waiting run go on, with the reason committed beside it. None where something else ended the wait first."""
        run = await self._run(run_id)
        if run is None or run["state"] != RunState.WAITING:
            return None
        position = position_from_json(rows.load(run["position"]))
        if path is not None and not _stands_at(position, path):
            return None
        woken = position_to_json(replace(position, wake=note))
        try:
            await self._parts.store.submit(*ops, rows.wake_run(run_id, run["fence"], woken, self._driver()))
        except LostRace:
            _log.debug("The wait of run %s ended otherwise.", run_id)
            return None
        self._parts.boundaries.reach("run.woken")
        return run_id

    def _driver(self) -> str | None:
        """Who goes on with a run that is woken here: this engine. A process that drives none leaves it to the one that held it."""
        return self._parts.owner if self._parts.drives else None

    async def _run(self, run_id: str) -> Mapping[str, Any] | None:
        found = await self._parts.store.fetch("SELECT * FROM workflow_runs WHERE id = :id", {"id": run_id})
        return found[0] if found else None

    def _closed(
        self,
        run_id: str,
        why: str,
        approval_id: str | None = None,
        reply: str | None = None,
        by: str | None = None,
    ) -> Op:
        payload = {"id": approval_id, "run": run_id, "why": why, "reply": reply, "by": by}
        return rows.publish_of_run("approval.closed", payload, run_id, self._parts.now())


_LISTENED: Final = "SELECT DISTINCT event_type FROM waits WHERE state = 'open' AND event_type IS NOT NULL"
_WAITING_FOR: Final = (
    "SELECT waits.* FROM waits JOIN workflow_runs ON workflow_runs.id = waits.run_id "
    "WHERE waits.state = 'open' AND waits.event_type = :type AND workflow_runs.state = 'waiting'"
)
_OWN: Final = " AND workflow_runs.lease_owner = :owner"
_DUE: Final = (
    "SELECT waits.* FROM waits JOIN workflow_runs ON workflow_runs.id = waits.run_id WHERE waits.state = 'open' "
    f"AND waits.due_at <= :now AND workflow_runs.state = 'waiting'{_OWN} ORDER BY waits.due_at LIMIT :most"
)
_DUE_OF_RUN: Final = (
    "SELECT waits.* FROM waits JOIN workflow_runs ON workflow_runs.id = waits.run_id WHERE waits.state = 'open' "
    "AND waits.due_at <= :now AND workflow_runs.state = 'waiting' AND waits.run_id = :run ORDER BY waits.due_at LIMIT :most"
)
_NEXT_DUE: Final = (
    "SELECT waits.due_at FROM waits JOIN workflow_runs ON workflow_runs.id = waits.run_id WHERE waits.state = 'open' "
    f"AND waits.due_at IS NOT NULL AND workflow_runs.state = 'waiting'{_OWN} ORDER BY waits.due_at LIMIT 1"
)
"""A wait whose run stands still. One that is under way is asked again when it has parked."""


def _with_run() -> Any:
    return waits.join(workflow_runs, workflow_runs.c.id == waits.c.run_id)


def _same_step(table: Any) -> ColumnElement[bool]:
    return and_(workflow_run_steps.c.run_id == table.c.run_id, workflow_run_steps.c.path == table.c.path)


def _stands_at(position: Position, path: str) -> bool:
    top = position.frames[-1] if position.frames else None
    return top is not None and f"{top.path}.{top.index}" == path


def _filled(uses: Iterable[TriggerUse], values: Mapping[str, Labelled]) -> Iterable[TriggerUse]:
    for use in uses:
        try:
            yield replace(use, settings=plain(resolve_settings(use.settings, values)))
        except SitewardError:
            _log.warning("The trigger %s of a wait names a value that this run has not.", use.name)


def _take_siblings(row: Mapping[str, Any]) -> Op:
    """The other rows of the same wait (one per event type)."""
    return Op(
        "UPDATE waits SET state = 'taken' WHERE run_id = :run AND path = :path AND kind = :kind AND state = 'open'",
        {"run": row["run_id"], "path": row["path"], "kind": row["kind"]},
    )


def _take_waits_of(run_id: str, path: str) -> Op:
    return Op(
        "UPDATE waits SET state = 'taken' WHERE run_id = :run AND path = :path AND state = 'open'",
        {"run": run_id, "path": path},
    )


def _no_answer(row: Mapping[str, Any]) -> Op:
    return Op(
        "UPDATE workflow_approvals SET state = 'no_answer' WHERE run_id = :run AND path = :path AND state = 'open'",
        {"run": row["run_id"], "path": row["path"]},
        expect=1,
    )


def _answered(approval_id: str, reply: str, by: str, now: float, boot: float, note: str | None) -> Op:
    return Op(
        "UPDATE workflow_approvals SET state = 'answered', reply = :reply, answered_by = :by, answered_at = :now, "
        "answered_boot = :boot, note = :note WHERE id = :id AND state = 'open'",
        {"id": approval_id, "reply": reply, "by": by, "now": now, "boot": boot, "note": note},
        expect=1,
    )


def _already(approval: Mapping[str, Any]) -> AlreadyAnswered:
    if approval["state"] == "answered":
        who = str(approval["answered_by"]).removeprefix("user:")
        return AlreadyAnswered(f"Already answered by {who}: {approval['reply']}.")
    if approval["state"] == "no_answer":
        return AlreadyAnswered("The time for this question is over.")
    return AlreadyAnswered("This question was withdrawn: its run has ended.")
