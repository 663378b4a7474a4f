"""Data flow over a whole workflow: what is known, what may move and who allows it, at every step on every path.

The walk goes down each lane with a `Point` and joins the lanes' ends. A `for_each` body is walked twice, the second time from what the first
left behind. A step is visited once for each way to stand there: as itself, and once more for each question whose default leads
there, since nobody said anything then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from .document import Condition, Document, Lane, Path, Step, Value
from .flow_conditions import asks_ai, condition_names, identities, names_read
from .flow_labels import KnownNames, Label, join_labels
from .flow_moves import moves_things
from .flow_state import Grant, GrantKind, Point, Silence, join
from .flow_values import (
    ASK_NAMES,
    SAID_BY_PERSON,
    ai_step_gives,
    call_gives,
    item_label,
    step_kind_gives,
    triggers_give,
    under,
)
from .registry import ActionSpec, Provenance, Registry, SiteView

CONFIRMED: Final = ("digit", "spoken")
"""The ways in which a person confirms what a call heard."""
TOP_IF: Final[Path] = ("if",)
Context: TypeAlias = Path | None
"""The question whose default was taken on the way, the outermost of several: one is enough to refuse a move."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A step and what is known just before it. `context` is the question whose default was taken on the way there."""

    step: Step
    point: Point
    context: Context = None


@dataclass(frozen=True, slots=True)
class MoveUse:
    """A step that moves something, with its action."""

    step: Step
    action: ActionSpec
    visit: Visit


@dataclass(frozen=True, slots=True)
class Flow:
    """The whole analysis. `provenance` is the trigger's; `visits` are in the order of the file; `steps_walked` counts the work."""

    provenance: Provenance
    visits: tuple[Visit, ...]
    moves: tuple[MoveUse, ...]
    steps_walked: int = 0

    def known(self, path: Path) -> Mapping[str, Label]:
        """The names known just before the step at `path`, with their labels."""
        return self.at(path).names

    def at(self, path: Path) -> Point:
        """What is known just before the step at `path`. Raises `KeyError` where there is no step."""
        for visit in self.visits:
            if visit.step.path == path and visit.context is None:
                return visit.point
        raise KeyError(path)

    def moves_in(self, step: Step, outcome: str) -> tuple[MoveUse, ...]:
        """What the lane of an outcome may move, at any depth."""
        lane = step.lane(outcome)
        if lane is None:
            return ()
        depth = len(lane.path)
        return tuple(
            use
            for use in self.moves
            if use.step.path[:depth] == lane.path and use.visit.context is None and not use.visit.point.dead
        )


def analyse(document: Document, registry: Registry, site: SiteView | None = None) -> Flow:
    """Walk the whole document."""
    return _Walk(registry, site).run(document)


