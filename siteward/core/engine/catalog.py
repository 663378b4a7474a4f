"""The workflows as the engine holds them: state, newest plan, what they miss, and the index of those that take events.

It is a copy of rows, and is made anew at start, after an edit and when an integration comes or goes. Where several processes share a site, what
another one saved is taken over when it tells, and now and then; what a move rests on is read from the rows themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
    """A workflow now. `plan` is None where its file cannot be read by this version; `attention` says why it takes no events."""

    id: str
    name: str
    state: State
    version: int
    plan: Plan | None
    attention: str | None = None

    @property
    def takes_events(self) -> bool:
        """Whether an event may start it."""
        return self.state is not State.OFF and self.plan is not None and self.attention is None


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
            plan, attention = await self._newest_plan(row["id"], row["version"])
            if says and dump_or_none(attention) != row["attention"] and not _kept(row["attention"], attention):
                await self._say(row["id"], attention)
            sentence = None if attention is None else attention["sentence"]
            self._take(Workflow(row["id"], row["name"], State(row["state"]), row["version"], plan, sentence))
        self.reindex()

    def _take(self, read: Workflow) -> None:
        """A workflow as its row said. What was saved or switched while the row was read is newer than it."""
        held = self._workflows.get(read.id)
        if held is None or held.version <= read.version:
            self._workflows[read.id] = read if held is None else replace(read, state=held.state)

    async def follow(self) -> bool:
        """Take over what other processes saved or switched; whether there was anything. A file that was not saved anew is not read again."""
        changed = False
        for row in await self._parts.store.fetch("SELECT id, name, state, version FROM workflows ORDER BY id"):
            held = self._workflows.get(row["id"])
            state = State(row["state"])
            if held is not None and held.version >= row["version"]:
                changed = changed or held.state is not state
                self._workflows[row["id"]] = replace(held, state=state)
                continue
            plan, attention = await self._newest_plan(row["id"], row["version"])
            sentence = None if attention is None else attention["sentence"]
            self._workflows[row["id"]] = Workflow(row["id"], row["name"], state, row["version"], plan, sentence)
            changed = True
        if changed:
            self.reindex()
        return changed

    def put(self, workflow: Workflow) -> None:
        """A workflow after an edit."""
        self._workflows[workflow.id] = workflow
        for key in [key for key in self._plans if key[0] == workflow.id]:
            # A run on an older version reads its file again: plans do not pile up with the edits.
            del self._plans[key]
            self._limits.pop(key, None)
        if workflow.plan is not None:
            self._plans[workflow.id, workflow.version] = workflow.plan
        self.reindex()

    def set_state(self, workflow_id: str, state: State) -> None:
        """The state that holds from now on."""
        self._workflows[workflow_id] = replace(self.get(workflow_id), state=state)
        self.reindex()

    def reindex(self) -> None:
        """Build the index of those that take events now."""
        plans = (workflow.plan for workflow in self if workflow.takes_events)
        self.index = build_index(
            (plan for plan in plans if plan is not None), self._parts.skills.triggers, self._parts.site.cameras_of
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

    async def _newest_plan(self, workflow_id: str, version: int) -> tuple[Plan | None, dict[str, JSON] | None]:
        """The plan, or why there is none."""
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
