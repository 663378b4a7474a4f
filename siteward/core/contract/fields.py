"""Settings: a mapping judged by the `Field`s that a manifest (or the contract itself) declares. Nothing is coerced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from .cron import parse_cron
from .document import Value
from .durations import DAYS, parse_duration, parse_time
from .fixes import as_bool, as_duration, as_list, as_number, as_text, as_time, nearest_value, set_to
from .names import Names
from .notes import listed, shown
from .reading import Reading, frozen, say_type
from .registry import Field, FieldType
from .roles import check_role, check_roles, check_who
from .texts import check_text, check_texts
from .tree import At
from .window import check_events

_EXAMPLES: Final[Mapping[FieldType, Value]] = MappingProxyType(
    {FieldType.TEXT: "…", FieldType.DURATION: "60s", FieldType.WHO: "role:guard", FieldType.TIME: "22:00"}
)


def read_settings(
    at: At, fields: Iterable[Field], names: Names, reading: Reading, where: str, *, also: Iterable[str] = ()
) -> Mapping[str, Value]:
    """The settings of the mapping at `at`, judged. Keys in `also` are somebody else's to judge and are left out."""
    by_name = {field.name: field for field in fields}
    others = frozenset(also)
    settings: dict[str, Value] = {}
    for one in at.entries():
        if one.key in others:
            continue
        field = by_name.get(one.key)
        if field is None:
            reading.unknown_key(one, (*by_name, *sorted(others)), where, (e.key for e in at.node.entries))
            continue
        settings[one.key] = one.value
        check_field(one, field, names, reading)
    for field in by_name.values():
        if field.required and at.node.entry(field.name) is None:
            reading.missing_key(at, field.name, where, _example(field))
    return frozen(settings)


def read_form(
    at: At, fields: tuple[Field, ...], shorthand: str | None, names: Names, reading: Reading, where: str
) -> Mapping[str, Value]:
    """Settings in either form: a mapping, or the scalar or list that stands for the `shorthand` field."""
    if at.is_map:
        return read_settings(at, fields, names, reading, where)
    field = next((one for one in fields if one.name == shorthand), None)
    if field is None:
        empty = at.node.value is None and not at.is_list
        fixes = (set_to(at, MappingProxyType({}), "Write {}"),) if empty and not any(f.required for f in fields) else ()
        reading.notes.error(
            "shape.wrong_type", f"{where} takes a mapping of its settings, not {say_type(at)}.", at, fixes=fixes
        )
        return frozen({})
    check_field(at, field, names, reading)
    return frozen({field.name: at.value})


def _example(field: Field) -> Value:
    if field.default is not None and isinstance(field.default, str | int | float | bool):
        return field.default
    if field.type is FieldType.CHOICE and field.options:
        return field.options[0]
    return _EXAMPLES.get(field.type)


def check_field(at: At, field: Field, names: Names, reading: Reading) -> None:
    """Notes what is wrong with one setting."""
    match field.type:
        case FieldType.ROLE:
            check_role(at, field.role or "camera", names, reading)
        case FieldType.ROLES:
            check_roles(at, field.role or "camera", names, reading)
        case FieldType.CHOICES | FieldType.STRINGS | FieldType.DAYS:
            _check_list(at, field, reading)
        case _:
            _CHECKS[field.type](at, field, names, reading)


def _text(at: At, field: Field, names: Names, reading: Reading) -> None:
    if _is_text(at, reading):
        check_text(at, names, reading)


def _string(at: At, field: Field, names: Names, reading: Reading) -> None:
    if _is_text(at, reading) and field.required and not (at.text or "").strip():
        reading.notes.error("shape.bad_value", f"`{at.key}` is empty. Write its text.", at)


def _is_text(at: At, reading: Reading) -> bool:
    if at.text is not None:
        return True
    reading.notes.error("shape.wrong_type", f"`{at.key}` takes text, not {say_type(at)}.", at, fixes=as_text(at))
    return False


def _number(at: At, field: Field, names: Names, reading: Reading) -> None:
    value = at.node.value
    whole = field.type is FieldType.INTEGER
    is_number = isinstance(value, int) or (isinstance(value, float) and not whole)
    if isinstance(value, bool) or not is_number or at.is_map or at.is_list:
        kind = "a whole number" if whole else "a number"
        fixes = as_number(at, whole=whole)
        reading.notes.error("shape.wrong_type", f"`{at.key}` takes {kind}, not {say_type(at)}.", at, fixes=fixes)
        return
    assert isinstance(value, int | float)
    low, high = field.minimum, field.maximum
    if low is not None and value < low:
        reading.notes.error(
            "shape.bad_value", f"`{at.key}` is at least {_say(low)}, not {value}.", at, fixes=(set_to(at, _whole(low)),)
        )
    elif high is not None and value > high:
        reading.notes.error(
            "shape.bad_value",
            f"`{at.key}` is at most {_say(high)}, not {value}.",
            at,
            fixes=(set_to(at, _whole(high)),),
        )


