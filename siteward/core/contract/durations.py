"""Durations and times of day as workflow.v1 writes them: `90s`, `2m`, `1h30m`, and `"22:00"`. Pure text to numbers."""

from __future__ import annotations

import re
from datetime import time
from typing import Final

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""Day names in the order of `date.weekday()`."""

LONGEST_SECONDS: Final = 366 * 86400
"""A duration over a year is a typing mistake; it also keeps every due time inside what dates can hold."""

_DURATION = re.compile(r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?", re.ASCII)
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)", re.ASCII)
_UNITS = (86400, 3600, 60, 1)


def parse_duration(text: str) -> int:
    """Seconds of `1h30m`, `90s`, `2m`, `1d`. Units stand once each, from long to short; zero (`0s`) is a duration.

    Raises `ValueError` with a sentence where the text is none.
    """
    found = _DURATION.fullmatch(text) if text else None
    if found is None:
        raise ValueError(f'"{text}" is not a duration; write it like 90s, 2m or 1h30m')
    seconds = sum(int(part) * unit for part, unit in zip(found.groups(), _UNITS, strict=True) if part)
    if seconds > LONGEST_SECONDS:
        raise ValueError(f'"{text}" is longer than a year')
    return seconds


def parse_time(text: str) -> time:
    """The time of day of `"22:00"` (24 hours, two digits each). Raises `ValueError` with a sentence."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f'"{text}" is not a time of day; write it like "07:00" or "22:30"')
    return time(int(found[1]), int(found[2]))


def say_duration(seconds: float) -> str:
    """The shortest text that `parse_duration` reads as this number of whole seconds."""
    left, parts = int(seconds), []
    for unit, letter in zip(_UNITS[1:], "hms", strict=True):
        count, left = divmod(left, unit)
        if count:
            parts.append(f"{count}{letter}")
    return "".join(parts) or "0s"
