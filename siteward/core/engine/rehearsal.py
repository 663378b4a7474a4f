"""Deciding without doing: past events tried again, and replies that a tester rehearses. One path with the live runs; `effects` sees the mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import select

from siteward.core.engine import rows
from siteward.core.engine.admission import Admission, Decided
from siteward.core.engine.catalog import Catalog
from siteward.core.engine.matcher import Match, fits
from siteward.core.engine.parts import Parts
from siteward.core.engine.position import WakeNote, position_from_json, position_to_json
from siteward.core.engine.runner import Runner
from siteward.core.engine.seam import JSON, Mode, NewWait, RunState, StepStatus, WakeKind
from siteward.core.engine.waits import AlreadyAnswered, Waits
from siteward.core.errors import ConfigurationInvalid, Conflict, NotAllowed, NotFound
from siteward.core.events.event import Event
from siteward.core.store.schema import events, waits, workflow_run_steps, workflow_runs
from siteward.core.store.writer import Op

REHEARSAL: Final = "rehearsal"
"""The kind of the wait that keeps where a test run stood at its question."""


class Rehearsals:
    """Tries past events, and shows what a reply would have done."""

    def __init__(self, parts: Parts, catalog: Catalog, admission: Admission, waiting: Waits, runner: Runner) -> None:
        self._parts = parts
        self._catalog = catalog
        self._admission = admission
        self._waits = waiting
        self._runner = runner
        self.trying: set[str] = set()
        """Runs that are driven here, and nowhere else."""

    async def try_events(self, workflow_id: str, event_ids: Sequence[str]) -> list[dict[str, JSON]]:
        """Decide each event with the newest version: one row per event, in the order given. No counter, limit, record or question is left;
        the runs themselves are kept, as tries. Raises `NotFound` and `Conflict` (the file cannot be read, or misses a provider)."""
        workflow = self._catalog.get(workflow_id)
        if workflow.newest is None or workflow.newest_attention is not None:
            raise Conflict(f"{workflow.name} cannot be tried: {workflow.newest_attention}", where=workflow_id)
        decided = []
        for event_id in event_ids:
            found = await self._parts.store.read(select(events).where(events.c.id == event_id))
            if not found:
                raise NotFound(f"There is no event {event_id}.", where=event_id)
            decided.append(await self._try(workflow_id, rows.event_from_row(found[0])))
        return decided

    async def _try(self, workflow_id: str, event: Event) -> dict[str, JSON]:
        row: dict[str, JSON] = {
            "event": event.id,
            "type": event.type,
            "camera": event.camera,
            "at": event.at.timestamp(),
        }
        plan = self._catalog.get(workflow_id).newest
        skills, cameras_of = self._parts.skills, self._parts.site.cameras_of
        uses = () if plan is None else plan.document.triggers
        use = next((use for use in uses if fits(use, event, skills.triggers, cameras_of, workflow_id)), None)
        if plan is None or use is None:
            return {**row, "run": None, "state": "no_trigger"}
        met = await self._admission.meet(Match(plan, use), event, Mode.TRY)
        if isinstance(met, Decided):
            await self._parts.store.submit(*met.ops)
            return {**row, "run": met.over, **await self._told(met.over)}
        run_id = met.run.id
        self.trying.add(run_id)
        try:
            await self._parts.store.submit(*self._admission.uncounted(met))
            await self._to_the_end(run_id)
        finally:
            self.trying.discard(run_id)
        return {**row, "run": run_id, **await self._told(run_id)}

    async def _to_the_end(self, run_id: str) -> None:
        """Drive a run past its short waits."""
        while True:
            await self._runner.drive(run_id)
            query = select(waits.c.due_at).where(
                waits.c.run_id == run_id, waits.c.state == "open", waits.c.due_at.is_not(None)
            )
            due = await self._parts.store.read(query.order_by(waits.c.due_at).limit(1))
            if not due:
                return
            await self._parts.clock.sleep_until(rows.moment(due[0]["due_at"]))
            await self._waits.fire_due(run_id)

    async def _told(self, run_id: str | None) -> dict[str, JSON]:
        """What the run decided, and what it would have done."""
        runs = await self._parts.store.read(select(workflow_runs).where(workflow_runs.c.id == run_id))
        query = select(workflow_run_steps).where(workflow_run_steps.c.run_id == run_id)
        steps = await self._parts.store.read(query.order_by(workflow_run_steps.c.seq))
        said: Mapping[str, Any] = next((step for step in reversed(steps) if step["kind"] == "ai"), {})
        would = [_would(step) for step in steps if step["status"] == StepStatus.WOULD_HAVE]
        return {
            "state": runs[0]["state"],
            "why": runs[0]["state_reason"],
            "decision": said.get("outcome"),
            "reason": said.get("reason"),
            "confidence": said.get("confidence"),
            "would_have": would,
        }

    async def answer(self, approval_id: str, reply: str, by: str) -> str:
        """Rehearse a reply to a question that a test run would have asked: a run of its own shows what it would have done. Raises as
        `Waits.answer` does."""
        approval = await self._waits.approval(approval_id)
        if not approval["rehearsal"]:
            raise ConfigurationInvalid("This question is real: answer it, or leave it.", where=approval_id)
        if not await self._parts.site.may_answer(by, rows.load(approval["who"]), approval["camera"]):
            raise NotAllowed("This rehearsal is not for you: ask an admin to add you to those who are asked.")
        offered = [one["reply"] for one in rows.load(approval["replies"])]
        if reply not in offered:
            raise ConfigurationInvalid(f"{reply!r} is no reply to this question; choose one of {', '.join(offered)}.")
        kept = await self._kept(approval["run_id"], approval["path"])
        run_id, now = self._parts.ids.new(), self._parts.now()
        ask = NewWait("ask", None, {"approval": approval_id})
        note = WakeNote(WakeKind.REPLY, ask, now, self._parts.clock.since_boot(), reply, by)
        position = replace(position_from_json(rows.load(kept["payload"])["position"]), wake=note)
        await self._parts.store.submit(self._run(approval["run_id"], kept, run_id, position_to_json(position), by, now))
        return run_id

    async def _kept(self, run_id: str, path: str) -> dict[str, Any]:
        query = select(waits.c.payload, workflow_runs).join(workflow_runs, workflow_runs.c.id == waits.c.run_id)
        found = await self._parts.store.read(
            query.where(waits.c.run_id == run_id, waits.c.path == path, waits.c.kind == REHEARSAL)
        )
        if not found:
            raise AlreadyAnswered("This rehearsal is over.")
        return found[0]

    def _run(self, of: str, kept: Mapping[str, Any], run_id: str, position: JSON, by: str, now: float) -> Op:
        revisions = {**rows.load(kept["revisions"]), "rehearsal_of": of, "by": by}
        return rows.new_run(
            {
                "id": run_id,
                "workflow_id": kept["workflow_id"],
                "version": kept["version"],
                "mode": Mode.REPLAY.value,
                "state": RunState.RUNNING.value,
                "event_id": kept["event_id"],
                "correlation_id": kept["correlation_id"],
                "chain": kept["chain"],
                "newest_picture": kept["newest_picture"],
                "position": rows.dump(position),
                "started_at": now,
                "revisions": rows.dump(revisions),
            }
        )


def _would(step: Mapping[str, Any]) -> JSON:
    result = rows.load(step["result"])
    asked = result.get("would_have_asked")
    said = result.get("would_have") or f"ask: {asked}"
    refused = result.get("refused")
    return said if refused is None else f"{said} (and would not have been sent: {refused})"
