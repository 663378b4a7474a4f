"""What only an admin turns on: a file that reads faces or plates, or moves things."""

from __future__ import annotations

from typing import Final

from .reading import Reading
from .registry import ActionSpec, Moves, TriggerSpec
from .tree import At

_SENSITIVE: Final = ("faces", "plates")


def note_action_scope(at: At, spec: ActionSpec, reading: Reading) -> None:
    """Notes an action that moves things (or reads faces or plates)."""
    if spec.moves is Moves.YES or (spec.moves is Moves.UNLESS_APPROVED and not _only_tells(at, spec, reading)):
        reading.notes.info("scope.admin", f"`{spec.name}` moves things, so only an admin turns this workflow on.", at)
    note_scopes(at, spec.scopes, reading)


def _only_tells(at: At, spec: ActionSpec, reading: Reading) -> bool:
    if reading.site is None or spec.target is None or not at.is_map:
        return False
    target = at.get(spec.target)
    kind = next((field.role for field in spec.fields if field.name == spec.target), None)
    return target is not None and f"{kind}:{target.text}" in reading.site.tells


def note_trigger_scope(at: At, spec: TriggerSpec, reading: Reading) -> None:
    """Notes a trigger that reads faces or plates, by itself or by its event type."""
    note_scopes(at, spec.scopes, reading)
    kind = at.get("type") if at.is_map and spec.name == "event" else None
    event = reading.registry.events.get(kind.text or "") if kind else None
    if event is not None:
        note_scopes(at, event.scopes, reading)


def note_scopes(at: At, scopes: tuple[str, ...], reading: Reading) -> None:
    """Notes something that reads faces or plates."""
    for scope in scopes:
        if scope in _SENSITIVE:
            told = f"`{at.text or at.key}` reads {scope}, so only an admin turns this workflow on."
            reading.notes.info("scope.admin", told, at)
