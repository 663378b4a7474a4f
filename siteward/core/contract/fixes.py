"""The one-click fixes, by their shapes. Each is a small list of edits; none brings the same problem again."""

from __future__ import annotations

from collections.abc import Iterable

from .document import Path, Value
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
    return (Fix("Double the braces", (Edit(EditKind.SET, path or at.path, text.replace("{", "{{").replace("}", "}}")),)),)


def _said(value: Value) -> str:
    if isinstance(value, str | int | float | bool | None):
        return write_scalar(value)
    return "it so"
