"""What a file needs of a site: roles to map, and skills that others than the host provide."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from .reading import Reading

NEED_KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "camera": "cameras",
        "person": "people",
        "gate": "gates",
        "siren": "sirens",
        "list": "lists",
        "zone": "zones",
        "line": "lines",
        "destination": "destinations",
        "entity": "entities",
    }
)
"""Role kinds and the keys of `needs` that they stand under."""

NEEDS_KEYS: Final = (*NEED_KINDS.values(), "skills")

EVERY_HOST: Final = frozenset(
    [
        "alert",
        "event",
        "schedule",
        "button",
        "message",
        "time",
        "days",
        "site_mode",
        "camera",
        "value",
        "in_list",
        "count",
        "ai",
        "if",
        "for_each",
        "ask_person",
        "wait",
        "wait_for",
        "notify",
        "log",
        "webhook",
    ]
)
"""What every host of workflow.v1 brings itself: never listed as a skill."""


def needs_of(reading: Reading) -> Mapping[str, tuple[str, ...]]:
    """The needs of a file that has been read, in the order of `NEEDS_KEYS`; roles sorted, skills in the order of the file."""
    needs = {key: tuple(sorted(reading.uses[kind])) for kind, key in NEED_KINDS.items() if reading.uses.get(kind)}
    skills = tuple(skill for skill in reading.skills if skill not in EVERY_HOST)
    if skills:
        needs["skills"] = skills
    return MappingProxyType(needs)
