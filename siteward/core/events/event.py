"""The event: what a source saw, and what starts a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from siteward.core.contract.registry import Provenance


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. `type` is what the matcher looks at (`detect.vehicle_in_zone`, `plate.recognized.v1`, `button`);
    `camera` is a camera id of the site (never a role); `at` is when it happened (UTC); `chain` counts the workflows that
    led to it, `caused_by` names the workflow that did; `payload` is plain JSON; `picture` names a stored picture (media id)."""

    id: str
    type: str
    source: str
    provenance: Provenance
    at: datetime
    camera: str | None = None
    correlation_id: str = ""
    chain: int = 0
    caused_by: str | None = None
    payload: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    picture: str | None = None
