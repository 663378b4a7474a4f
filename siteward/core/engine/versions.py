"""Workflows as people edit them: a new version for each save, Off, Test and On, and what a change does to runs under way."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import and_, select

from siteward.core.contract.document import Document, State
from siteward.core.contract.problems import Report, Severity
from siteward.core.engine import rows
from siteward.core.engine.admission import end_run_ops
from siteward.core.engine.ai_steps import what_ai_decides
from siteward.core.engine.also import Also, nothing_also
from siteward.core.engine.catalog import (
    Catalog,
    Unprovided,
    Workflow,
    attention_op,
    missing_attention,
    sentence_of,
)
from siteward.core.engine.parts import Parts
from siteward.core.engine.plan import compile_plan
from siteward.core.engine.seam import JSON, Mode, RunState
from siteward.core.errors import ConfigurationInvalid, Conflict, NotFound, SitewardError
from siteward.core.store.errors import LostRace
from siteward.core.store.schema import workflow_runs
from siteward.core.store.writer import Op

_MEANWHILE: Final = "Somebody changed this workflow meanwhile: look at the difference, then try again."


class WorkflowRefused(SitewardError):
    """The file has errors. `report` has them all, with their places and fixes."""

    code = "workflow.refused"

    def __init__(self, report: Report) -> None:
        errors = [problem for problem in report.problems if problem.severity is Severity.ERROR]
        first = f" Line {errors[0].place.line}: {errors[0].message}" if errors else ""
        super().__init__(f"The workflow has {len(errors)} errors and was not saved.{first}")
        self.report = report


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved version, and what the validator had to say about it. `beside` is the version that stays On where this one has to show itself in
    Test first; None where it holds at once."""

    workflow_id: str
    version: int
    report: Report
    beside: int | None = None


