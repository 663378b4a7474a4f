"""Whether conditions authorise a move, or only narrow when it may happen: the one rule of validator and engine.

An authorising condition compares an identity that a trigger gave (a plate, a badge, a face match, a code) with what the author wrote or
what stands in a list of the site. Time, mode, camera, zone and every comparison with a thing that AI said only narrow. The validator
asks with the labels that its data flow found, the engine with those of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .document import Condition, Value
from .registry import Provenance

_WRITTEN: Final = frozenset({Provenance.LITERAL, Provenance.LIST})


@dataclass(frozen=True, slots=True)
class Label:
    """Where a setting's value comes from, its placeholders filled, and whether it is an identity that a trigger gave."""

    provenance: Provenance
    authorises: bool = False

    @property
    def is_identity(self) -> bool:
        """An identity that is nobody's guess."""
        return self.authorises and self.provenance is not Provenance.AI

    @property
    def is_written(self) -> bool:
        """A literal, or what stands in a list."""
        return not self.authorises and self.provenance in _WRITTEN


LabelOf = Callable[[Value], Label]


def authorise(conditions: tuple[Condition, ...], label_of: LabelOf) -> bool:
    """Whether the lane that these conditions open (all of them hold there) is authorised: one of them must be authorising."""
    return any(is_authorising(condition, label_of) for condition in conditions)


def is_authorising(condition: Condition, label_of: LabelOf) -> bool:
    """Whether one condition authorises: an `any` only where each branch does, nothing under `not`."""
    match condition.name:
        case "any":
            return bool(condition.inner) and all(is_authorising(inner, label_of) for inner in condition.inner)
        case "in_list":
            value, name = condition.settings.get("value"), condition.settings.get("list")
            return label_of(value).is_identity and label_of(name).provenance is Provenance.LITERAL
        case "value":
            return any(_compares(condition, key, label_of) for key in ("is", "one_of"))
        case _:
            return False


def _compares(condition: Condition, key: str, label_of: LabelOf) -> bool:
    """An identity against something written, whichever side it stands on."""
    if key not in condition.settings or "of" not in condition.settings:
        return False
    left, right = label_of(condition.settings["of"]), label_of(condition.settings[key])
    if left.is_identity:
        return right.is_written
    # `one_of` with the identity among its choices would hold by another of them.
    return key == "is" and right.is_identity and left.is_written
