"""A compiled workflow version: its lanes by stable name, what it needs, and what each lane may move. Made once per version, never changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from siteward.core.contract.document import Condition, Document, Lane, Place, Step
from siteward.core.contract.flow_moves import moves_things
from siteward.core.contract.registry import ActionSpec, Registry
from siteward.core.engine.parts import Provided

THEN = "then"
ALWAYS = "always"
TOP_IF = "if"
"""The name of the top-level `if` in a run's rows."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run follows. `lanes` maps the static name of each lane (`then`, `then.0/alert`, `then.2/do`) to its steps."""

    workflow_id: str
    version: int
    document: Document
    lanes: Mapping[str, tuple[Step, ...]]
    asks: bool
    begins: Step | None = None
    moves: dict[tuple[str, str, frozenset[str]], tuple[str, ...]] = field(default_factory=dict, compare=False)
    """What each lane may move, by step, outcome and the targets that only tell: worked out when it is first asked for."""

    @property
    def name(self) -> str:
        """The workflow's name."""
        return self.document.name

    def top_if(self) -> Step | None:
        """The top-level `if` as a step, or None where the file has none. `then` is its `true` lane: what moves there says which rows of
        a list count."""
        return self.begins


def compile_plan(workflow_id: str, version: int, document: Document) -> Plan:
    """Name every lane of a validated document."""
    lanes: dict[str, tuple[Step, ...]] = {THEN: document.then, ALWAYS: document.always}
    for step in every_step(document):
        for lane in step.lanes:
            lanes[f"{step.plan_path}/{lane.outcome}"] = lane.steps
        if step.body:
            lanes[f"{step.plan_path}/do"] = step.body
    asks = any(step.kind == "ask_person" for step in every_step(document))
    return Plan(workflow_id, version, document, lanes, asks, _top_if(document))


def _top_if(document: Document) -> Step | None:
    if not document.conditions:
        return None
    then = Lane("true", document.then, ("then",), Place(1, 1), beside=True)
    return Step("if", {}, ("if",), Place(1, 1), TOP_IF, lanes=(then,), conditions=document.conditions)


def every_step(document: Document) -> Iterator[Step]:
    """All steps, also those inside lanes and bodies."""
    yield from _walk((*document.then, *document.always))


def _walk(steps: Iterable[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        yield from _walk(step.body)
        for lane in step.lanes:
            yield from _walk(lane.steps)


def missing_code(document: Document, skills: Provided) -> tuple[str, ...]:
    """The skills that a file names and a manifest declares, and no loaded code stands behind; sorted."""
    missing = {use.name for use in document.triggers if use.name not in skills.triggers}
    conditions = set(_condition_names(document.conditions))
    for step in every_step(document):
        if step.kind in skills.registry.actions and step.kind not in skills.actions:
            missing.add(step.kind)
        if step.kind == "ai" and (mode := str(step.settings.get("mode"))) not in skills.ai_modes:
            missing.add(f"ai.{mode}")
        missing |= {use.name for use in step.triggers if use.name not in skills.triggers}
        conditions |= set(_condition_names(step.conditions))
    missing |= conditions - set(skills.conditions)
    return tuple(sorted(missing))


def _condition_names(conditions: Iterable[Condition]) -> Iterator[str]:
    for condition in conditions:
        if condition.name in ("any", "not"):
            yield from _condition_names(condition.inner)
        else:
            yield condition.name


def moves_of_lane(step: Step, outcome: str, registry: Registry, tells: frozenset[str]) -> tuple[str, ...]:
    """What the lane of `outcome` (or the body of a loop, `do`) may move, in words (`gate.open entrance`), each once, in the order of the file."""
    lane = step.lane(outcome)
    body = step.body if outcome == "do" else ()
    steps = body if lane is None else lane.steps
    found: dict[str, None] = {}
    for inner in _walk(steps):
        spec = registry.actions.get(inner.kind)
        if spec is not None and moves_things(spec, inner.settings, tells):
            found[_in_words(spec, inner)] = None
    return tuple(found)


def _in_words(spec: ActionSpec, step: Step) -> str:
    target = step.settings.get(spec.target) if spec.target else None
    return spec.name if target is None else f"{spec.name} {target}"
