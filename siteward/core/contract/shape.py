"""From the tree to the Document: the keys of the file, every part read, all problems noted in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from .caps import check_caps, check_cooldown, check_schedule
from .conditions import read_conditions
from .document import Condition, Document, Path, Place, State, Step, TriggerUse, Value, WorkflowLimits
from .durations import parse_duration
from .fields import check_field, read_settings
from .fixes import set_to
from .names import Names
from .needs import NEEDS_KEYS, needs_of
from .notes import listed, shown
from .reading import Reading, frozen, say_type
from .registry import Field, FieldType
from .steps import read_steps
from .tree import At, Node, walk
from .triggers import given_by, read_when

CONTRACT: Final = "workflow.v1"
KEYS: Final = ("contract", "name", "description", "state", "needs", "limits", "when", "if", "then", "always")
BLUEPRINT_KEYS: Final = ("blueprint",)
_NO_NAMES: Final = Names()
_NAME: Final = Field("name", FieldType.STRING, required=True)
_DESCRIPTION: Final = Field("description", FieldType.STRING)
_STATE: Final = Field("state", FieldType.CHOICE, options=tuple(state.value for state in State))
_LIMITS: Final = (
    Field("cooldown", FieldType.DURATION),
    Field("one_at_a_time", FieldType.CHOICE, options=("camera", "plate", "track")),
    Field("per_hour", FieldType.INTEGER, minimum=1),
    Field("ai_per_hour", FieldType.INTEGER, minimum=0),
)


def read_document(
    tree: Node | None, text: str, reading: Reading, *, fragment: bool = False, blueprint: bool = False
) -> Document | None:
    """The document of a tree; None where it is not even a mapping."""
    if tree is None:
        if not reading.notes.count:
            told = "The file is empty. A workflow begins with `name:`, `when:` and `then:`."
            reading.notes.error("shape.missing_key", told)
        return None
    at = At(tree)
    if not at.is_map:
        told = f"A workflow is a mapping that begins with `name:`, not {say_type(at)}."
        reading.notes.error("shape.wrong_type", told, at)
        return None
    _check_keys(at, reading, fragment=fragment, blueprint=blueprint)
    _check_head(at, reading)
    triggers, names = _read_when(at, reading, fragment=fragment)
    reading.trigger_names = names.plain
    condition_at = at.get("if")
    conditions = read_conditions(condition_at, names, reading) if condition_at else ()
    then = _read_path(at, "then", names, reading)
    always = _read_path(at, "always", names, reading)
    _check_updates(reading)
    limits = _read_limits(at, triggers, conditions, reading)
    return _document(at, text, triggers, conditions, then, always, limits, reading)


def _check_keys(at: At, reading: Reading, *, fragment: bool, blueprint: bool) -> None:
    known = (*KEYS, *BLUEPRINT_KEYS) if blueprint else KEYS
    for one in at.entries():
        if one.key not in known:
            reading.unknown_key(one, known, "a workflow", (e.key for e in at.node.entries))
    required = ("then",) if fragment else ("name", "when", "then")
    examples: Mapping[str, Value] = {"name": "New workflow"}
    for key in required:
        if at.get(key) is None:
            code_is_trigger = key == "when"
            if code_is_trigger:
                told = "A workflow needs `when`: the trigger that starts it. Add it."
                reading.notes.error("shape.missing_key", told, at)
            else:
                reading.missing_key(at, key, "A workflow", examples.get(key))


def _check_head(at: At, reading: Reading) -> None:
    contract = at.get("contract")
    if contract is not None and contract.text != CONTRACT:
        told = f"This reads {CONTRACT}, not {shown(contract.value)}. Change the line, or use a newer Siteward."
        reading.notes.error("shape.contract", told, contract, fixes=(set_to(contract, CONTRACT),))
    for field in (_NAME, _DESCRIPTION, _STATE):
        one = at.get(field.name)
        if one is not None:
            check_field(one, field, _NO_NAMES, reading)
    needs = at.get("needs")
    if needs is not None:
        _check_needs(needs, reading)


def _check_needs(at: At, reading: Reading) -> None:
    if not at.is_map:
        reading.notes.error("shape.wrong_type", f"`needs` takes a mapping of lists, not {say_type(at)}.", at)
        return
    for one in at.entries():
        if one.key not in NEEDS_KEYS:
            reading.unknown_key(one, NEEDS_KEYS, "`needs`", (e.key for e in at.node.entries))
        elif one.node.items or not one.is_list:
            check_field(one, Field(one.key, FieldType.STRINGS), _NO_NAMES, reading)


def _read_when(at: At, reading: Reading, *, fragment: bool) -> tuple[tuple[TriggerUse, ...], Names]:
    when = at.get("when")
    if when is None:
        return (), Names(any_plain=True)
    triggers = read_when(when, _NO_NAMES, reading)
    any_form = when.is_map and when.node.entry("any") is not None
    return triggers, given_by(triggers, reading, any_form=any_form)


def _read_path(at: At, key: str, names: Names, reading: Reading) -> tuple[Step, ...]:
    path = at.get(key)
    if path is None:
        return ()
    steps, _ = read_steps(path, names, key, reading)
    return steps


def _check_updates(reading: Reading) -> None:
    """`update_with` names an AI step of the file."""
    models = sorted(step_id for step_id, kind in reading.ids.items() if kind == "ai")
    for at in reading.updates:
        if at.text is None or at.text in models:
            continue
        near = reading.notes.nearest(at.text, models)
        told = f"`update_with` names the id of an `ai` step, and {shown(at.text)} is none."
        hint = f" There are {listed(models)}." if models else " Give the `ai` step an id first."
        fixes = (set_to(at, near),) if near else ()
        reading.notes.error("shape.bad_value", told + hint, at, fixes=fixes)


def _read_limits(
    at: At, triggers: tuple[TriggerUse, ...], conditions: tuple[Condition, ...], reading: Reading
) -> WorkflowLimits:
    for use in triggers:
        if use.name == "schedule":
            use_at = _at_path(at, use.path)
            check_schedule(use_at, use, conditions, reading)
    limits = at.get("limits")
    if limits is None:
        return WorkflowLimits()
    if not limits.is_map:
        reading.notes.error("shape.wrong_type", f"`limits` takes a mapping, not {say_type(limits)}.", limits)
        return WorkflowLimits()
    settings = read_settings(limits, _LIMITS, _NO_NAMES, reading, "`limits`")
    check_caps(limits, reading)
    if len(triggers) == 1 and triggers[0].name == "schedule":
        check_cooldown(limits, triggers[0], reading)
    return WorkflowLimits(
        _seconds(settings.get("cooldown")),
        _text(settings.get("one_at_a_time")),
        _whole(settings.get("per_hour")),
        _whole(settings.get("ai_per_hour")),
    )


def _at_path(at: At, path: Path) -> At:
    found = at
    for key in path:
        if isinstance(key, int):
            found = At(found.node.items[key], (*found.path, key))
        else:
            under = found.get(key)
            assert under is not None
            found = under
    return found


def _seconds(value: Value) -> float | None:
    if not isinstance(value, str):
        return None
    try:
        return float(parse_duration(value))
    except ValueError:
        return None


def _text(value: Value) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Value) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _document(
    at: At,
    text: str,
    triggers: tuple[TriggerUse, ...],
    conditions: tuple[Condition, ...],
    then: tuple[Step, ...],
    always: tuple[Step, ...],
    limits: WorkflowLimits,
    reading: Reading,
) -> Document:
    places: dict[Path, Place] = {}
    key_places: dict[Path, Place] = {}
    for path, node, entry in walk(at.node):
        places[path] = node.span.place
        if entry is not None:
            key_places[path] = entry.span.place
    root = at.value
    assert isinstance(root, Mapping)
    name, description, state = root.get("name"), root.get("description"), root.get("state")
    return Document(
        text=text,
        name=name if isinstance(name, str) else "",
        description=description if isinstance(description, str) else None,
        state=State(state) if isinstance(state, str) and state in set(State) else State.TEST,
        needs=needs_of(reading),
        limits=limits,
        triggers=triggers,
        conditions=conditions,
        then=then,
        always=always,
        places=MappingProxyType(places),
        key_places=MappingProxyType(key_places),
        root=frozen(root),
    )
