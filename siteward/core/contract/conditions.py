"""Conditions: plain rules, nested under `any` and `not`."""

from __future__ import annotations

from typing import Final

from .document import Condition
from .fields import read_form
from .fixes import nearest_key, own_entries, remove, set_to
from .names import Names
from .notes import listed, shown
from .reading import Reading, frozen, say_type
from .tree import At

NESTING: Final = ("any", "not")
COMPARISONS: Final = ("is", "is_not", "one_of", "at_least", "at_most", "contains")


def read_conditions(at: At, names: Names, reading: Reading) -> tuple[Condition, ...]:
    """The conditions of a list; it is never empty."""
    if not at.is_list:
        fixes = (set_to(at, (at.value,), "Write it as a list"),) if at.is_map and at.node.entries else ()
        reading.notes.error(
            "shape.wrong_type", f"`{at.key}` takes a list of conditions, not {say_type(at)}.", at, fixes=fixes
        )
        return ()
    if not at.node.items:
        reading.notes.error(
            "shape.empty_list", f"`{at.key}` holds no condition. Write one, or leave `{at.key}` out.", at
        )
    read = (_read_condition(item, names, reading) for item in at.items())
    return tuple(condition for condition in read if condition is not None)


def _read_condition(item: At, names: Names, reading: Reading) -> Condition | None:
    if not item.is_map or not item.node.entries:
        reading.notes.error(
            "shape.wrong_type", f"A condition is a mapping such as `time: {{…}}`, not {say_type(item)}.", item
        )
        return None
    entries = list(item.entries())
    if len(entries) > 1:
        reading.notes.error(
            "shape.two_kinds",
            f"{shown(entries[0].key)} and {shown(entries[1].key)} stand in one entry. Write each as its own entry (- …).",
            entries[1],
            fixes=own_entries(item, entries[1]),
        )
    return _read_kind(entries[0], names, reading)


def _read_kind(at: At, names: Names, reading: Reading) -> Condition | None:
    if at.key in NESTING:
        inner = read_conditions(at, names, reading)
        return Condition(at.key, frozen({}), at.path, at.place, inner)
    spec = reading.registry.conditions.get(at.key)
    if spec is None:
        known = (*reading.registry.conditions, *NESTING)
        near = reading.notes.nearest(at.key, known)
        hint = f" Did you mean `{near}`?" if near else f" There are {listed(known)}."
        fixes = nearest_key(at, near, ()) if near else ()
        reading.notes.error(
            "skill.unknown_condition", f"Nobody provides the condition {shown(at.key)}.{hint}", at, fixes=fixes
        )
        return None
    reading.need(at.key)
    settings = read_form(at, spec.fields, spec.shorthand, names, reading, f"The condition `{at.key}`")
    if at.is_map and at.key == "value":
        _check_value(at, reading)
    if at.is_map and at.key == "count":
        _check_count(at, reading)
    return Condition(at.key, settings, at.path, at.place)


def _check_value(at: At, reading: Reading) -> None:
    given = [one for one in at.entries() if one.key in COMPARISONS]
    if not given:
        told = f"`value` compares nothing. Add one of {listed(COMPARISONS)}."
        reading.notes.error("shape.missing_key", told, at)
    for extra in given[1:]:
        told = f"`value` compares once; here is `{given[0].key}` already. Write a second condition."
        reading.notes.error("shape.bad_value", told, extra, fixes=(remove(extra),))
    choices = at.get("one_of")
    if choices is not None and (not choices.is_list or not choices.node.items):
        fixes = (set_to(choices, (choices.value,), "Write it as a list"),) if choices.text else ()
        told = f"`one_of` takes a list of values, not {say_type(choices)}."
        reading.notes.error("shape.wrong_type", told, choices, fixes=fixes)
    for key in COMPARISONS:
        _check_operand(at.get(key), reading)


def _check_operand(at: At | None, reading: Reading) -> None:
    if at is None or at.key == "one_of":
        return
    if at.is_map or at.is_list or at.node.value is None:
        reading.notes.error("shape.wrong_type", f"`{at.key}` takes one value, not {say_type(at)}.", at)


def _check_count(at: At, reading: Reading) -> None:
    if at.get("at_least") is None and at.get("at_most") is None:
        reading.missing_key(at, "at_least", "`count`", 1)
