"""The step kinds that the contract knows, each as a `KindShape`: its settings, outcomes, and what it fills.

What stands beside a step's key is the reader of steps' to sort; here each kind reads what is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from .admin import note_scopes
from .document import EMPTY, Condition, TriggerUse, Value
from .fields import check_field, read_form
from .names import NONE, Names
from .notes import shown
from .placeholders import BadPlaceholder, Reference, parse_template
from .reading import Reading, frozen, say_type
from .registry import Field, FieldType, StepKindSpec
from .roles import check_role
from .texts import check_text
from .tree import At
from .triggers import ANY, given_by, read_when
from .window import check_events

IF_OUTCOMES: Final = ("true", "false")
WAIT_FOR_OUTCOMES: Final = ("happened", "not_happened")
_TIMEOUT: Final = Field("timeout", FieldType.DURATION, required=True)


@dataclass(frozen=True, slots=True)
class KindShape:
    """What a step of a kind is, before its lanes. `required` are outcomes that must have a lane; `gives` are names under the step's id
    and `lane_gives` those of one lane only; `ai_names` are known without an id. `ends`: an outcome without a lane ends the path.
    `body` is what a loop repeats, `item` its name there."""

    settings: Mapping[str, Value] = field(default_factory=lambda: EMPTY)
    outcomes: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    triggers: tuple[TriggerUse, ...] = ()
    gives: frozenset[str] = NONE
    lane_gives: Mapping[str, Names] = field(default_factory=lambda: MappingProxyType({}))
    ai_names: frozenset[str] | None = None
    ends: bool = False
    body: At | None = None
    item: str | None = None
    item_is_row: bool = False


Lanes = frozenset[str]
"""The keys inside a kind's mapping that are lanes."""
ReadKind = Callable[[At, Lanes, Names, Reading], KindShape]


def read_wait_for(at: At, lanes: Lanes, names: Names, reading: Reading) -> KindShape:
    """`wait_for: { <trigger>: {…}, timeout: 2m }`."""
    uses = read_when(at, names, reading, frozenset({"timeout", *lanes}))
    settings: dict[str, Value] = {}
    if at.is_map:
        timeout = at.get("timeout")
        if timeout is None:
            reading.missing_key(at, "timeout", "`wait_for`", "2m")
        else:
            check_field(timeout, _TIMEOUT, names, reading)
            settings["timeout"] = timeout.value
    any_form = at.is_map and at.node.entry(ANY) is not None
    given = MappingProxyType({"happened": given_by(uses, reading, any_form=any_form)})
    return KindShape(frozen(settings), WAIT_FOR_OUTCOMES, triggers=uses, lane_gives=given)


def read_for_each(at: At, lanes: Lanes, names: Names, reading: Reading) -> KindShape:
    """`for_each: { in: …, as: item, do: [ … ] }`."""
    if not at.is_map:
        reading.notes.error("shape.wrong_type", f"`for_each` takes in, as and do, not {say_type(at)}.", at)
        return KindShape()
    settings: dict[str, Value] = {}
    for one in at.entries():
        if one.key in ("in", "as"):
            settings[one.key] = one.value
        elif one.key != "do":
            reading.unknown_key(one, ("in", "as", "do"), "`for_each`", (e.key for e in at.node.entries))
    for key, example in (("in", None), ("as", "item"), ("do", None)):
        if at.get(key) is None:
            reading.missing_key(at, key, "`for_each`", example)
    source = at.get("in")
    is_row = _check_source(source, names, reading) if source else True
    name_at = at.get("as")
    item = _item_name(name_at, names, reading) if name_at else None
    return KindShape(frozen(settings), body=at.get("do"), item=item, item_is_row=is_row)


def _item_name(at: At, names: Names, reading: Reading) -> str | None:
    name = at.text
    if name is None or not is_plain_name(name):
        reading.notes.error("shape.bad_id", f"`as` takes a plain name such as item, not {say_type(at)}.", at)
        return None
    if name in reading.trigger_names or name in names.plain or name in reading.ids:
        reading.notes.error("shape.bad_id", f"The name {shown(name)} is taken. Choose another for the item.", at)
    return name


def _check_source(at: At, names: Names, reading: Reading) -> bool:
    """Notes what is wrong with `in`; true where the items have fields of their own."""
    if at.is_list:
        if not at.node.items:
            reading.notes.error("shape.empty_list", "`in` is empty. Name what to go over.", at)
        for item in at.items():
            if item.is_list or item.is_map or item.node.value is None:
                reading.notes.error("shape.wrong_type", f"A list to go over holds values, not {say_type(item)}.", item)
            else:
                check_text(item, names, reading)
        return False
    if at.is_map:
        return _check_window(at, names, reading)
    text = at.text or ""
    prefix, _, name = text.partition(":")
    if prefix in ("role", "group", "list") and name:
        kind = "list" if prefix == "list" else "camera"
        if prefix != "group":
            _check_named(at, kind, name, names, reading)
        return prefix == "list"
    if _is_one_reference(text):
        check_text(at, names, reading)
        return True
    reading.notes.error(
        "shape.bad_value",
        f"`in` takes a list, role:…, list:…, one {{field}} or {{ events: {{…}} }}, not {say_type(at)}.",
        at,
    )
    return True


def _check_named(at: At, kind: str, name: str, names: Names, reading: Reading) -> None:
    bare = At(replace(at.node, value=name), at.path, at.entry)
    check_role(bare, kind, names, reading)


def _check_window(at: At, names: Names, reading: Reading) -> bool:
    for one in at.entries():
        if one.key != "events":
            reading.unknown_key(one, ("events",), "`in`", (e.key for e in at.node.entries))
    events = at.get("events")
    if events is None:
        reading.missing_key(at, "events", "`in`")
    else:
        check_events(events, names, reading)
    return True


def _is_one_reference(text: str) -> bool:
    try:
        template = parse_template(text)
    except BadPlaceholder:
        return "{" in text
    return len(template) == 1 and isinstance(template[0], Reference)


def read_third_party(spec: StepKindSpec) -> ReadKind:
    """The reader of a step kind that a manifest declares with its fields."""

    def read(at: At, lanes: Lanes, names: Names, reading: Reading) -> KindShape:
        reading.need(spec.name)
        note_scopes(at, spec.scopes, reading)
        where = f"The step `{spec.name}`"
        inner = without(at, lanes)
        settings = read_form(inner, spec.fields, spec.shorthand, names, reading, where)
        gives = frozenset(given.name for given in spec.gives)
        return KindShape(settings, spec.outcomes, gives=gives)

    return read


def without(at: At, keys: frozenset[str]) -> At:
    """The mapping at `at` without some of its keys."""
    if not at.is_map or not keys:
        return at
    kept = tuple(entry for entry in at.node.entries if entry.key not in keys)
    return At(replace(at.node, entries=kept), at.path, at.entry)


def is_plain_name(name: str) -> bool:
    """`[a-z][a-z0-9_]*`, at most 60 characters."""
    head, rest = name[:1], name[1:]
    is_head = "a" <= head <= "z"
    return is_head and len(name) <= 60 and all(c == "_" or ("a" <= c <= "z") or ("0" <= c <= "9") for c in rest)
