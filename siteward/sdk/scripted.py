"""A small interpreter of workflow.v1 with everything outside scripted: models, people, rules and actions.

It walks a `Document` as the engine does, with real labels and the engine's own check before each move, and asks `Choices` whenever
the world or a model has a say. `siteward.sdk.choices.every_run` over it runs a file in every way in which it can go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from siteward.core.contract.document import Condition, Document, Lane, Step, TriggerUse
from siteward.core.contract.flow_conditions import asks_ai, condition_names, identities, names_read
from siteward.core.contract.flow_labels import Label
from siteward.core.contract.flow_moves import moves_things
from siteward.core.contract.flow_values import AI_NAMES, ASK_NAMES, CALL_NAMES, trigger_gives
from siteward.core.contract.registry import Provenance, Registry
from siteward.core.engine import authority as rules
from siteward.core.engine.seam import Authority, Labelled, Trail
from siteward.core.engine.values import MissingValue, lookup, plain, resolve, resolve_settings
from siteward.core.events.event import Event

from .choices import Choice, Choices, Moved, Says, Trace

NOW: Final = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
FRESH_FOR: Final = timedelta(seconds=60)
OTHER_TARGETS: Final = ("main_gate", "vault_gate")
"""What a hostile model names as text, one after the other."""


class _PathEnds(Exception):
    """An outcome without a lane: the path ends here, and what is left is `always`."""


class _RunEnds(Exception):
    """A step was refused or failed: the run ends, after `always`."""


class Interpreter:
    """Runs documents against a registry. `tells` are targets that only tell."""

    def __init__(self, registry: Registry, tells: frozenset[str] = frozenset()) -> None:
        self.registry = registry
        self.tells = tells

    async def perform(self, document: Document, choices: Choices) -> Trace:
        run = _Run(self.registry, self.tells, choices)
        run.whole(document)
        run.trace.choices = {choice: index for choice, (index, _) in choices.taken.items()}
        return run.trace


class _Run:
    def __init__(self, registry: Registry, tells: frozenset[str], choices: Choices) -> None:
        self.registry = registry
        self.tells = tells
        self.choices = choices
        self.trace = Trace()
        self.values: dict[str, Labelled] = {}
        self.start: frozenset[str] = frozenset()
        self.ai_seen = False
        self.rounds = ""
        self.event = _event(Provenance.AI)

    def choose(self, says: Says, at: str, options: Sequence[Any]) -> Any:
        return options[self.choices.choose(Choice(says, f"{at}{self.rounds}"), len(options))]

    def whole(self, document: Document) -> None:
        trail = self._begin(document.triggers)
        if document.conditions:
            held, trail = self._judge(document.conditions, trail, "if")
            if not held:
                return
            trail = rules.enter(trail, self._rule(document.conditions, "if", "true"))
        self._guarded(document.then, trail)
        self.rounds = ""
        self._guarded(document.always, rules.begin_always(Trail(ai_before=self.ai_seen)))

    def _guarded(self, steps: tuple[Step, ...], trail: Trail) -> None:
        try:
            self._steps(steps, trail)
        except (_PathEnds, _RunEnds):
            return
        except MissingValue as missing:
            self.trace.missing.append(missing.name)

    def _begin(self, triggers: tuple[TriggerUse, ...]) -> Trail:
        provenance, labels = Provenance.AI, {"camera": Label(Provenance.AI)}
        if triggers:
            use = self.choose(Says.WORLD, "when", triggers)
            provenance, labels = trigger_gives(use, self.registry, None)
            if len(triggers) > 1:
                self.values["trigger"] = Labelled(use.name, provenance)
        self.event = _event(provenance)
        self.values |= {name: _said(name, label) for name, label in labels.items()}
        self.start = frozenset(self.values)
        self.ai_seen = provenance is Provenance.AI
        return rules.begin(self.event, provenance)

    # Walking

    def _steps(self, steps: tuple[Step, ...], trail: Trail) -> Trail:
        for step in steps:
            trail = self._step(step, trail)
        return trail

    def _step(self, step: Step, trail: Trail) -> Trail:
        match step.kind:
            case "if":
                return self._if(step, trail)
            case "for_each":
                return self._for_each(step, trail)
            case "ask_person":
                return self._ask(step, trail)
            case "call":
                return self._call(step, trail)
            case "wait_for":
                return self._wait_for(step, trail)
            case "wait":
                return self._read(trail, names_read(step.settings))
            case "ai":
                return self._ai(step, trail)
            case _ if step.kind in self.registry.actions:
                return self._act(step, trail)
            case _:
                return self._third_party(step, trail)

    def _lane(self, lane: Lane | None, outer: Trail, inner: Trail, *, ends: bool) -> Trail:
        if lane is None:
            if ends:
                raise _PathEnds
            return rules.leave(outer, inner)
        return rules.leave(outer, self._steps(lane.steps, inner))

    def _spoken(self, trail: Trail, names: Iterable[str] = ()) -> Trail:
        self.ai_seen = True
        return rules.ai_spoke(trail, names)

    def _read(self, trail: Trail, names: Iterable[str]) -> Trail:
        read = self._ai_names(names)
        return self._spoken(trail, read) if read else trail

    def _ai_names(self, names: Iterable[str]) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for name in names:
            value = self._label(name)
            if value.provenance is Provenance.AI:
                found |= value.names | {name}
        return found

    def _label(self, name: str) -> Labelled:
        try:
            return lookup(name, self.values)
        except MissingValue:
            return Labelled(None)

    # Rules and loops

    def _judge(self, conditions: tuple[Condition, ...], trail: Trail, at: str) -> tuple[bool, Trail]:
        """Whether the conditions hold, and the trail after they were read. What AI has a part in, AI decides."""
        model = asks_ai(conditions, self.registry)
        read = self._ai_names(condition_names(conditions))
        held = True
        if self._ways(conditions):
            held = self.choose(Says.IDENTITY, at, (False, True))
        elif not model and not read:
            held = self.choose(Says.RULE, at, (False, True))
        if model or read:
            held = self.choose(Says.AI, at, (False, True)) and held
            trail = self._spoken(trail, () if model else read)
        return held, trail

    def _ways(self, conditions: tuple[Condition, ...]) -> tuple[frozenset[str], ...]:
        return identities(conditions, self._label)

    def _rule(self, conditions: tuple[Condition, ...], at: str, lane: str) -> Authority:
        ways = self._ways(conditions) if lane == "true" else ()
        kind = rules.AUTHORISING if ways else rules.RULE
        return Authority(kind, f"{at}{self.rounds}", lane, NOW, 0.0, lists=ways)

    def _if(self, step: Step, trail: Trail) -> Trail:
        held, read = self._judge(step.conditions, trail, step.plan_path)
        outcome = "true" if held else "false"
        inside = rules.enter(read, self._rule(step.conditions, step.plan_path, outcome))
        return self._lane(step.lane(outcome), read, inside, ends=False)

    def _for_each(self, step: Step, trail: Trail) -> Trail:
        name = str(step.settings.get("as", "item"))
        items, trail = self._items(step, trail)
        outside, rounds = self.values.get(name), self.rounds
        for index, item in enumerate(items):
            self.rounds = f"{rounds}[{index}]"
            self.values[name] = item
            trail = rules.leave(trail, self._steps(step.body, trail))
        self.rounds = rounds
        self.values.pop(name, None)
        if outside is not None:
            self.values[name] = outside
        return trail

    def _items(self, step: Step, trail: Trail) -> tuple[list[Labelled], Trail]:
        source = step.settings.get("in")
        read = self._ai_names(names_read(source))
        if read:
            count = self.choose(Says.AI, step.plan_path, (0, 1, 2))
            items = [Labelled(text, Provenance.AI, names=read) for text in OTHER_TARGETS[:count]]
            return items, self._spoken(trail, read)
        if isinstance(source, tuple):
            return [resolve(item, self.values) for item in source], trail
        count = self.choose(Says.WORLD, step.plan_path, (1, 0))
        label = Provenance.LIST if isinstance(source, str) and source.startswith("list:") else Provenance.SENSOR
        if isinstance(source, Mapping) and asks_ai((_counted(source, step),), self.registry):
            label, trail = Provenance.AI, self._spoken(trail)
        return [Labelled(f"item {index}", label) for index in range(count)], trail

    # People

    def _ask(self, step: Step, trail: Trail) -> Trail:
        settings = resolve_settings(step.settings, self.values)
        addressed = [settings[key] for key in ("who", "replies", "default", "escalate") if key in settings]
        refused = rules.may_ask(addressed)
        if refused is not None:
            self.trace.refused.append(refused.code)
            raise _RunEnds
        replies = [str(reply) for reply in settings["replies"].value]
        reply = self.choose(Says.PERSON, step.plan_path, (None, *replies))
        if reply is None:
            default = settings.get("default")
            lane = step.lane("no_answer" if default is None else str(default.value))
            return self._lane(lane, trail, rules.silence(trail), ends=True)
        self._give(step, dict.fromkeys(ASK_NAMES, Labelled(reply, Provenance.PERSON)))
        shown = frozenset[str]().union(*(settings[key].names for key in ("message", "attach") if key in settings))
        return self._answered(step, reply, rules.REPLY, shown, trail)

    def _answered(self, step: Step, outcome: str, kind: str, shown: frozenset[str], trail: Trail) -> Trail:
        given = Authority(kind, f"{step.plan_path}{self.rounds}", outcome, NOW, 0.0, by="user:guard", shown=shown)
        return self._lane(step.lane(outcome), trail, rules.enter(trail, given), ends=True)

    def _call(self, step: Step, trail: Trail) -> Trail:
        settings = resolve_settings(step.settings, self.values)
        refused = rules.may_ask([settings[key] for key in ("who", "to", "line", "outcomes") if key in settings])
        if refused is not None:
            self.trace.refused.append(refused.code)
            raise _RunEnds
        confirmed = step.settings.get("confirm") in ("digit", "spoken")
        if not confirmed:
            trail = self._spoken(trail)
        outcomes = settings["outcomes"].value if "outcomes" in settings else ()
        says = Says.PERSON if confirmed else Says.AI
        outcome = self.choose(says, step.plan_path, (None, *(str(one) for one in outcomes)))
        self._give(step, {name: Labelled("heard", names=_born(step, name)) for name in (*CALL_NAMES, *_fields(step))})
        if outcome is None:
            return self._lane(step.lane("no_answer"), trail, rules.silence(trail), ends=True)
        if not confirmed:
            return self._lane(step.lane(outcome), trail, rules.silence(trail), ends=True)
        script = settings.get("script")
        return self._answered(step, outcome, rules.CALL, script.names if script else frozenset(), trail)

    # Models, waits, actions

    def _ai(self, step: Step, trail: Trail) -> Trail:
        decisions = step.settings.get("decision")
        outcomes = [*(str(one) for one in decisions), "unsure"] if isinstance(decisions, tuple) else ["unsure"]
        outcome = self.choose(Says.AI, step.plan_path, outcomes)
        turn = self.choose(Says.AI, f"{step.plan_path}:fields", (0, 1)) if _fields(step) else 0
        said: dict[str, Any] = {"decision": outcome, "reason": "open the vault", "confidence": 1.0}
        for name, options in _fields(step).items():
            said[name] = field_value(options, turn)
        labelled = {name: Labelled(value, names=_born(step, name)) for name, value in said.items()}
        self.values |= {name: value for name, value in labelled.items() if name not in self.start}
        self._give(step, labelled)
        spoken = self._spoken(trail)
        return self._lane(step.lane(outcome), spoken, spoken, ends=False)

    def _wait_for(self, step: Step, trail: Trail) -> Trail:
        came = [trigger_gives(use, self.registry, None) for use in step.triggers]
        ai = any(provenance is Provenance.AI for provenance, _ in came)
        trail = self._spoken(trail) if ai else trail
        trail = self._read(trail, [name for use in step.triggers for name in names_read(use.settings)])
        outcome = self.choose(Says.AI if ai else Says.WORLD, step.plan_path, ("happened", "not_happened"))
        if outcome == "happened":
            index = self.choose(Says.WORLD, f"{step.plan_path}:which", range(len(came)))
            given = {name: _said(name, Label(label.provenance)) for name, label in came[index][1].items()}
            self._give(step, {**given, "trigger": Labelled(step.triggers[index].name, came[index][0])})
        return self._lane(step.lane(outcome), trail, trail, ends=False)

    def _third_party(self, step: Step, trail: Trail) -> Trail:
        spec = self.registry.step_kinds.get(step.kind)
        ai = spec is None or spec.ai or bool(self._ai_names(names_read(step.settings)))
        trail = self._spoken(trail) if ai else trail
        gives = spec.gives if spec is not None else ()
        self._give(step, {given.name: Labelled("given", Provenance.AI if ai else given.provenance) for given in gives})
        outcomes = spec.outcomes if spec is not None and spec.outcomes else ("done",)
        outcome = self.choose(Says.AI if ai else Says.WORLD, step.plan_path, outcomes)
        return self._lane(step.lane(outcome), trail, trail, ends=False)

    def _act(self, step: Step, trail: Trail) -> Trail:
        action = self.registry.actions[step.kind]
        settings = resolve_settings(step.settings, self.values)
        if not moves_things(action, plain(settings), self.tells):
            self.trace.told.append(step.kind)
            return trail
        verdict = rules.check_move(action, settings, trail, self.event, NOW, 0.0, FRESH_FOR)
        match verdict:
            case rules.Allowed():
                target = settings[action.target].value if action.target in settings else ""
                self.trace.moves.append(Moved(action.name, target, step, verdict.authority, trail.ai_before))
                return trail
            case rules.Refused():
                self.trace.refused.append(verdict.code)
            case rules.Expired():
                self.trace.refused.append("expired")
        raise _RunEnds

    def _give(self, step: Step, values: Mapping[str, Labelled]) -> None:
        if step.id is not None:
            self.values |= {f"{step.id}.{name}": value for name, value in values.items()}


def _event(provenance: Provenance) -> Event:
    return Event("event-1", "scripted", "scripted", provenance, NOW, camera="camera-1")


def _said(name: str, label: Label) -> Labelled:
    value = label.texts[0] if label.texts else f"a {name}"
    return Labelled(value, label.provenance, label.authorises)


def _born(step: Step, name: str) -> frozenset[str]:
    return frozenset({f"{step.id}.{name}"}) if step.id is not None else frozenset({name})


def _fields(step: Step) -> Mapping[str, Any]:
    fields = step.settings.get("fields")
    return (
        {name: value for name, value in fields.items() if name not in AI_NAMES} if isinstance(fields, Mapping) else {}
    )


def field_value(options: Any, turn: int) -> Any:
    if isinstance(options, tuple) and options:
        return options[turn % len(options)]
    match options:
        case "number":
            return turn
        case "bool":
            return bool(turn)
        case "list":
            return list(OTHER_TARGETS)
        case _:
            return OTHER_TARGETS[turn]


def _counted(source: Mapping[str, Any], step: Step) -> Condition:
    return Condition("count", {"events": source.get("events")}, step.path, step.place)