def _whole(number: float) -> int | float:
    return int(number) if float(number).is_integer() else number


def _say(number: float) -> str:
    return str(_whole(number))


def _bool(at: At, field: Field, names: Names, reading: Reading) -> None:
    if not isinstance(at.node.value, bool):
        reading.notes.error(
            "shape.wrong_type", f"`{at.key}` takes true or false, not {say_type(at)}.", at, fixes=as_bool(at)
        )


def _duration(at: At, field: Field, names: Names, reading: Reading) -> None:
    try:
        parse_duration(at.text or "")
    except ValueError as error:
        told = str(error) if at.text else f"{say_type(at)} is not a duration; write it like 90s, 2m or 1h30m"
        reading.notes.error("shape.bad_duration", f"`{at.key}`: {told}.", at, fixes=as_duration(at))


def _time(at: At, field: Field, names: Names, reading: Reading) -> None:
    try:
        parse_time(at.text or "")
    except ValueError as error:
        told = str(error) if at.text else f'{say_type(at)} is not a time of day; write it like "07:00"'
        reading.notes.error("shape.bad_time", f"`{at.key}`: {told}.", at, fixes=as_time(at))


def _cron(at: At, field: Field, names: Names, reading: Reading) -> None:
    if not _is_text(at, reading):
        return
    try:
        parse_cron(at.text or "")
    except ValueError as error:
        reading.notes.error("shape.bad_value", f"`{at.key}`: {error}.", at)


def _choice(at: At, field: Field, names: Names, reading: Reading) -> None:
    _check_choice(at, field.options, reading)


def _check_choice(at: At, options: tuple[str, ...], reading: Reading) -> None:
    if not _is_text(at, reading) or at.text in options:
        return
    near = reading.notes.nearest(at.text or "", options) or _by_prefix(at.text or "", options)
    hint = f" Did you mean `{near}`?" if near else ""
    reading.notes.error(
        "shape.bad_value",
        f"{shown(at.text)} is none of {listed(options)}.{hint}",
        at,
        fixes=nearest_value(at, near),
    )


def _by_prefix(text: str, options: tuple[str, ...]) -> str | None:
    return next((one for one in options if len(one) >= 3 and text.casefold().startswith(one)), None)


def _check_list(at: At, field: Field, reading: Reading) -> None:
    if not at.is_list:
        reading.notes.error("shape.wrong_type", f"`{at.key}` takes a list, not {say_type(at)}.", at, fixes=as_list(at))
        return
    if not at.node.items:
        reading.notes.error("shape.empty_list", f"`{at.key}` is empty. Name one at least, or leave it out.", at)
    options = DAYS if field.type is FieldType.DAYS else field.options
    for item in at.items():
        if field.type is FieldType.STRINGS:
            _is_text(item, reading)
        else:
            _check_choice(item, options, reading)


def _who(at: At, field: Field, names: Names, reading: Reading) -> None:
    check_who(at, names, reading)


def _mapping(at: At, field: Field, names: Names, reading: Reading) -> None:
    if at.is_map:
        check_texts(at, names, reading)
    else:
        reading.notes.error("shape.wrong_type", f"`{at.key}` takes a mapping, not {say_type(at)}.", at)


def _events(at: At, field: Field, names: Names, reading: Reading) -> None:
    check_events(at, names, reading)


def _any(at: At, field: Field, names: Names, reading: Reading) -> None:
    check_texts(at, names, reading)


_Check = Callable[[At, Field, Names, Reading], None]
_CHECKS: Final[Mapping[FieldType, _Check]] = MappingProxyType(
    {
        FieldType.TEXT: _text,
        FieldType.STRING: _string,
        FieldType.NUMBER: _number,
        FieldType.INTEGER: _number,
        FieldType.BOOL: _bool,
        FieldType.DURATION: _duration,
        FieldType.TIME: _time,
        FieldType.CRON: _cron,
        FieldType.CHOICE: _choice,
        FieldType.WHO: _who,
        FieldType.MAPPING: _mapping,
        FieldType.EVENTS: _events,
        FieldType.ANY: _any,
    }
)
