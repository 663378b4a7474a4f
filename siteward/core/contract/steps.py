"""Steps: one kind each, lanes beside it or inside it, and the names that each path fills."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from .admin import note_action_scope
from .ai_shape import AI_SETTINGS, read_ai
from .asks import ASK_SETTINGS, CALL_SETTINGS, read_ask, read_call
from .conditions import read_conditions
from .document import Condition, Lane, Step
from .fields import read_form
from .fixes import add_key, all_of, nearest_key, own_entries, remove, set_to
from .kinds import (
    IF_OUTCOMES,
    WAIT_FOR_OUTCOMES,
    KindShape,
    Lanes,
    is_plain_name,
    read_for_each,
    read_third_party,
    read_wait_for,
    without,
)
from .names import AI_NAMES, Names, meet
from .notes import listed, shown
from .outcomes import listed_outcomes
from .problems import Fix
from .reading import Reading, say_type
from .registry import ActionSpec
from .tree import At, NodeKind

BESIDE: Final = ("id", "name")


def read_steps(at: At, names: Names, plan: str, reading: Reading) -> tuple[tuple[Step, ...], Names | None]:
    """The steps of a list, and the names known after it (None: every path ends inside)."""
    if not at.is_list:
        _not_a_list(at, reading)
        return (), names
    if not at.node.items:
        fixes = (remove(at),) if len(at.path) > 1 else ()
        told = f"`{at.key}` holds no step. Write one, or leave `{at.key}` out."
        reading.notes.error("shape.empty_list", told, at, fixes=fixes)
    steps: list[Step] = []
    now: Names | None = names
    for index, item in enumerate(at.items()):
        if not reading.count_step(item):
            break
        here = now if now is not None else names  # steps that nothing reaches are still read
        step, after = read_step(item, here, f"{plan}.{index}", reading)
        now = after if now is not None else None
        if step is not None:
            steps.append(step)
    return tuple(steps), now


def _not_a_list(at: At, reading: Reading) -> None:
    if at.node.value is None and not at.is_map:
        reading.notes.error("shape.empty_list", f"`{at.key}` holds no step. Write one, or leave it out.", at)
        return
    fixes = (set_to(at, (at.value,), "Write it as a list"),) if at.is_map and at.node.entries else ()
    reading.notes.error("shape.wrong_type", f"`{at.key}` takes a list of steps, not {say_type(at)}.", at, fixes=fixes)


def read_step(at: At, names: Names, plan: str, reading: Reading) -> tuple[Step | None, Names | None]:
    """One step and the names known after it."""
    if not at.is_map:
        reading.notes.error("shape.wrong_type", f"A step is a mapping such as `log: …`, not {say_type(at)}.", at)
        return None, names
    kind_at = _kind(at, reading)
    if kind_at is None:
        return None, names
    step_id = _step_id(at, kind_at, reading)
    name = _step_name(at, reading)
    outcomes = outcomes_of(kind_at, reading)
    lanes_at = _lanes(at, kind_at, outcomes, reading)
    inside = frozenset(lane.key for lane in lanes_at if len(lane.path) > len(kind_at.path))
    shape, conditions = _read_kind(kind_at, inside, names, reading)
    _check_missing(kind_at, shape, lanes_at, reading)
    lanes, body, after = _read_paths(kind_at, step_id, shape, lanes_at, names, plan, reading)
    step = Step(
        kind_at.key,
        shape.settings,
        at.path,
        kind_at.place,
        plan,
        step_id,
        name,
        lanes,
        conditions or shape.conditions,
        body,
        shape.triggers,
    )
    return step, after


def _kind(at: At, reading: Reading) -> At | None:
    """The entry that says what the step does."""
    registry = reading.registry
    entries = list(at.entries())
    found = [one for one in entries if _is_kind(one.key, reading)]
    if len(found) > 1:
        leading = [one for one in found if all(o is one or o.key in outcomes_of(one, reading) for o in found)]
        found = leading if len(leading) == 1 else found
    if len(found) == 1:
        return found[0]
    if found:
        told = f"{shown(found[0].key)} and {shown(found[1].key)} stand in one step. Make each its own step (- …)."
        reading.notes.error("shape.two_kinds", told, found[1], fixes=own_entries(at, found[1]))
        return None
    unknown = [one for one in entries if one.key not in BESIDE]
    if not unknown:
        told = "This step does nothing: it has no step kind or action. Add one, or remove the step."
        reading.notes.error("shape.no_kind", told, at, fixes=(remove(at, "Remove the step"),))
        return None
    first = next((one for one in unknown if not looks_like_steps(one)), unknown[0])
    known = (*registry.step_kinds, *registry.actions)
    near = reading.notes.nearest(first.key, known)
    hint = f" Did you mean `{near}`?" if near else " Install the integration that has it, or choose another."
    fixes = nearest_key(first, near, (one.key for one in entries)) if near else ()
    reading.notes.error("skill.unknown_step", f"Nobody provides the step {shown(first.key)}.{hint}", first, fixes=fixes)
    return None


def _is_kind(key: str, reading: Reading) -> bool:
    return key in reading.registry.step_kinds or key in reading.registry.actions


def _step_id(at: At, kind_at: At, reading: Reading) -> str | None:
    id_at = at.get("id")
    if id_at is None:
        return None
    name = id_at.text
    if name is None or not is_plain_name(name):
        told = f"An id is a plain name such as look or first_ask, not {say_type(id_at)}."
        reading.notes.error("shape.bad_id", told, id_at, fixes=_plain_id(id_at))
        return None
    if name in reading.ids:
        told = f"Two steps have the id {shown(name)}. Choose another for this one."
        reading.notes.error("shape.duplicate_id", told, id_at, fixes=(set_to(id_at, _free_id(name, reading)),))
        return None
    if name in reading.trigger_names or name in AI_NAMES or name == "trigger":
        told = f"{shown(name)} is a name that placeholders know already. Choose another id."
        reading.notes.error("shape.bad_id", told, id_at, fixes=(set_to(id_at, _free_id(f"the_{name}", reading)),))
    reading.ids[name] = kind_at.key
    return name


def _plain_id(at: At) -> tuple[Fix, ...]:
    letters = "".join(c if c.isascii() and c.isalnum() else "_" for c in (at.text or "").casefold()).strip("_")
    return (set_to(at, letters),) if is_plain_name(letters) else ()


def _free_id(name: str, reading: Reading) -> str:
    taken = reading.ids
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def _step_name(at: At, reading: Reading) -> str | None:
    name_at = at.get("name")
    if name_at is None:
        return None
    if name_at.text is None:
        reading.notes.error("shape.wrong_type", f"`name` takes text, not {say_type(name_at)}.", name_at)
    return name_at.text


def outcomes_of(kind_at: At, reading: Reading) -> tuple[str, ...]:
    """The outcomes that a step of this kind can have, as far as they can be read."""
    inner = kind_at if kind_at.is_map else None
    match kind_at.key:
        case "ai":
            return (*listed_outcomes(inner and inner.get("decision")), "unsure")
        case "ask_person":
            return (*listed_outcomes(inner and inner.get("replies")), "no_answer")
        case "call":
            return (*listed_outcomes(inner and inner.get("outcomes")), "no_answer")
        case "if":
            return IF_OUTCOMES
        case "wait_for":
            return WAIT_FOR_OUTCOMES
        case "for_each":
            return ()
    spec = reading.registry.step_kinds.get(kind_at.key)
    return spec.outcomes if spec else ()


def _settings_of(kind_at: At, reading: Reading) -> tuple[str, ...]:
    match kind_at.key:
        case "ai":
            return AI_SETTINGS
        case "ask_person":
            return ASK_SETTINGS
        case "call":
            return CALL_SETTINGS
        case "for_each":
            return ("in", "as", "do")
        case "wait_for":
            return ("timeout", "any", *reading.registry.triggers)
    spec = reading.registry.step_kinds.get(kind_at.key) or reading.registry.actions.get(kind_at.key)
    return tuple(field.name for field in spec.fields) if spec else ()


def looks_like_steps(at: At) -> bool:
    """A list with mappings in it: what an author writes as a lane."""
    return at.is_list and any(item.kind is NodeKind.MAP for item in at.node.items)


def _lanes(at: At, kind_at: At, outcomes: tuple[str, ...], reading: Reading) -> list[At]:
    """The lanes, inside and beside, in the order of the file; what is neither lane nor setting is noted."""
    settings = frozenset(_settings_of(kind_at, reading))
    found: dict[str, At] = {}
    if kind_at.is_map:
        for one in kind_at.entries():
            if one.key in settings:
                continue
            if one.key in outcomes:
                found[one.key] = one
            elif looks_like_steps(one):
                _unknown_lane(one, outcomes, kind_at, reading)
                found[one.key] = one
    for one in at.entries():
        if one.key in BESIDE or one.path == kind_at.path:
            continue
        if one.key in found:
            told = f"The lane {shown(one.key)} stands beside `{kind_at.key}` and inside it. Keep one of them."
            reading.notes.error("outcome.duplicate_lane", told, one, fixes=(remove(one, "Remove the lane beside"),))
        elif one.key in outcomes:
            found[one.key] = one
        elif looks_like_steps(one):
            _unknown_lane(one, outcomes, kind_at, reading)
            found[one.key] = one
        else:
            _unknown_beside(one, at, kind_at, outcomes, settings, reading)
    return list(found.values())


def _unknown_lane(at: At, outcomes: tuple[str, ...], kind_at: At, reading: Reading) -> None:
    near = reading.notes.nearest(at.key, outcomes)
    if not outcomes:
        told = f"`{kind_at.key}` has no lanes. Put the steps after it."
    else:
        told = f"{shown(at.key)} is no outcome of this `{kind_at.key}`; its outcomes are {listed(outcomes)}."
    free = near is not None and not any(one.key == near for one in kind_at.node.entries)
    fixes = (*(nearest_key(at, near, ()) if free else ()), remove(at, "Remove the lane"))
    reading.notes.error("outcome.unknown_lane", told, at, fixes=fixes)


def _unknown_beside(
    at: At, step: At, kind_at: At, outcomes: tuple[str, ...], settings: frozenset[str], reading: Reading
) -> None:
    taken = [entry.key for entry in step.node.entries]
    if at.key in settings and kind_at.is_map and kind_at.get(at.key) is None:
        move = all_of(f"Move it into {kind_at.key}", (remove(at), add_key(kind_at, at.key, at.value)))
        told = f"{shown(at.key)} is a setting of `{kind_at.key}`; indent it so that it stands inside."
        reading.notes.error("shape.unknown_key", told, at, fixes=(move,))
        return
    reading.unknown_key(at, (*BESIDE, *outcomes), "this step", taken)


_READERS: Final[dict[str, Callable[[At, Lanes, Names, Reading], KindShape]]] = {
    "ai": read_ai,
    "ask_person": read_ask,
    "call": read_call,
    "for_each": read_for_each,
    "wait_for": read_wait_for,
}


def _read_kind(kind_at: At, inside: Lanes, names: Names, reading: Reading) -> tuple[KindShape, tuple[Condition, ...]]:
    if kind_at.key == "if":
        return KindShape(outcomes=IF_OUTCOMES), read_conditions(kind_at, names, reading)
    reader = _READERS.get(kind_at.key)
    if reader is not None:
        return reader(kind_at, inside, names, reading), ()
    spec = reading.registry.step_kinds.get(kind_at.key)
    if spec is not None:
        return read_third_party(spec)(kind_at, inside, names, reading), ()
    return _read_action(kind_at, inside, reading.registry.actions[kind_at.key], names, reading), ()


def _read_action(kind_at: At, inside: Lanes, spec: ActionSpec, names: Names, reading: Reading) -> KindShape:
    reading.need(spec.name)
    where = f"The action `{spec.name}`"
    settings = read_form(without(kind_at, inside), spec.fields, spec.shorthand, names, reading, where)
    update = kind_at.get("update_with") if kind_at.is_map else None
    if update is not None and "update_with" in settings:
        reading.updates.append(update)
    note_action_scope(kind_at, spec, reading)
    return KindShape(settings)


def _check_missing(kind_at: At, shape: KindShape, lanes: Iterable[At], reading: Reading) -> None:
    there = {lane.key for lane in lanes}
    for outcome in shape.required:
        if outcome not in there:
            line = ({"log": "{reason}"},)
            fix = add_key(kind_at, outcome, line, f"Add a lane for {outcome}")
            told = f"The outcome {shown(outcome)} has no lane. Say what happens then."
            reading.notes.error("outcome.missing_lane", told, kind_at, fixes=(fix,))
    if kind_at.key == "if" and not there:
        told = "This `if` has no lane, so it decides nothing. Add `true:` or `false:` beside it."
        reading.notes.error("shape.missing_key", told, kind_at)


@dataclass(frozen=True, slots=True)
class _Path:
    lane: Lane
    after: Names | None


def _read_paths(
    kind_at: At,
    step_id: str | None,
    shape: KindShape,
    lanes_at: list[At],
    names: Names,
    plan: str,
    reading: Reading,
) -> tuple[tuple[Lane, ...], tuple[Step, ...], Names | None]:
    """Lanes and body of a step, and the names known after it."""
    known = names.with_under(step_id, shape.gives)
    if shape.ai_names is not None:
        known = known.with_ai(shape.ai_names)
    paths: list[_Path] = []
    for lane_at in lanes_at:
        given = shape.lane_gives.get(lane_at.key)
        here = known.with_under(step_id, given.all(), open_names=given.any_plain) if given else known
        steps, after = read_steps(lane_at, here, f"{plan}/{lane_at.key}", reading)
        beside = len(lane_at.path) == len(kind_at.path)
        paths.append(_Path(Lane(lane_at.key, steps, lane_at.path, lane_at.place, beside), after))
    body: tuple[Step, ...] = ()
    if shape.body is not None:
        inside = known
        if shape.item is not None:
            inside = known.with_plain(shape.item)
            inside = inside.with_under(shape.item, (), open_names=True) if shape.item_is_row else inside
        body, _ = read_steps(shape.body, inside, f"{plan}/do", reading)
    ways: list[Names | None] = [path.after for path in paths]
    has_all = bool(shape.outcomes) and {path.lane.outcome for path in paths} >= set(shape.outcomes)
    if not shape.ends and not has_all and not shape.required:
        ways.append(known)
    return tuple(path.lane for path in paths), body, meet(ways) if ways else (None if shape.ends else known)
