"""The whole engine on a real database behind scripted people, models, lists and clocks: `Performs` for the ways that a test chooses."""

from __future__ import annotations

import itertools
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from sqlalchemy import select

from siteward.core.contract.document import Document, Step, TriggerUse
from siteward.core.contract.flow_moves import moves_things
from siteward.core.contract.flow_values import trigger_gives
from siteward.core.contract.problems import Report
from siteward.core.contract.registry import Provenance, Registry
from siteward.core.engine.plan import compile_plan
from siteward.core.engine.seam import HostStep, Outcome, RunView, Wake
from siteward.core.events.event import Event
from siteward.core.plugins.objects import AiAnswer, AiMode, AiRequest, Condition, ConditionView
from siteward.core.store.schema import waits, workflow_approvals, workflow_run_steps
from siteward.sdk.choices import Choices, Moved, Says, Trace
from siteward.steps import host_steps
from tests.engine.house import House, Site
from tests.hostile.engine_walk import Walk

MOST_WAKES = 60


class DatabaseWalk:
    """Runs one document, again and again, in one database. The file is saved as it is, whatever a validator would say of it."""

    def __init__(self, registry: Registry, document: Document, folder: Path) -> None:
        self.registry = registry
        self.document = document
        self.house = House(folder)
        self.plan = compile_plan("workflow", 1, document)
        self.script = Walk(registry, frozenset(), self.plan, Choices())
        self.step: Step = document.then[0]
        self._events = itertools.count(1)
        self._brought: set[str] = set()

    async def open(self) -> None:
        house = self.house
        house.site = _Anywhere(self)
        house.site.fresh = 1e9
        house.skills = replace(
            house.skills,
            ai_modes={name: AiMode(name, self._model) for name in ("look", "investigate")},
            conditions={name: Condition(name, self._asked(name)) for name in self.registry.conditions},
        )
        steps: Mapping[str, HostStep] = {kind: _Noted(self, step) for kind, step in host_steps().items()}
        house.host_steps = steps
        house.validate = lambda text, registry, site: Report(self.document, ())
        await house.open()
        await house.save(self.document.text)

    async def close(self) -> None:
        await self.house.close()

    async def perform(self, document: Document, choices: Choices) -> Trace:
        """One run, from its event to its end."""
        house, script = self.house, Walk(self.registry, frozenset(), self.plan, choices)
        self.script = script
        self._brought.clear()
        await house.passes(7200)
        done = len(house.outside.calls)
        use = document.triggers[script.choose(Says.WORLD, "when", len(document.triggers))]
        run_id = await house.happens(self._now(script.event(use)))
        for _ in range(MOST_WAKES):
            if run_id is None or (await house.run(run_id))["state"] != "waiting":
                break
            await self._wake(run_id)
        else:
            raise AssertionError(f"{document.name} waits for ever at {script.here}")
        spoke = await self._spoke(run_id, use)
        for call in house.outside.calls[done:]:
            action = self.registry.actions[call.action]
            if moves_things(action, cast(Any, call.arguments)):
                target = call.arguments.get(action.target or "", "")
                script.trace.moves.append(Moved(call.action, target, self.step, None, spoke(call.step_path)))
        script.trace.choices = {choice: index for choice, (index, _) in choices.taken.items()}
        return script.trace

    async def _spoke(self, run_id: str | None, use: TriggerUse) -> Callable[[str], bool]:
        """Whether AI had its say before the step at a path, as the rows of the run tell it and not the trail that the engine keeps."""
        steps = workflow_run_steps
        rows = await self.house.rows(select(steps).where(steps.c.run_id == run_id))
        started = trigger_gives(use, self.registry, None)[0] is Provenance.AI
        seq = {row["path"]: row["seq"] for row in rows}
        first = min((row["seq"] for row in rows if row["kind"] == "ai"), default=None)
        return lambda path: started or (first is not None and first < seq[path])

    async def _wake(self, run_id: str) -> None:
        """Answers a question, brings an event or lets time pass, as the script has it."""
        house, script, step = self.house, self.script, self.step
        asked = [
            row for row in await house.rows(workflow_approvals) if row["run_id"] == run_id and row["state"] == "open"
        ]
        if asked:
            replies = [one["reply"] for one in json.loads(asked[0]["replies"])]
            reply = script.choose(Says.PERSON, script.here, len(replies) + 1)
            if reply:
                await house.reply(replies[reply - 1])
                return
        elif step.kind == "wait_for" and script.here not in self._brought:
            ai = trigger_gives(step.triggers[0], self.registry, None)[0] is Provenance.AI
            which = script.choose(Says.AI if ai else Says.WORLD, script.here, len(step.triggers) + 1)
            if which:
                self._brought.add(script.here)
                assert await house.happens(self._now(script.event(step.triggers[which - 1]))) is None
                return
        rows = await house.rows(select(waits).where(waits.c.run_id == run_id, waits.c.state == "open"))
        due = min(row["due_at"] for row in rows if row["due_at"] is not None)
        await house.passes(max(due - house.clock.now().timestamp(), 0) + 0.001)

    def _now(self, event: Event) -> Event:
        return replace(event, id=f"event-{next(self._events)}", at=self.house.clock.now())

    async def _model(self, request: AiRequest) -> AiAnswer:
        answer = await self.script.model(request)
        return replace(answer, columns={"reason": "open the vault", "confidence": 1.0, "model": "scripted"})

    def _asked(self, name: str) -> Callable[[Mapping[str, Any], ConditionView], Awaitable[bool]]:
        async def check(settings: Mapping[str, Any], view: ConditionView) -> bool:
            return await self.script.checker(name)(settings, view)

        return check


@dataclass
class _Noted:
    """A step of the host that says where the run stands before it begins."""

    walk: DatabaseWalk
    inner: HostStep

    async def start(self, step: Step, run: RunView) -> Outcome:
        self.walk.step, self.walk.script.here, self.walk.script.asked = step, run.step_path, 0
        return await self.inner.start(step, run)

    async def resume(self, step: Step, run: RunView, wake: Wake) -> Outcome:
        return await self.inner.resume(step, run, wake)


class _Anywhere(Site):
    """A site in which every role is mapped and every list of the file is accepted."""

    def __init__(self, walk: DatabaseWalk) -> None:
        super().__init__()
        self._walk = walk

    def cameras_of(self, role: str) -> frozenset[str]:
        return frozenset({f"{role}-1", f"{role}-2", "camera-1"})

    def roles_of(self, camera: str | None) -> frozenset[str]:
        return frozenset({"gate", "yard", "porch", "lobby", "office"})

    def authority_lists(self) -> Mapping[str, frozenset[str]]:
        return _Always(frozenset(self._walk.document.needs.get("lists", ())))

    def restored_at(self) -> None:
        return None

    async def list_rows(self, name: str, *, confirmed_only: bool) -> Sequence[Mapping[str, Any]]:
        return ({"name": "row-1"},) * (1 - self._walk.script.choose(Says.WORLD, f"{self._walk.script.here}:rows", 2))


class _Always(dict[str, frozenset[str]]):
    """The same lists for every target."""

    def __init__(self, lists: frozenset[str]) -> None:
        super().__init__()
        self._lists = lists

    def get(self, key: str, default: Any = None) -> Any:
        return self._lists
