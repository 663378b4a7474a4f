"""The demo's recorded scenes and past events, read from `scenes.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

import yaml

FOLDER: Final = files(__package__)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One event as its sensor would report it."""

    type: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Scene:
    """What happens once: a picture of one camera, what it shows in words, and the events that it causes. `after` is the pause before it
    in seconds."""

    id: str
    camera: str
    after: float
    picture: str
    shows: str
    events: tuple[Recorded, ...]


@dataclass(frozen=True, slots=True)
class PastEvent:
    """An event from before the demo began, `ago` minutes back."""

    ago: float
    camera: str
    picture: str
    event: Recorded


@dataclass(frozen=True, slots=True)
class Recording:
    """All of it. `idle` is the picture of each camera before its first scene."""

    idle: Mapping[str, str]
    scenes: tuple[Scene, ...]
    past: tuple[PastEvent, ...]


def read_recording() -> Recording:
    """The recording that ships with the demo."""
    raw = yaml.safe_load((FOLDER / "scenes.yaml").read_bytes())
    return Recording(
        idle=raw["idle"],
        scenes=tuple(
            Scene(
                id=one["id"],
                camera=one["camera"],
                after=float(one["after"]),
                picture=one["picture"],
                shows=one["shows"],
                events=tuple(Recorded(event["type"], event["payload"]) for event in one["events"]),
            )
            for one in raw["scenes"]
        ),
        past=tuple(
            PastEvent(float(one["ago"]), one["camera"], one["picture"], Recorded(one["type"], one["payload"]))
            for one in raw["past"]
        ),
    )


def picture_bytes(name: str) -> bytes:
    """A shipped picture (JPEG)."""
    return (FOLDER / "pictures" / name).read_bytes()
