"""What the embedded perception can report, and nothing else: the closed set of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

VEHICLES: Final = ("none", "car", "van_or_truck", "bus", "motorcycle", "bicycle")
PEOPLE: Final = ("none", "one", "several")
COLOURS: Final = ("unknown", "black", "white", "grey", "red", "orange", "yellow", "green", "blue", "brown")

VOCABULARY: Final[Mapping[str, tuple[str, ...] | str]] = MappingProxyType(
    {
        "vehicle": VEHICLES,
        "people": PEOPLE,
        "plate_text": "text",
        "text_seen": "list",
        "colour": COLOURS,
        "tags": "list",
    }
)
"""Field to its options, or to its open type. `plate_text` and `text_seen` are null where no reader is installed, and empty where
it found nothing: not measured is not none."""
