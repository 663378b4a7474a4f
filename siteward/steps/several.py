"""A setting that may be one thing or a list of them."""

from __future__ import annotations

from typing import Any


def several(setting: Any) -> tuple[Any, ...]:
    """The things that a setting lists; one that is no list is the only one."""
    return tuple(setting) if isinstance(setting, list | tuple) else (setting,)
