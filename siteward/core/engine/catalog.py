"""The workflows as the engine holds them: state, plans, what they miss, and the index of those that take events.

It is a copy of rows, and is made anew at start, after an edit and when an integration comes or goes. Where several processes share a site, what
another one saved is taken over when it tells, and now and then; what a move rests on is read from the rows themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select

from siteward.core.contract.document import Document, State
from siteward.core.engine.limits import Limits, limits_of
from siteward.core.engine.matcher import Index, build_index
from siteward.core.engine.parts import Parts, Provided
from siteward.core.engine.plan import Plan, compile_plan, missing_code
from siteward.core.engine.rows import dump, load, publish
from siteward.core.engine.seam import JSON
from siteward.core.errors import NotFound, SitewardError
from siteward.core.store.schema import workflow_versions, workflows
from siteward.core.store.writer import Op


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow now. `plan` is what it does: of its newest version, or of `on_version` where that is On while the newest runs in Test beside
    it, as the `candidate`. A plan is None where its file cannot be read by this version; `attention` says why it takes no events, `left_out` why
    the candidate takes none."""

    id: str
    name: str
    state: State
    version: int
    plan: Plan | None
    attention: str | None = None
    on_version: int | None = None
    candidate: Plan | None = None
    left_out: str | None = None

    @property
    def newest(self) -> Plan | None:
        """The plan of its newest version."""
        return self.plan if self.on_version is None else self.candidate

    @property
    def newest_attention(self) -> str | None:
        """Why its newest version takes no events."""
        return self.attention if self.on_version is None else self.left_out

    def alone(self) -> Workflow:
        """The workflow with its newest version alone: nothing runs beside it."""
        return replace(
            self,
            plan=self.newest,
            attention=self.newest_attention,
            on_version=None,
            candidate=None,
            left_out=None,
        )

    @property
    def takes_events(self) -> Plan | None:
        """The plan that an event may start."""
        return self.plan if self.state is not State.OFF and self.attention is None else None

    @property
    def beside(self) -> Plan | None:
        """The plan that an event may start in Test beside the one that is On."""
        return self.candidate if self.state is State.ON and self.left_out is None else None


class Unprovided(SitewardError):
    """A file cannot be run now: something that it names is not provided."""

    code = "workflow.unprovided"

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__(" ".join(reasons))
        self.reasons = tuple(reasons)