class Versions:
    """Saves workflows and sets their state."""

    def __init__(self, parts: Parts, catalog: Catalog) -> None:
        self._parts = parts
        self._catalog = catalog

    async def save(
        self,
        text: str,
        by: str,
        workflow_id: str | None = None,
        base_version: int | None = None,
        blueprint: Mapping[str, JSON] | None = None,
        also: Also = nothing_also,
        base_state: State | None = None,
    ) -> Saved:
        """Save a file as a new workflow (it starts in Test, whatever it says) or as the next version of one; runs under way finish on
        theirs. Where the workflow is On and its AI steps are others than those that are On, the new version runs in Test beside the one that is On,
        until somebody turns it On; any other edit holds at once. `also` gives rows of the same transaction. Raises `WorkflowRefused`, `NotFound`, and `Conflict` where `base_version` is not the newest or
        the workflow is not in `base_state` any more (who may save what stands On is another question than who may save a test)."""
        parts = self._parts
        report = await asyncio.to_thread(parts.validate, text, parts.skills.registry, parts.site.view(by))
        document = report.document
        if document is None or not report.ok:
            raise WorkflowRefused(report)
        if workflow_id is None:
            return await self._first(text, by, document, report, blueprint, also)
        return await self._next(text, by, document, report, workflow_id, base_version, blueprint, also, base_state)

    async def _first(
        self, text: str, by: str, document: Document, report: Report, blueprint: Mapping[str, JSON] | None, also: Also
    ) -> Saved:
        workflow_id, now = self._parts.ids.new(), self._parts.now()
        await self._parts.store.submit(
            Op(
                "INSERT INTO workflows (id, name, state, version, source, created_at, changed_at) "
                "VALUES (:id, :name, 'test', 1, :source, :now, :now)",
                {"id": workflow_id, "name": document.name, "source": _source(blueprint), "now": now},
            ),
            _version(workflow_id, 1, text, by, now, blueprint),
            self._told(workflow_id, {"version": 1, "state": State.TEST}),
            *also(workflow_id),
        )
        attention = missing_attention(document, self._parts.skills)
        plan = compile_plan(workflow_id, 1, document)
        self._catalog.add(Workflow(workflow_id, document.name, State.TEST, 1, plan, sentence_of(attention)))
        if attention is not None:
            await self._parts.store.submit(attention_op(workflow_id, attention))
        return Saved(workflow_id, 1, report)

    async def _next(
        self,
        text: str,
        by: str,
        document: Document,
        report: Report,
        workflow_id: str,
        base_version: int | None,
        blueprint: Mapping[str, JSON] | None,
        also: Also,
        base_state: State | None,
    ) -> Saved:
        held, now = self._catalog.get(workflow_id), self._parts.now()
        base = held.version if base_version is None else base_version
        on = await self._on_version(workflow_id)
        decides_anew = await self._decides_anew(workflow_id, on or base, document)
        on_version = "CASE WHEN state = 'on' THEN COALESCE(on_version, :base) END" if decides_anew else "NULL"
        try:
            await self._parts.store.submit(
                Op(
                    f"UPDATE workflows SET name = :name, version = :version, on_version = {on_version}, attention = NULL, changed_at = :now "
                    "WHERE id = :id AND version = :base AND COALESCE(on_version, 0) = :on AND state = COALESCE(:state, state)",
                    {
                        "id": workflow_id,
                        "name": document.name,
                        "version": base + 1,
                        "base": base,
                        "on": on or 0,
                        "state": None if base_state is None else base_state.value,
                        "now": now,
                    },
                    expect=1,
                ),
                _version(workflow_id, base + 1, text, by, now, blueprint),
                self._told(workflow_id, {"version": base + 1, "state": held.state}),
                *also(workflow_id),
            )
        except LostRace:
            raise Conflict(_MEANWHILE) from None
        # Its state may have changed while this was written: what holds is what holds now.
        await self._catalog.saved(compile_plan(workflow_id, base + 1, document))
        now_held = self._catalog.get(workflow_id)
        beside = now_held.on_version if now_held.version == base + 1 else None
        return Saved(workflow_id, base + 1, report, beside)

    async def _on_version(self, workflow_id: str) -> int | None:
        """What is On while a newer one runs in Test beside it, by the row: another process may have turned that one On."""
        query = "SELECT on_version FROM workflows WHERE id = :id"
        on: int | None = (await self._parts.store.fetch(query, {"id": workflow_id}))[0]["on_version"]
        return on

    async def _decides_anew(self, workflow_id: str, on_version: int, document: Document) -> bool:
        """Whether AI decides something else than in the version that is On. What cannot be compared counts as something else."""
        registry = self._parts.skills.registry
        decides = what_ai_decides(document, registry)
        try:
            on = await self._catalog.plan(workflow_id, on_version)
        except (NotFound, Unprovided):
            return bool(decides)
        return decides != what_ai_decides(on.document, registry)

    async def set_state(
        self, workflow_id: str, state: State, by: str, also: Also = nothing_also, base_version: int | None = None
    ) -> None:
        """Turn a workflow Off, to Test or On, with its newest version: what ran in Test beside the one that was On is the one that is On now, and runs
        under way finish on theirs. Off ends its runs, but for one that is just acting, which ends after that step. Raises
        `NotFound`, `Conflict` where `base_version` (that the person looked at) is not the newest any more, and `ConfigurationInvalid` where it
        needs attention and is to be turned On."""
        held = self._catalog.get(workflow_id)
        if state is State.ON and held.newest_attention is not None:
            raise ConfigurationInvalid(f"{held.name} cannot be turned On: {held.newest_attention}", where=workflow_id)
        if state is State.OFF:
            # From this moment on no effect of it is decided as allowed, also before the row says so.
            self._catalog.set_state(workflow_id, state)
        now = self._parts.now()
        try:
            await self._parts.store.submit(
                Op(
                    "UPDATE workflows SET state = :state, on_version = NULL, changed_at = :now WHERE id = :id AND version = COALESCE(:base, version)",
                    {"id": workflow_id, "state": state.value, "base": base_version, "now": now},
                    expect=1,
                ),
                self._told(workflow_id, {"state": state, "by": by}),
                *also(workflow_id),
            )
        except LostRace:
            self._back_from_off(workflow_id, held.state, state)
            raise Conflict(_MEANWHILE) from None
        except SitewardError:
            self._back_from_off(workflow_id, held.state, state)
            raise
        self._catalog.switched(workflow_id, state)
        if held.on_version is not None:
            await self._catalog.look_again(workflow_id)
        if state is State.OFF:
            for row in await self._alive(workflow_runs.c.workflow_id == workflow_id):
                await self._end(row, "workflow_off")

    def _back_from_off(self, workflow_id: str, before: State, wanted: State) -> None:
        """Off was not written: what held before holds again. Nothing else was changed before its row."""
        if wanted is State.OFF:
            self._catalog.set_state(workflow_id, before)

    async def end_what_is_off(self) -> None:
        """End the runs that a crash right after Off left waiting: their questions must not stay open, nor go on once it is On again."""
        off = [workflow.id for workflow in self._catalog if workflow.state is State.OFF]
        if not off:
            return
        waiting = and_(workflow_runs.c.workflow_id.in_(off), workflow_runs.c.state == RunState.WAITING)
        for row in await self._alive(waiting):
            await self._end(row, "workflow_off")

    async def cancel(self, run_id: str, by: str, also: Also = nothing_also) -> None:
        """End a run on a person's word. Raises `NotFound`, and `Conflict` where it has ended or is just acting."""
        found = await self._alive(workflow_runs.c.id == run_id)
        if not found:
            raise NotFound("There is no such run, or it has ended.", where=run_id)
        if not await self._end(found[0], f"cancelled by {by.removeprefix('user:')}", also):
            raise Conflict("The run is just acting, or went on meanwhile: look at it again.", where=run_id)

    async def _alive(self, where: Any) -> list[dict[str, Any]]:
        modes = workflow_runs.c.mode.in_((Mode.ON, Mode.TEST))
        query = select(workflow_runs).where(where, modes, workflow_runs.c.state.in_(rows.ALIVE))
        return list(await self._parts.store.read(query))

    async def _end(self, row: Mapping[str, Any], reason: str, also: Also = nothing_also) -> bool:
        try:
            await self._parts.store.submit(
                *end_run_ops(row, RunState.CANCELLED, reason, self._parts.now()), *also(row["id"])
            )
        except LostRace:
            # It is just acting, or went on: its driver sees the state at its next step.
            return False
        self._parts.meters.run_ended(row["workflow_id"], Mode(row["mode"]), RunState.CANCELLED)
        return True

    def _told(self, workflow_id: str, more: Mapping[str, JSON]) -> Op:
        return rows.publish("workflow.changed", {"workflow": workflow_id, **more}, None, self._parts.now())


def _version(
    workflow_id: str, version: int, text: str, by: str, now: float, blueprint: Mapping[str, JSON] | None
) -> Op:
    return Op(
        "INSERT INTO workflow_versions (workflow_id, version, text, sha256, by, at, blueprint) "
        "VALUES (:id, :version, :text, :sha256, :by, :now, :blueprint)",
        {
            "id": workflow_id,
            "version": version,
            "text": text,
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "by": by,
            "now": now,
            "blueprint": None if blueprint is None else rows.dump(dict(blueprint)),
        },
    )


def _source(blueprint: Mapping[str, JSON] | None) -> str:
    return "site" if blueprint is None else f"blueprint:{blueprint.get('path')}"
