"""Cron lines: the five fields, and whether any date fits them. When a line fires next is the engine's.

Facts: five fields, names for months and weekdays, Sunday as 0 or 7, and that a restricted weekday counts by itself beside
a restricted day of the month (crontab(5)).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_FIELDS: Final = (
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of the month", 1, 31),
    ("month", 1, 12),
    ("day of the week", 0, 7),
)
_NAMES: Final[Mapping[int, Mapping[str, int]]] = {
    3: {
        name: at + 1
        for at, name in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])
    },
    4: {name: at for at, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])},
}
_LONGEST_MONTH: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LONGEST_LINE: Final = 200


def parse_cron(text: str) -> tuple[frozenset[int], ...]:
    """The five value sets of a cron line (Sunday is 0). Raises ValueError with a sentence for a person."""
    fields = text.split()
    if len(fields) != 5 or len(text) > _LONGEST_LINE:
        raise ValueError("a cron line has five fields: minute, hour, day of the month, month, day of the week")
    minute, hour, day, month, weekday = (_field(field, index) for index, field in enumerate(fields))
    return minute, hour, day, month, frozenset(one % 7 for one in weekday)


def _field(field: str, index: int) -> frozenset[int]:
    values: set[int] = set()
    for part in field.split(","):
        values.update(_part(part, index))
    return frozenset(values)


def _part(part: str, index: int) -> range:
    title, low, high = _FIELDS[index]
    span, slash, step_text = part.partition("/")
    step = _digits(step_text, title) if slash else 1
    if not 1 <= step <= high:
        raise ValueError(f"the step in {part!r} must be between 1 and {high} in the {title} field")
    if span == "*":
        return range(low, high + 1, step)
    start, dash, end = span.partition("-")
    first = _number(start, index)
    last = _number(end, index) if dash else (high if slash else first)
    if not low <= first <= last <= high:
        raise ValueError(f"{part!r} is outside {low}-{high} in the {title} field")
    return range(first, last + 1, step)


def _number(text: str, index: int) -> int:
    named = _NAMES.get(index, {}).get(text.lower())
    return _digits(text, _FIELDS[index][0]) if named is None else named


def _digits(text: str, title: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 3):
        raise ValueError(f"{text!r} is no number in the {title} field")
    return int(text)


def cron_can_fire(text: str) -> bool:
    """Whether a well-formed cron line names a date that exists (`0 0 30 2 *` never fires). Raises ValueError like `parse_cron`."""
    _, _, days, months, _ = parse_cron(text)
    if not text.split()[4].startswith("*"):
        return True
    return any(min(days) <= _LONGEST_MONTH[month - 1] for month in months)