class Catalog:
    """Workflows by id, plans by version, and the matcher's index."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._workflows: dict[str, Workflow] = {}
        self._plans: dict[tuple[str, int], Plan] = {}
        self._limits: dict[tuple[str, int], Limits] = {}
        self.index = Index()

    def get(self, workflow_id: str) -> Workflow:
        """The workflow. Raises `NotFound`."""
        try:
            return self._workflows[workflow_id]
        except KeyError:
            raise NotFound(f"There is no workflow {workflow_id}.", where=workflow_id) from None

    def __iter__(self) -> Iterator[Workflow]:
        return iter(self._workflows.values())

    def limits(self, plan: Plan) -> Limits:
        """The limits of a plan under the site's caps, as they were when the site was last looked at."""
        held = self._limits.get((plan.workflow_id, plan.version))
        if held is None:
            held = limits_of(plan.document, self._parts.skills.registry, self._parts.site.view(None).caps)
            self._limits[plan.workflow_id, plan.version] = held
        return held

    async def refresh(self, *, says: bool = True) -> None:
        """Read every workflow again, with what is provided and mapped now; says (in its row) what lost its provider and what has it back."""
        self._plans.clear()
        self._limits.clear()
        for row in await self._parts.store.read(select(workflows).order_by(workflows.c.id)):
            await self._look_at(row, says=says)
        self.reindex()

    async def look_again(self, workflow_id: str) -> None:
        """Take one workflow's row over, after an edit of it."""
        for row in await self._parts.store.read(select(workflows).where(workflows.c.id == workflow_id)):
            await self._look_at(row, says=True)
        self.reindex()

    async def follow(self) -> bool:
        """Take over what other processes saved or switched; whether there was anything. A file that was not saved anew is not read again."""
        changed = False
        for row in await self._parts.store.fetch("SELECT * FROM workflows ORDER BY id"):
            held, state = self._workflows.get(row["id"]), State(row["state"])
            if held is None or held.version < row["version"]:
                self._workflows[row["id"]], _ = await self._as_row_says(row)
                changed = True
                continue
            # What ran in Test beside the On version may be On now, or the workflow in Test.
            now = held.alone() if row["version"] == held.version and row["on_version"] is None else held
            changed = changed or now != held or held.state is not state
            self._workflows[row["id"]] = replace(now, state=state)
        if changed:
            self.reindex()
        return changed

    async def _look_at(self, row: Mapping[str, Any], *, says: bool) -> None:
        read, attention = await self._as_row_says(row)
        if says and dump_or_none(attention) != row["attention"] and not _kept(row["attention"], attention):
            await self._say(read.id, attention)
        self._take(read)

    async def _as_row_says(self, row: Mapping[str, Any]) -> tuple[Workflow, dict[str, JSON] | None]:
        """The workflow, and why it needs attention: what is On before what is in Test beside it."""
        workflow_id, newest, on_version = row["id"], row["version"], row["on_version"]
        plan, attention = await self._plan_now(workflow_id, newest if on_version is None else on_version)
        candidate, missing = (None, None) if on_version is None else await self._plan_now(workflow_id, newest)
        read = Workflow(
            workflow_id,
            row["name"],
            State(row["state"]),
            newest,
            plan,
            sentence_of(attention),
            on_version,
            candidate,
            sentence_of(missing),
        )
        if missing is not None:
            said = (
                f"Version {newest} does not run in Test beside version {on_version}, which is On: {missing['sentence']}"
            )
            missing = {**missing, "sentence": said}
        return read, missing if attention is None else attention

    def _take(self, read: Workflow) -> None:
        """A workflow as its row said. What was saved, switched or turned On while the row was read is newer than it."""
        held = self._workflows.get(read.id)
        if held is None:
            self._workflows[read.id] = read
        elif held.version < read.version:
            self._workflows[read.id] = replace(read, state=held.state)
        elif held.version == read.version:
            self._workflows[read.id] = replace(read if held.on_version is not None else read.alone(), state=held.state)

    async def saved(self, plan: Plan) -> None:
        """A version that was saved just now: what it became (a candidate, or what decides) is in the workflow's row. A run on another one reads
        its file again: plans do not pile up with the edits."""
        workflow_id = plan.workflow_id
        self._plans[workflow_id, plan.version] = plan
        await self.look_again(workflow_id)
        held = self.get(workflow_id)
        for key in [key for key in self._plans if key[0] == workflow_id]:
            if key[1] not in (held.version, held.on_version):
                del self._plans[key]
                self._limits.pop(key, None)

    def add(self, workflow: Workflow) -> None:
        """A new workflow."""
        self._workflows[workflow.id] = workflow
        if workflow.plan is not None:
            self._plans[workflow.id, workflow.version] = workflow.plan
        self.reindex()

    def set_state(self, workflow_id: str, state: State) -> None:
        """The state that holds from now on."""
        self._workflows[workflow_id] = replace(self.get(workflow_id), state=state)
        self.reindex()

    def switched(self, workflow_id: str, state: State) -> None:
        """A person's choice of a state is written: it is for the newest version, and nothing runs beside it any more."""
        self._workflows[workflow_id] = replace(self.get(workflow_id).alone(), state=state)
        self.reindex()

    def reindex(self) -> None:
        """Build the index of those that take events now."""
        self.index = build_index(
            (plan for workflow in self if (plan := workflow.takes_events) is not None),
            self._parts.skills.triggers,
            self._parts.site.cameras_of,
            (plan for workflow in self if (plan := workflow.beside) is not None),
        )

    async def plan(self, workflow_id: str, version: int) -> Plan:
        """The plan of one version, read where it is not held. Raises `NotFound` where its file is gone, `Unprovided` where this host lacks
        something that it needs."""
        held = self._plans.get((workflow_id, version))
        if held is not None:
            return held
        query = select(workflow_versions.c.text).where(
            workflow_versions.c.workflow_id == workflow_id, workflow_versions.c.version == version
        )
        for row in await self._parts.store.read(query):
            plan = await asyncio.to_thread(self._compile, workflow_id, version, row["text"])
            self._plans[workflow_id, version] = plan
            return plan
        raise NotFound(f"Version {version} of workflow {workflow_id} is gone.", where=workflow_id)

    def _compile(self, workflow_id: str, version: int, text: str) -> Plan:
        """A plan of the whole file, or none: with a step left out that nobody provides, its lanes would lead elsewhere."""
        report = self._parts.validate(text, self._parts.skills.registry, None)
        unprovided = [problem for problem in report.problems if problem.code.startswith("skill.")]
        if unprovided:
            raise Unprovided([problem.message for problem in unprovided])
        if report.document is None:
            raise Unprovided(["This version of Siteward cannot read the file: open it in the editor."])
        return compile_plan(workflow_id, version, report.document)

    async def _plan_now(self, workflow_id: str, version: int) -> tuple[Plan | None, dict[str, JSON] | None]:
        """The plan of a version, and why it cannot be run."""
        try:
            plan = await self.plan(workflow_id, version)
        except NotFound as error:
            return None, {"why": "unreadable", "sentence": error.sentence}
        except Unprovided as error:
            return None, {"why": "missing", "missing": list(error.reasons), "sentence": error.sentence}
        return plan, missing_attention(plan.document, self._parts.skills)

    async def _say(self, workflow_id: str, attention: dict[str, JSON] | None) -> None:
        now = self._parts.now()
        await self._parts.store.submit(
            attention_op(workflow_id, attention),
            publish("attention", {"workflow": workflow_id, "attention": attention}, None, now),
        )


def missing_attention(document: Document, skills: Provided) -> dict[str, JSON] | None:
    """Why a file that can be read cannot be run: code that nobody brings now."""
    missing = missing_code(document, skills)
    if not missing:
        return None
    names = ", ".join(missing)
    sentence = f"Nobody provides {names} now. Enable the integration that does, or take the step out."
    return {"why": "missing", "missing": list(missing), "sentence": sentence}


def sentence_of(attention: dict[str, JSON] | None) -> str | None:
    """Why a workflow needs attention, for people."""
    return None if attention is None else attention["sentence"]


def attention_op(workflow_id: str, attention: dict[str, JSON] | None) -> Op:
    """Say why a workflow needs attention, or that it needs none."""
    return Op(
        "UPDATE workflows SET attention = :attention WHERE id = :id",
        {"attention": dump_or_none(attention), "id": workflow_id},
    )


def dump_or_none(attention: dict[str, JSON] | None) -> str | None:
    """A nullable JSON column."""
    return None if attention is None else dump(attention)


def _kept(before: str | None, now: dict[str, JSON] | None) -> bool:
    """A reason that a provider's return does not answer (an hourly cap) stays until it is over."""
    return now is None and before is not None and load(before).get("why") == "per_hour"