class _Walk:
    """One walk. `_visits` keeps the worst point of each step; `_ends` what a loop left behind for each way of entering it."""

    def __init__(self, registry: Registry, site: SiteView | None) -> None:
        self._registry = registry
        self._site = site
        self._tells = site.tells if site is not None else frozenset[str]()
        self._start: Mapping[str, Label] = KnownNames({})
        self._visits: dict[tuple[Path, Context], Visit] = {}
        self._ends: dict[tuple[Path, Context], list[tuple[Point, Point]]] = {}
        self._given: dict[str, Label] = {}
        self._spoke = False
        self._walked = 0

    def run(self, document: Document) -> Flow:
        provenance, names = triggers_give(document.triggers, self._registry, self._site)
        self._start = known = KnownNames(names)
        self._given.update(names)
        self._spoke = provenance is Provenance.AI
        point = Point(known, ai=self._spoke)
        if document.conditions:
            point = self._judged(document.conditions, point)
            point = point.granted(self._rule(document.conditions, point, TOP_IF, "if", "true"))
        self._steps(document.then, point, None)
        always = Point(KnownNames(dict(self._given)), ai=self._spoke, in_always=True)
        self._steps(document.always, always, None)
        visits = tuple(self._visits.values())
        return Flow(provenance, visits, tuple(self._moves(visits)), self._walked)

    def _moves(self, visits: Iterable[Visit]) -> Iterable[MoveUse]:
        for visit in visits:
            action = self._registry.actions.get(visit.step.kind)
            if action is not None and moves_things(action, visit.step.settings, self._tells):
                yield MoveUse(visit.step, action, visit)

    def _steps(self, steps: tuple[Step, ...], point: Point, context: Context) -> Point:
        for step in steps:
            point = self._step(step, point, context)
        return point

    def _step(self, step: Step, point: Point, context: Context) -> Point:
        self._note(step, point, context)
        match step.kind:
            case "if":
                return self._if(step, point, context)
            case "for_each":
                return self._for_each(step, point, context)
            case "ask_person":
                return self._ask(step, point, context)
            case "call":
                return self._call(step, point, context)
            case "wait_for":
                return self._wait_for(step, point, context)
            case "wait":
                return self._said(point, point.ai_names(names_read(step.settings)))
            case "ai":
                return self._ai(step, point, context)
            case _ if step.kind in self._registry.actions:
                return point
            case _:
                return self._third_party(step, point, context)

    def _note(self, step: Step, point: Point, context: Context) -> None:
        self._walked += 1
        key = (step.path, context)
        before = self._visits.get(key)
        self._visits[key] = Visit(step, point if before is None else join((before.point, point)), context)

    def _knowing(self, point: Point, names: Mapping[str, Label]) -> Point:
        for name, label in names.items():
            self._given[name] = join_labels((self._given.get(name, label), label))
        return point.knowing(names) if names else point

    def _said(self, point: Point, read: frozenset[str]) -> Point:
        """After AI values were read; nothing changes where none were."""
        return self._spoken(point, read) if read else point

    def _spoken(self, point: Point, read: Iterable[str] = ()) -> Point:
        self._spoke = True
        return point.ai_spoke(read)

    def _lane(self, lane: Lane | None, outside: Point, inside: Point, context: Context, *, ends: bool) -> Point:
        """Where a lane ends. Without a lane the path goes on as it is, or ends."""
        if lane is None:
            return replace(outside.left(inside), dead=True) if ends else outside.left(inside)
        return outside.left(self._steps(lane.steps, inside, context))

    # Rules and loops

    def _judged(self, conditions: tuple[Condition, ...], point: Point) -> Point:
        if asks_ai(conditions, self._registry):
            return self._spoken(point)
        return self._said(point, point.ai_names(condition_names(conditions)))

    def _rule(self, conditions: tuple[Condition, ...], point: Point, path: Path, plan_path: str, lane: str) -> Grant:
        ways = identities(conditions, point.label) if lane == "true" else ()
        return Grant(GrantKind.AUTHORISING if ways else GrantKind.RULE, path, plan_path, lane, ways=ways)

    def _if(self, step: Step, point: Point, context: Context) -> Point:
        base = self._judged(step.conditions, point)
        ends = []
        for outcome in ("true", "false"):
            inside = base.granted(self._rule(step.conditions, base, step.path, step.plan_path, outcome))
            ends.append(self._lane(step.lane(outcome), base, inside, context, ends=False))
        return join(ends)

    def _for_each(self, step: Step, point: Point, context: Context) -> Point:
        walked = self._ends.setdefault((step.path, context), [])
        end = next((end for entered, end in walked if entered == point), None)
        if end is None:
            end = self._loop(step, point, context)
            walked.append((point, end))
        return end

    def _loop(self, step: Step, point: Point, context: Context) -> Point:
        read, item = item_label(step.settings.get("in"), point, self._registry)
        base = self._spoken(point, read) if item.provenance is Provenance.AI else point
        name = str(step.settings.get("as", "item"))
        if name in self._start:
            item = replace(join_labels((item, self._start[name])), authorises=False)
        entry = self._knowing(base, {name: item})
        first = base.left(self._steps(step.body, entry, context))
        # Judged as if a second round followed, also where the first one ended the path: a round more can only make it worse.
        again = join((entry, self._knowing(replace(first, dead=entry.dead), {name: item})))
        after = _without_item(base.left(self._steps(step.body, again, context)), name, base)
        # A list that the author wrote is never empty; any other may be, and then the body never ran.
        return after if isinstance(step.settings.get("in"), tuple) else join((base, after))

    # People

    def _ask(self, step: Step, point: Point, context: Context) -> Point:
        said = self._knowing(point, under(step.id, dict.fromkeys(ASK_NAMES, SAID_BY_PERSON)))
        shown = frozenset(names_read((step.settings.get("message"), step.settings.get("attach"))))
        default = step.settings.get("default")
        ends = []
        for reply in _outcomes(step, "replies"):
            if reply == default and context is not None:
                continue  # nobody answered before it either, so the silent walk below is the worse of the two
            grant = Grant(GrantKind.REPLY, step.path, step.plan_path, reply, shown=shown)
            ends.append(self._lane(step.lane(reply), said, said.granted(grant), context, ends=True))
        if isinstance(default, str):
            silent = said.silent(Silence.DEFAULT, step.path)
            ends.append(self._lane(step.lane(default), said, silent, context or step.path, ends=True))
        if not isinstance(default, str) or step.lane("no_answer") is not None:
            silent = said.silent(Silence.NO_ANSWER, step.path)
            ends.append(self._lane(step.lane("no_answer"), said, silent, context, ends=True))
        return join(ends)

    def _call(self, step: Step, point: Point, context: Context) -> Point:
        """A call. What it heard is a model's word, so AI speaks in it, unless the outcome is one that the person confirmed."""
        row = bool(point.ai_names(names_read(step.settings.get("to")))) and isinstance(step.settings.get("to"), Mapping)
        confirmed = step.settings.get("confirm") in CONFIRMED
        heard = point if confirmed else self._spoken(point)
        said = self._knowing(heard, call_gives(step, row=row))
        shown = frozenset(names_read(step.settings.get("script")))
        outcomes = _outcomes(step, "outcomes")
        ends = []
        for outcome in outcomes:
            grant = Grant(
                GrantKind.CALL, step.path, step.plan_path, outcome, shown=shown, row=(step.id or "") if row else None
            )
            inside = said.granted(grant) if confirmed else said.silent(Silence.UNCONFIRMED, step.path)
            ends.append(self._lane(step.lane(outcome), said, inside, context, ends=True))
        if not outcomes:
            ends.append(said.silent(Silence.UNCONFIRMED, step.path))
        silent = said.silent(Silence.NO_ANSWER, step.path)
        ends.append(self._lane(step.lane("no_answer"), said, silent, context, ends=True))
        return join(ends)

    # Models, waits and what others bring

    def _ai(self, step: Step, point: Point, context: Context) -> Point:
        said = self._knowing(self._spoken(point), ai_step_gives(step, self._start))
        decisions = (*_outcomes(step, "decision"), "unsure")
        return join([self._lane(step.lane(one), said, said, context, ends=False) for one in decisions])

    def _wait_for(self, step: Step, point: Point, context: Context) -> Point:
        provenance, names = triggers_give(step.triggers, self._registry, self._site)
        read = point.ai_names(name for use in step.triggers for name in names_read(use.settings))
        base = self._spoken(point) if provenance is Provenance.AI else self._said(point, read)
        # What a later event brings is no identity of the run's own trigger.
        given = {name: replace(label, authorises=False) for name, label in names.items()}
        came = self._knowing(base, under(step.id, given))
        return join(
            [
                self._lane(step.lane("happened"), base, came, context, ends=False),
                self._lane(step.lane("not_happened"), base, base, context, ends=False),
            ]
        )

    def _third_party(self, step: Step, point: Point, context: Context) -> Point:
        ai, names = step_kind_gives(step, point, self._registry)
        said = self._knowing(self._spoken(point) if ai else point, names)
        if not step.lanes:
            return said
        ends = [self._lane(lane, said, said, context, ends=False) for lane in step.lanes]
        return join([*ends, said])


def _outcomes(step: Step, setting: str) -> tuple[str, ...]:
    value: Value = step.settings.get(setting)
    return tuple(str(one) for one in value) if isinstance(value, tuple) else ()


def _without_item(point: Point, name: str, outside: Point) -> Point:
    """After a loop its item's name means what it meant before."""
    return replace(point, names=point.names.adding({name: outside.names.get(name)}))
