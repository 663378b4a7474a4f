"""Which uses of an action move things, and what they act on. One reading for validator, explain and engine."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from .document import Value
from .flow_conditions import names_read
from .registry import ActionSpec, Field, FieldType, Moves

TELLING_SERVICES: Final = frozenset({"notify", "tts", "media_player", "persistent_notification", "light"})
"""Domains of Home Assistant services that only tell, unless their data names another target."""

REDIRECTING: Final = frozenset({"entity_id", "device_id", "area_id", "floor_id", "label_id", "target"})
"""Keys in a service's data that send it elsewhere than the entity that was approved."""


def target_field(action: ActionSpec) -> Field | None:
    """The field that says what the action acts on."""
    return next((field for field in action.fields if field.name == action.target), None)


def target_key(action: ActionSpec, settings: Mapping[str, Value]) -> str | None:
    """The target as the site names it (`gate:north`, `destination:ticketing`), None where there is none or a value fills it.

    Where a service decides what is done to the target, it belongs to the name: `entity:porch_lamp/switch.turn_on`.
    """
    field = target_field(action)
    target = settings.get(action.target) if action.target is not None else None
    if field is None or not isinstance(target, str) or names_read(target):
        return None
    key = f"{field.role or field.name}:{target}"
    if "service" not in settings:
        return key
    service = settings["service"]
    return f"{key}/{service}" if isinstance(service, str) and not names_read(service) else None


def moves_things(action: ActionSpec, settings: Mapping[str, Value], tells: Collection[str] = ()) -> bool:
    """Whether this use of the action moves something. `tells` are the targets that an admin approved as ones that only tell."""
    if action.moves is not Moves.UNLESS_APPROVED:
        return action.moves is Moves.YES
    if _redirected(settings.get("data")):
        return True
    if target_key(action, settings) in tells:
        return False
    return not _telling_service(settings.get("service"))


def _telling_service(service: Value) -> bool:
    if not isinstance(service, str) or names_read(service):
        return False
    domain, dot, _ = service.partition(".")
    return bool(dot) and domain in TELLING_SERVICES


def _redirected(data: Value) -> bool:
    """Whether data names another target, at any depth, or a value of the run may name a key of it."""
    if isinstance(data, tuple | list):
        return any(_redirected(item) for item in data)
    if not isinstance(data, Mapping):
        return False
    return any(key in REDIRECTING or names_read(key) or _redirected(item) for key, item in data.items())


def recipient_fields(action: ActionSpec) -> tuple[str, ...]:
    """The settings of an action that say whom or where a message goes to."""
    return tuple(
        field.name
        for field in action.fields
        if field.type is FieldType.WHO or field.role in ("person", "destination", "line")
    )
