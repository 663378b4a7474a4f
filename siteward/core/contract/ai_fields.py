"""`fields` and `rules` of an AI step: what the model reports, and the table that turns it into a decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from .document import Scalar
from .fixes import as_bool, as_number, as_text, nearest_key, nearest_value, remove, set_to
from .kinds import is_plain_name
from .names import AI_NAMES, Names
from .notes import listed, shown
from .problems import Fix
from .reading import Reading, say_type
from .texts import check_text
from .tree import At

FIELD_TYPES: Final = ("text", "number", "bool", "list")
FROM: Final = "from"
_MOST_COMPARED: Final = 100
"""Rules that are compared with each other; a table longer than that is read, and not searched for rules that are never reached."""


@dataclass(frozen=True, slots=True)
class ReportedField:
    """A field: its type (`text`, `number`, `bool`, `list`, `choice` of `options`, or `from` what the host knows)."""

    type: str
    options: tuple[str, ...] = ()


def read_fields(at: At, names: Names | None, reading: Reading) -> Mapping[str, ReportedField]:
    """The fields of a step. Without `names` (a call) nothing is filled by the host."""
    if not at.is_map or not at.node.entries:
        told = f"`fields` takes names and types such as {{ company: text }}, not {say_type(at)}."
        reading.notes.error("shape.wrong_type", told, at)
        return MappingProxyType({})
    fields: dict[str, ReportedField] = {}
    for one in at.entries():
        if not is_plain_name(one.key) or one.key in AI_NAMES:
            told = f"{shown(one.key)} cannot name a field. Write a plain name such as company; {listed(AI_NAMES)} are taken."
            reading.notes.error("shape.bad_id", told, one)
        read = _read_field(one, names, reading)
        if read is not None:
            fields[one.key] = read
    return MappingProxyType(fields)


def _read_field(at: At, names: Names | None, reading: Reading) -> ReportedField | None:
    if at.is_list:
        return _read_options(at, reading)
    if at.is_map and names is not None:
        return _read_from(at, names, reading)
    if at.text in FIELD_TYPES:
        return ReportedField(at.text or "")
    near = reading.notes.nearest(at.text or "", FIELD_TYPES)
    told = f"A field is a list of allowed texts or one of {listed(FIELD_TYPES)}, not {say_type(at)}."
    code = "shape.bad_value" if at.text is not None else "shape.wrong_type"
    reading.notes.error(code, told, at, fixes=nearest_value(at, near))
    return None


def _read_options(at: At, reading: Reading) -> ReportedField:
    if not at.node.items:
        reading.notes.error("shape.empty_list", f"The field {shown(at.key)} allows nothing. Name its values.", at)
    options: dict[str, None] = {}
    for item in at.items():
        if item.text is None:
            told = f"An allowed value is text, not {say_type(item)}."
            reading.notes.error("shape.wrong_type", told, item, fixes=as_text(item))
        elif item.text in options:
            told = f"{shown(item.text)} is allowed twice. Keep one."
            reading.notes.error("shape.bad_value", told, item, fixes=(remove(item),))
        else:
            options[item.text] = None
    return ReportedField("choice", tuple(options))


def _read_from(at: At, names: Names, reading: Reading) -> ReportedField | None:
    for one in at.entries():
        if one.key != FROM:
            reading.unknown_key(one, (FROM,), "a field", (e.key for e in at.node.entries))
    source = at.get(FROM)
    if source is None:
        reading.missing_key(at, FROM, "A field that the host fills")
        return None
    if source.text is None:
        reading.notes.error("shape.wrong_type", f"`from` takes a placeholder, not {say_type(source)}.", source)
    check_text(source, names, reading)
    return ReportedField(FROM)


_When = Mapping[str, tuple[Scalar, ...]]


def check_rules(
    at: At, fields: Mapping[str, ReportedField], decisions: tuple[str, ...], reading: Reading, *, has_fields: bool
) -> None:
    """Notes what is wrong with a rule table."""
    if not at.is_list:
        told = f"`rules` takes a list of {{ when: {{…}}, then: … }}, not {say_type(at)}."
        reading.notes.error("shape.wrong_type", told, at)
        return
    if not at.node.items:
        reading.notes.error(
            "shape.empty_list", "`rules` is empty. Write a rule, or leave it out.", at, fixes=(remove(at),)
        )
        return
    if not has_fields:
        told = "Rules decide by `fields`, and this step reports none. Add `fields`, or remove the rules."
        reading.notes.error("ai.rules_without_fields", told, at, fixes=(remove(at),))
    earlier: list[_When] = []
    for index, item in enumerate(at.items()):
        when = _check_rule(item, fields, decisions, reading, has_fields=has_fields)
        if when is None or index >= _MOST_COMPARED:
            continue
        if any(_covers(one, when) for one in earlier):
            told = "An earlier rule always decides first, so this one is never reached. Move it up, or remove it."
            reading.notes.warning("ai.rule_unreachable", told, item, fixes=(remove(item, "Remove the rule"),))
        earlier.append(when)


def _covers(earlier: _When, later: _When) -> bool:
    """Whether whatever fits the later rule fits the earlier one."""
    return all(name in later and set(later[name]) <= set(values) for name, values in earlier.items())


def _check_rule(
    at: At, fields: Mapping[str, ReportedField], decisions: tuple[str, ...], reading: Reading, *, has_fields: bool
) -> _When | None:
    if not at.is_map:
        reading.notes.error("shape.wrong_type", f"A rule is {{ when: {{…}}, then: … }}, not {say_type(at)}.", at)
        return None
    for one in at.entries():
        if one.key not in ("when", "then"):
            reading.unknown_key(one, ("when", "then"), "a rule", (e.key for e in at.node.entries))
    then = at.get("then")
    if then is None:
        reading.missing_key(at, "then", "A rule", decisions[0] if decisions else None)
    elif decisions and then.text not in decisions:
        near = reading.notes.nearest(then.text or "", decisions)
        told = f"{shown(then.value)} is none of the decisions {listed(decisions)}."
        reading.notes.error("ai.rule_unknown_decision", told, then, fixes=nearest_value(then, near))
    when = at.get("when")
    if when is None:
        return MappingProxyType({})
    if not when.is_map or not when.node.entries:
        told = f"`when` takes fields and values, not {say_type(when)}. Leave it out for a rule that always fits."
        reading.notes.error("shape.wrong_type", told, when, fixes=(remove(when),))
        return None
    if not has_fields:
        return None
    return MappingProxyType({one.key: _check_test(one, fields, reading) for one in when.entries()})


def _check_test(at: At, fields: Mapping[str, ReportedField], reading: Reading) -> tuple[Scalar, ...]:
    field = fields.get(at.key)
    if field is None:
        near = reading.notes.nearest(at.key, fields)
        told = f"This step reports no field {shown(at.key)}. It reports {listed(fields)}."
        reading.notes.error("ai.rule_unknown_field", told, at, fixes=nearest_key(at, near, ()) if near else ())
        return ()
    tests = list(at.items()) if at.is_list else [at]
    if at.is_list and not tests:
        reading.notes.error("ai.rule_bad_value", f"{shown(at.key)} has no value to compare with. Name one.", at)
    for one in tests:
        _check_value(one, at.key, field, reading)
    return tuple(one.node.value for one in tests)


def _check_value(at: At, name: str, field: ReportedField, reading: Reading) -> None:
    value = at.node.value
    if at.is_map or at.is_list or value is None:
        fits = False
    else:
        match field.type:
            case "choice":
                fits = value in field.options and isinstance(value, str)
            case "number":
                fits = isinstance(value, int | float) and not isinstance(value, bool)
            case "bool":
                fits = isinstance(value, bool)
            case "text" | "list":
                fits = isinstance(value, str)
            case _:
                fits = True
    if fits:
        return
    takes = listed(field.options) if field.type == "choice" else f"a {field.type}"
    told = f"The field {shown(name)} is {takes} and can never be {say_type(at)}."
    reading.notes.error("ai.rule_bad_value", told, at, fixes=_value_fixes(at, field, reading))


def _value_fixes(at: At, field: ReportedField, reading: Reading) -> tuple[Fix, ...]:
    match field.type:
        case "bool":
            return as_bool(at)
        case "number":
            return as_number(at, whole=False)
        case "text" | "list":
            return as_text(at)
        case "choice":
            near = reading.notes.nearest(at.text or "", field.options)
            return (set_to(at, near),) if near else ()
        case _:
            return ()
