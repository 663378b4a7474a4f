"""Which uses of an action move things: one answer for the validator, for `explain` and for the engine's effects.

Most actions say so in their manifest. A message (webhook, MQTT topic, Home Assistant service) moves until an admin approved its target
as one that only tells; a target that the file does not fix (a placeholder) is never approved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .registry import ActionSpec, Moves

TELLING_SERVICES: Final = frozenset({"notify", "tts", "media_player", "persistent_notification", "light"})
"""Home Assistant's service domains that tell by default (the design's list)."""


def target_of(action: ActionSpec, settings: Mapping[str, Any]) -> str | None:
    """What an action acts on, as the site names it: `gate:north`, `destination:ticketing`; the action's own name (`site_mode`) where its
    target is no role. None where it has no target or the target is no text."""
    if action.target is None:
        return None
    field = next((one for one in action.fields if one.name == action.target), None)
    if field is None or field.role is None:
        return action.name
    value = settings.get(action.target)
    return f"{field.role}:{value}" if isinstance(value, str) and value else None


def approvals_of(action: ActionSpec, settings: Mapping[str, Any]) -> frozenset[str]:
    """The names under which an admin may have approved this use as one that only tells. A service is approved with its entity
    (`service:switch.turn_on entity:hall_lamp`), or alone where it takes none."""
    target = target_of(action, settings)
    service = settings.get("service")
    if service is None:
        return frozenset() if target is None else frozenset({target})
    if not isinstance(service, str):
        return frozenset()
    return frozenset({f"service:{service}" if target is None else f"service:{service} {target}"})


def moves_things(action: ActionSpec, settings: Mapping[str, Any], tells: frozenset[str] = frozenset()) -> bool:
    """Whether this use of an action moves things on a site whose approved telling targets are `tells` (none without a site)."""
    if action.moves is not Moves.UNLESS_APPROVED:
        return action.moves is Moves.YES
    service = settings.get("service")
    if isinstance(service, str) and service.partition(".")[0] in TELLING_SERVICES and "." in service:
        return False
    return tells.isdisjoint(approvals_of(action, settings))
