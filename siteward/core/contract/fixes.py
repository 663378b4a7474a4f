"""The one-click fixes, by their shapes. Each is a small list of edits; none brings the same problem again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Final

from .document import Path, Value
from .durations import parse_duration, parse_time
from .problems import Edit, EditKind, Fix
from .scalars import NumberOutOfRange, resolve_plain, write_scalar
from .tree import At

_YES = frozenset({"yes", "on", "true", "y"})
_NO = frozenset({"no", "off", "false", "n"})


def set_to(at: At, value: Value, title: str | None = None) -> Fix:
    """Write `value` instead."""
    said = title or (f"Write {_said(value)}" if not isinstance(value, tuple) else "Write a list")
    return Fix(said, (Edit(EditKind.SET, at.path, value),))


def rename_to(at: At, key: str) -> Fix:
    """Write another key."""
    return Fix(f"Rename to {key}", (Edit(EditKind.RENAME, at.path, key),))


def remove(at: At, title: str | None = None) -> Fix:
    """Take it out."""
    return Fix(title or f"Remove {at.key}", (Edit(EditKind.REMOVE, at.path),))


def add_key(at: At, key: str, value: Value, title: str | None = None) -> Fix:
    """Add `key` with `value` to the mapping at `at`."""
    return Fix(title or f"Add {key}", (Edit(EditKind.INSERT, (*at.path, key), value),))


def all_of(title: str, fixes: Iterable[Fix]) -> Fix:
    """Several fixes in one click, in order."""
    return Fix(title, tuple(edit for fix in fixes for edit in fix.edits))


def nearest_value(at: At, near: str | None) -> tuple[Fix, ...]:
    """The nearest known name in place of the value."""
    return (set_to(at, near),) if near is not None else ()


def nearest_key(at: At, near: str | None, taken: Iterable[str]) -> tuple[Fix, ...]:
    """The nearest known key, where it is still free; else taking the unknown one out."""
    if near is not None and near not in set(taken):
        return (rename_to(at, near),)
    return (remove(at),)


def as_number(at: At, *, whole: bool) -> tuple[Fix, ...]:
    """The number that a text holds."""
    text = (at.text or "").strip().lstrip("0").replace("_", "").replace(",", "")
    if not text:
        return ()
    try:
        number = resolve_plain(text)
    except NumberOutOfRange:
        return ()
    if isinstance(number, bool) or not isinstance(number, int | float) or (whole and not isinstance(number, int)):
        return ()
    return (set_to(at, number),)


def as_bool(at: At) -> tuple[Fix, ...]:
    """The boolean that a text means."""
    said = (at.text or "").casefold()
    if said in _YES or said in _NO:
        return (set_to(at, said in _YES),)
    return ()


_IN_WORDS: Final = re.compile(r"(\d{1,6})\s*(second|sec|s|minute|min|m|hour|hr|h|day|d)s?", re.ASCII | re.IGNORECASE)
_CLOCK: Final = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?\s*(am|pm)?", re.ASCII | re.IGNORECASE)


def as_duration(at: At) -> tuple[Fix, ...]:
    """The duration that a number of seconds or a few words mean (`2 minutes`)."""
    value = at.value
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 86400:
        return (set_to(at, f"{value}s"),)
    said = _IN_WORDS.fullmatch((at.text or "").strip())
    if said is None:
        return ()
    written = said[1] + said[2][0].lower()
    return (set_to(at, written),) if _reads(parse_duration, written) else ()


def as_time(at: At) -> tuple[Fix, ...]:
    """The time of day that `7:00`, `7am` or `19.30` mean."""
    said = _CLOCK.fullmatch((at.text or "").strip())
    if said is None:
        return ()
    hour, half = int(said[1]), (said[3] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    written = f"{hour:02}:{said[2] or '00'}"
    return (set_to(at, written),) if _reads(parse_time, written) else ()


def _reads(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def own_entries(item: At, following: At) -> tuple[Fix, ...]:
    """The second key of a list entry as an entry of its own, after the first."""
    *front, index = item.path
    if not isinstance(index, int):
        return ()
    edits = (
        Edit(EditKind.REMOVE, following.path),
        Edit(EditKind.INSERT, (*front, index + 1), MappingProxyType({following.key: following.value})),
    )
    return (Fix(f"Make {following.key} its own entry", edits),)


def as_text(at: At) -> tuple[Fix, ...]:
    """The same scalar in quotes."""
    value = at.value
    if isinstance(value, int | float):
        return (set_to(at, write_scalar(value), f'Write "{write_scalar(value)}" in quotes'),)
    return ()


def as_list(at: At) -> tuple[Fix, ...]:
    """The scalar as a list of one."""
    return (set_to(at, (at.value,), "Write it as a list"),) if at.text else ()


def double_braces(at: At, path: Path | None = None) -> tuple[Fix, ...]:
    """Every brace doubled that is no placeholder's."""
    text = at.text
    if text is None:
        return ()
    return (
        Fix("Double the braces", (Edit(EditKind.SET, path or at.path, text.replace("{", "{{").replace("}", "}}")),)),
    )


def _said(value: Value) -> str:
    if isinstance(value, str | int | float | bool | None):
        return write_scalar(value)
    return "it so"
