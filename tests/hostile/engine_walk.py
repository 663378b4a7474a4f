"""The engine's own steps, positions and checks behind scripted people, models, lists and clocks: `Performs` without a database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from siteward.core.contract.document import Document, State, Step, TriggerUse
from siteward.core.contract.flow_values import trigger_gives
from siteward.core.contract.registry import Provenance, Registry
from siteward.core.engine.authority import begin, enter
from siteward.core.engine.effects import Expire, Perform, Refuse, Situation, decide, moves_now
from siteward.core.engine.limits import Presence
from siteward.core.engine.matcher import given_by
from siteward.core.engine.plan import Plan, compile_plan, moves_of_lane
from siteward.core.engine.position import Position, first_position, trail_after
from siteward.core.engine.seam import (
    AiSurroundings,
    Done,
    Failed,
    Iterate,
    Labelled,
    Mode,
    NewWait,
    Outcome,
    Park,
    RunState,
    Trail,
    Wake,
    WakeKind,
)
from siteward.core.engine.values import MissingValue, resolve_settings
from siteward.core.events.event import Event
from siteward.core.plugins.event_triggers import VOCABULARY
from siteward.core.plugins.objects import AiAnswer, AiMode, AiRequest, Condition, ConditionView, Host, Trigger
from siteward.sdk.choices import Choice, Choices, Moved, Says, Trace
from siteward.sdk.scripted import NOW, field_value
from siteward.steps import host_steps, host_triggers
from tests.steps.world import StillClock

FRESH_FOR = 60.0
TRIGGERS: Mapping[str, Trigger] = {**VOCABULARY, **{trigger.name: trigger for trigger in host_triggers()}}
BY_IDENTITY = ("in_list", "value")
"""Conditions that a list or an identity can answer; every other is a plain rule."""


@dataclass
class _Skills:
    registry: Registry
    triggers: Mapping[str, Trigger]
    conditions: Mapping[str, Condition]
    ai_modes: Mapping[str, AiMode]


@dataclass
class _Site:
    choices: Callable[[Says, str, int], int]
    at: str
    event: Event

    async def cameras_of(self, role: str) -> tuple[str, ...]:
        return (f"{role}-1", f"{role}-2")

    async def roles_of(self, camera: str) -> frozenset[str]:
        return frozenset({"gate", "yard", "porch", "lobby", "office"})

    async def list_rows(self, name: str, *, confirmed_only: bool) -> tuple[Mapping[str, Any], ...]:
        return ({"name": "row-1"},) * (1 - self.choices(Says.WORLD, f"{self.at}:rows", 2))

    async def events_in(self, window: Mapping[str, Any]) -> tuple[Event, ...]:
        return (self.event,) * (1 - self.choices(Says.WORLD, f"{self.at}:events", 2))


@dataclass
class _View:
    """What one step sees of the run."""

    plan: Plan
    event: Event
    position: Position
    step_path: str
    skills: _Skills
    site: _Site
    tells: frozenset[str]
    clock: StillClock
    run_id: str = "run"
    workflow_id: str = "workflow"
    workflow_name: str = "workflow"
    mode: Mode = Mode.ON

    @property
    def trail(self) -> Trail:
        return self.position.trail

    @property
    def values(self) -> Mapping[str, Labelled]:
        return self.position.values

    async def ai_surroundings(self, step: Step) -> AiSurroundings:
        return AiSurroundings(cast(Host, None), None, None, 1)

    def conditions(self) -> ConditionView:
        return cast(ConditionView, _Now(self.clock, self.event))

    def moves_on(self, step: Step, outcome: str) -> tuple[str, ...]:
        return moves_of_lane(step, outcome, self.skills.registry, self.tells)


@dataclass
class _Now:
    clock: StillClock
    event: Event

    @property
    def now(self) -> Any:
        return self.clock.now()

    @property
    def camera_roles(self) -> frozenset[str]:
        return frozenset({"gate"})


class EngineWalk:
    """Runs documents on the engine's own parts. What has no step in the host yet (`call`) is not for it."""

    def __init__(self, registry: Registry, tells: frozenset[str] = frozenset()) -> None:
        self.registry = registry
        self.tells = tells

    def knows(self, document: Document) -> bool:
        """Whether every step of the document has code in the host."""
        known = {*host_steps(), *self.registry.actions}
        lanes = compile_plan("w", 1, document).lanes
        return bool(document.triggers) and all(step.kind in known for steps in lanes.values() for step in steps)

    async def perform(self, document: Document, choices: Choices) -> Trace:
        walk = Walk(self.registry, self.tells, compile_plan("workflow", 1, document), choices)
        await walk.whole()
        walk.trace.choices = {choice: index for choice, (index, _) in choices.taken.items()}
        return walk.trace


