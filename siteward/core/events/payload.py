"""What a payload says, compared without coercion: the equality of `where`, of `value` conditions and of triggers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .event import Event


def matches_where(where: Mapping[str, Any], event: Event) -> bool:
    """Whether a payload has the values of `where`: equal, or one of a list. A field that is not there is not equal."""
    return all(has(name, wanted, event) for name, wanted in where.items())


def has(name: str, wanted: Any, event: Event) -> bool:
    """Whether a payload has one value of a `where`."""
    return name in event.payload and _wanted(wanted, event.payload[name])


def _wanted(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, list | tuple):
        return any(same(one, value) for one in wanted)
    return same(wanted, value)


def same(left: Any, right: Any) -> bool:
    """Equality without coercion: true is not 1, and "5" is not 5; 5 is 5.0. Lists compare item by item."""
    if isinstance(left, str):  # what nearly all are
        return bool(left == right)
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(same(one, other) for one, other in zip(left, right, strict=True))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)
