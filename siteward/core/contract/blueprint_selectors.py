"""The selectors of blueprint inputs: what a value must be to fit, decided here and not left to a form.

Kinds follow the habit of Home Assistant blueprints (`selector: {number: {min: 1}}`), with the kinds that a workflow needs: `role`
names a role of the site, `object` is a free mapping or list, `steps` a list of steps.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from .document import Path, Value
from .durations import parse_duration
from .notes import listed, shown
from .scalars import LARGEST_INTEGER

MOST_VALUE_LEVELS: Final = 48
"""Levels of one value; a workflow may have 64, and a value stands some levels deep in it."""
MOST_VALUE_NODES: Final = 20_000
LONGEST_KEY: Final = 200
_LONGEST_ROLE: Final = 100
_WHO: Final = re.compile(r"(?:role|user|group):\S(?:.*\S)?")


class Selects(StrEnum):
    """The kinds of selector. `ANY` is an input without one, or with one that this version does not know."""

    ROLE = "role"
    LIST = "list"
    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    SELECT = "select"
    DURATION = "duration"
    OBJECT = "object"
    STEPS = "steps"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Selector:
    """What an input takes. `role` is the kind of role (`camera`, `person`, `gate`, …); `multiple` takes a list of them."""

    kind: Selects
    role: str | None = None
    multiple: bool = False
    options: tuple[str, ...] = ()
    custom_value: bool = False
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a value does not fit, and where inside it."""

    code: str
    sentence: str
    path: Path = ()


class NotPlain(ValueError):
    """A value that no workflow file can hold. `path` leads to it inside the value."""

    def __init__(self, sentence: str, path: Path) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.path = path


def as_value(given: object) -> Value:
    """A value as it came from a file or from JSON, immutable, and such that writing and reading it gives the same. Raises `NotPlain`."""
    nodes = 0

    def read(one: object, path: Path) -> Value:
        nonlocal nodes
        nodes += 1
        if nodes > MOST_VALUE_NODES or len(path) >= MOST_VALUE_LEVELS:
            raise NotPlain(
                f"is too large: at most {MOST_VALUE_NODES:,} values, {MOST_VALUE_LEVELS} levels deep", path[:1]
            )
        if isinstance(one, Mapping):
            return MappingProxyType({_key(key, path): read(inner, (*path, key)) for key, inner in one.items()})
        if isinstance(one, list | tuple):
            return tuple(read(inner, (*path, index)) for index, inner in enumerate(one))
        return _scalar(one, path)

    return read(given, ())


def _key(key: object, path: Path) -> str:
    if not isinstance(key, str) or len(key) > LONGEST_KEY:
        raise NotPlain(f"has a key that is not a text of at most {LONGEST_KEY} characters", path)
    _scalar(key, path)
    return str(key)


def _scalar(one: object, path: Path) -> str | int | float | bool | None:
    if isinstance(one, str):
        if any("\ud800" <= character <= "\udfff" for character in one):
            raise NotPlain("holds half a character", path)
        return str(one)
    if isinstance(one, float) and not math.isfinite(one):
        raise NotPlain("is not a finite number", path)
    if isinstance(one, int) and not isinstance(one, bool) and abs(one) > LARGEST_INTEGER:
        raise NotPlain("is too large to be read exactly; write it as text if it is a name", path)
    if one is None or isinstance(one, bool | int | float):
        return one
    raise NotPlain("is no text, number, boolean, list or mapping", path)


def misfits(selector: Selector, value: Value) -> Iterator[Misfit]:
    """What is wrong with a value, nothing where it fits. Nothing is coerced."""
    check = _CHECKS.get(selector.kind)
    if check is not None:
        yield from check(selector, value)


def stand_in(name: str, selector: Selector) -> Value:
    """A value that fits, for judging a blueprint by itself; None where only an author can write one."""
    made: Value = None
    match selector.kind:
        case Selects.ROLE:
            role = f"role:{name}" if selector.role == "person" else name
            made = (role,) if selector.multiple else role
        case Selects.TEXT:
            made = name
        case Selects.NUMBER:
            made = next((_whole(bound) for bound in (selector.minimum, selector.maximum) if bound is not None), 1)
        case Selects.BOOLEAN:
            made = False
        case Selects.SELECT:
            made = selector.options[:1] if selector.multiple else selector.options[0]
        case Selects.DURATION:
            made = "1m"
        case Selects.LIST:
            made = (name,)
        case _:
            made = None
    return made


def _whole(number: float) -> int | float:
    return int(number) if number == int(number) else number