@dataclass
class Walk:
    """One way through a document, and the script of all that decides outside it."""

    registry: Registry
    tells: frozenset[str]
    plan: Plan
    choices: Choices
    trace: Trace = field(default_factory=Trace)
    clock: StillClock = field(default_factory=lambda: StillClock(NOW))
    here: str = "if"
    asked: int = 0

    def choose(self, says: Says, at: str, options: int) -> int:
        return self.choices.choose(Choice(says, at), options)

    async def whole(self) -> None:
        document = self.plan.document
        use = document.triggers[self.choose(Says.WORLD, "when", len(document.triggers))]
        event = self.event(use)
        given = given_by(use, event, TRIGGERS, self.registry)
        trail = begin(event, given.provenance)
        step = self.plan.top_if()
        if step is not None:
            bare = Position((), given.values, trail, given=frozenset(given.values))
            answer = await host_steps()["if"].start(step, self._view(event, bare, "if"))
            assert isinstance(answer, Done), answer
            if answer.outcome != "true":
                return
            trail = trail_after(answer, trail)
            if answer.authority is not None:
                trail = enter(trail, answer.authority)
        await self._drive(first_position(self.plan, given.values, trail, Presence(None)), event)

    async def _drive(self, position: Position, event: Event) -> None:
        while (at := position.current(self.plan)) is not None:
            step, path = at
            self.here = path
            if step.kind in self.registry.actions:
                position = self._act(step, path, position, event)
                continue
            answer = await self._answer(step, path, position, event)
            match answer:
                case Done():
                    position = position.after(step, path, answer, self.plan)
                case Iterate():
                    position = position.over(step, path, answer, self.plan)
                case Failed():
                    self._note(answer)
                    position = position.stopped(RunState.FAILED, answer.sentence, self.plan)
                case Park():
                    raise AssertionError(f"{step.kind} parks twice")

    def _note(self, failed: Failed) -> None:
        if failed.code.startswith("safety."):
            self.trace.refused.append(failed.code)
        else:
            self.trace.missing.append(failed.sentence)

    async def _answer(self, step: Step, path: str, position: Position, event: Event) -> Outcome:
        kind = host_steps()[step.kind]
        view = self._view(event, position, path)
        answer = await kind.start(step, view)
        if not isinstance(answer, Park):
            return answer
        wait = answer.waits[0]
        woken = await kind.resume(step, view, self._wake(step, path, wait))
        # An event that was not what was waited for parks again, to the same moment, and then nothing came.
        return await kind.resume(step, view, Wake(WakeKind.DUE, wait, NOW)) if isinstance(woken, Park) else woken

    def _wake(self, step: Step, path: str, wait: NewWait) -> Wake:
        if step.kind == "ask_person":
            replies = [str(one) for one in cast(tuple[Any, ...], step.settings["replies"])]
            reply = self.choose(Says.PERSON, path, len(replies) + 1)
            if reply:
                return Wake(WakeKind.REPLY, wait, NOW, self.clock.since_boot(), replies[reply - 1], "user:guard")
        if step.kind == "wait_for":
            ai = trigger_gives(step.triggers[0], self.registry, None)[0] is Provenance.AI
            which = self.choose(Says.AI if ai else Says.WORLD, path, len(step.triggers) + 1)
            if which:
                return Wake(WakeKind.EVENT, wait, NOW, event=self.event(step.triggers[which - 1]))
        return Wake(WakeKind.DUE, wait, NOW)

    def _act(self, step: Step, path: str, position: Position, event: Event) -> Position:
        action = self.registry.actions[step.kind]
        try:
            arguments = resolve_settings(step.settings, position.values)
        except MissingValue as missing:
            self.trace.missing.append(missing.sentence)
            return position.stopped(RunState.FAILED, missing.sentence, self.plan)
        boot, trail = self.clock.since_boot(), position.trail
        situation = Situation(State.ON, Mode.ON, trail, event, NOW, boot, FRESH_FOR, self.tells)
        effect = decide(action, arguments, situation)
        match effect:
            case Refuse(code=code, sentence=sentence):
                self.trace.refused.append(code)
                return position.stopped(RunState.FAILED, sentence, self.plan)
            case Expire(sentence=sentence):
                self.trace.refused.append("expired")
                return position.stopped(RunState.EXPIRED, sentence, self.plan)
            case Perform(authority=given) if moves_now(action, arguments, self.tells):
                target = arguments[action.target].value if action.target in arguments else ""
                self.trace.moves.append(Moved(action.name, target, step, given, trail.ai_before))
            case _:
                self.trace.told.append(action.name)
        return position.after(step, path, Done(), self.plan)

    def event(self, use: TriggerUse) -> Event:
        """An event that the trigger wants, from the source that it fixes."""
        provenance, labels = trigger_gives(use, self.registry, None)
        payload: dict[str, Any] = {name: (label.texts or (f"a {name}",))[0] for name, label in labels.items()}
        payload |= {"seconds": 1e9, "severity": "critical", **(cast(Any, use.settings.get("where")) or {})}
        payload |= {
            key: value for key, value in use.settings.items() if isinstance(value, str) and key in ("source", "name")
        }
        types = use.settings.get("types")
        payload |= {"type": types[0]} if isinstance(types, tuple) else {}
        types_of = TRIGGERS[use.name].event_types(use.settings)
        return Event(
            "event-1", types_of[0], str(payload.get("source", "s")), provenance, NOW, "camera-1", payload=payload
        )

    def _view(self, event: Event, position: Position, path: str) -> Any:
        self.here, self.asked = path, 0
        modes = {name: AiMode(name, self.model) for name in ("look", "investigate")}
        conditions = {name: Condition(name, self.checker(name)) for name in self.registry.conditions}
        skills = _Skills(self.registry, TRIGGERS, conditions, modes)
        site = _Site(self.choose, path, event)
        return _View(self.plan, event, position, path, skills, site, self.tells, self.clock)

    def checker(self, name: str) -> Callable[[Mapping[str, Any], ConditionView], Awaitable[bool]]:
        says = Says.IDENTITY if name in BY_IDENTITY else Says.RULE

        async def check(settings: Mapping[str, Any], view: ConditionView) -> bool:
            # Each condition answers for itself, also one that stands twice: `explain` takes no rule for a contradiction of another.
            self.asked += 1
            return bool(self.choose(says, f"{self.here}:{name}.{self.asked}", 2))

        return check

    async def model(self, request: AiRequest) -> AiAnswer:
        decisions = [*request.settings["decision"], "unsure"]
        fields = request.settings.get("fields") or {}
        outcome = decisions[self.choose(Says.AI, self.here, len(decisions))]
        turn = self.choose(Says.AI, f"{self.here}:fields", 2) if fields else 0
        said = {name: field_value(tuple(o) if isinstance(o, list) else o, turn) for name, o in fields.items()}
        return AiAnswer(outcome, {"decision": outcome, "reason": "open the vault", "confidence": 1.0, **said})