def say_value(value: Value) -> str:
    """A value in words, for a sentence."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, tuple):
        return "a list"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    return f"the text {shown(value)}" if isinstance(value, str) else f"the number {value}"


def _wrong(wanted: str, value: Value, path: Path = ()) -> Misfit:
    return Misfit("shape.wrong_type", f"takes {wanted}, not {say_value(value)}", path)


def _one_or_several(
    selector: Selector, value: Value, wanted: str, check: Callable[[Selector, Value, Path], Iterator[Misfit]]
) -> Iterator[Misfit]:
    if not selector.multiple:
        yield from check(selector, value, ())
    elif not isinstance(value, tuple):
        yield _wrong(f"a list of {wanted}", value)
    elif not value:
        yield Misfit("shape.empty_list", f"takes at least one of {wanted}")
    else:
        for index, item in enumerate(value):
            yield from check(selector, item, (index,))


def _check_role(selector: Selector, value: Value) -> Iterator[Misfit]:
    yield from _one_or_several(selector, value, f"{selector.role} roles", _one_role)


def _one_role(selector: Selector, value: Value, path: Path) -> Iterator[Misfit]:
    if not isinstance(value, str):
        yield _wrong(f"the name of a {selector.role} role", value, path)
    elif "{" in value or "}" in value:
        # A placeholder would let a run choose whom to ask or which list authorises; a role is chosen by a person.
        yield Misfit("shape.bad_value", f"takes a role by name; {shown(value)} has a placeholder", path)
    elif not value.isprintable() or not value.strip() or len(value) > _LONGEST_ROLE:
        yield Misfit("shape.bad_value", f"takes a short plain role name, not {shown(value)}", path)
    elif selector.role == "person" and not _WHO.fullmatch(value):
        yield Misfit("shape.bad_value", f"takes role:…, user:… or group:…, not {shown(value)}", path)


def _check_list(selector: Selector, value: Value) -> Iterator[Misfit]:
    if not isinstance(value, tuple):
        yield _wrong("a list", value)
        return
    for index, item in enumerate(value):
        if not isinstance(item, str | int | float) or isinstance(item, bool):
            yield _wrong("a list of texts and numbers", item, (index,))


def _check_text(selector: Selector, value: Value) -> Iterator[Misfit]:
    if not isinstance(value, str):
        yield _wrong("a text", value)


def _check_number(selector: Selector, value: Value) -> Iterator[Misfit]:
    if not isinstance(value, int | float) or isinstance(value, bool):
        yield _wrong("a number", value)
    elif selector.minimum is not None and value < selector.minimum:
        yield Misfit("shape.bad_value", f"takes a number from {selector.minimum:g}; {value:g} is less")
    elif selector.maximum is not None and value > selector.maximum:
        yield Misfit("shape.bad_value", f"takes a number up to {selector.maximum:g}; {value:g} is more")


def _check_boolean(selector: Selector, value: Value) -> Iterator[Misfit]:
    if not isinstance(value, bool):
        yield _wrong("true or false", value)


def _check_select(selector: Selector, value: Value) -> Iterator[Misfit]:
    yield from _one_or_several(selector, value, "the options", _one_option)


def _one_option(selector: Selector, value: Value, path: Path) -> Iterator[Misfit]:
    if not isinstance(value, str):
        yield _wrong("one of the options", value, path)
    elif value not in selector.options and not selector.custom_value:
        yield Misfit("shape.bad_value", f"takes {listed(selector.options)}, not {shown(value)}", path)


def _check_duration(selector: Selector, value: Value) -> Iterator[Misfit]:
    if not isinstance(value, str):
        yield _wrong("a duration such as 90s, 2m or 1h30m", value)
        return
    try:
        parse_duration(value)
    except ValueError as error:
        yield Misfit("shape.bad_duration", f"takes a duration: {error}")


def _check_object(selector: Selector, value: Value) -> Iterator[Misfit]:
    if not isinstance(value, Mapping | tuple):
        yield _wrong("a mapping or a list", value)


def _check_steps(selector: Selector, value: Value) -> Iterator[Misfit]:
    if not isinstance(value, tuple):
        yield _wrong("a list of steps", value)
    elif not value:
        yield Misfit("shape.empty_list", "takes at least one step")
    else:
        for index, item in enumerate(value):
            if not isinstance(item, Mapping) or not item:
                yield _wrong("a list of steps", item, (index,))


_CHECKS: Final[Mapping[Selects, Callable[[Selector, Value], Iterator[Misfit]]]] = {
    Selects.ROLE: _check_role,
    Selects.LIST: _check_list,
    Selects.TEXT: _check_text,
    Selects.NUMBER: _check_number,
    Selects.BOOLEAN: _check_boolean,
    Selects.SELECT: _check_select,
    Selects.DURATION: _check_duration,
    Selects.OBJECT: _check_object,
    Selects.STEPS: _check_steps,
}
