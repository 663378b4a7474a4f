"""What a Look looks at: the pictures that belong to the event, or new ones, and nothing that was not asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from siteward.sdk import AiRequest, Picture, SitewardError

SNAPSHOT_SECONDS = 10.0
MOST_PICTURES = 4


@dataclass(frozen=True, slots=True)
class Shown:
    """Pictures in order, the media id of the first, and why there is none (empty: there is)."""

    pictures: tuple[Picture, ...] = ()
    media_id: str | None = None
    missing: str = ""


def wants_pictures(request: AiRequest) -> bool:
    """Whether the step looks at pictures: its `input` says so, or it says nothing and the event has a camera or a picture."""
    written = request.settings.get("input")
    if written is None:
        return request.event.picture is not None or bool(request.cameras)
    return bool({"picture", "frames"} & set(_kinds(written)))


def with_frames(request: AiRequest) -> bool:
    """Whether the step wants to see movement: a picture of the event and one of now."""
    written = request.settings.get("input")
    return written is not None and "frames" in _kinds(written)


async def shown(request: AiRequest) -> Shown:
    """The event's stored picture; where the run is live, also or instead a new one of each camera that the step may look at.

    In try and replay only what was stored is looked at: a decision is tried on what the event showed, never on what the camera sees today.
    """
    stored = await _stored(request)
    if request.stored_only:
        return stored
    own = request.event.camera
    fresh = [camera for camera in request.cameras if camera != own or not stored.pictures or with_frames(request)]
    taken = await asyncio.gather(*(_snapshot(request, camera) for camera in fresh[:MOST_PICTURES]))
    pictures = (*stored.pictures, *(one for one in taken if isinstance(one, Picture)))
    if not pictures:
        said = [one for one in taken if isinstance(one, str)]
        return Shown(missing=" ".join(said) or stored.missing or "The step has no camera to look through.")
    media = stored.media_id or await _kept(request, pictures[0])
    return Shown(pictures[:MOST_PICTURES], media)


async def _stored(request: AiRequest) -> Shown:
    media = request.event.picture
    if media is None:
        return Shown(missing="The event has no stored picture.")
    try:
        async with asyncio.timeout(SNAPSHOT_SECONDS):
            picture = await request.host.stored_picture(media)
    except (KeyError, SitewardError):
        return Shown(missing="The event's picture is no longer kept.")
    except TimeoutError:
        return Shown(missing="The event's picture could not be read in time.")
    return Shown((picture,), media)


async def _snapshot(request: AiRequest, camera: str) -> Picture | str:
    try:
        async with asyncio.timeout(SNAPSHOT_SECONDS):
            return await request.host.snapshot(camera)
    except SitewardError as error:
        return error.sentence
    except TimeoutError:
        return f"The camera {camera} gave no picture within {SNAPSHOT_SECONDS:.0f} seconds."


async def _kept(request: AiRequest, picture: Picture) -> str | None:
    """The media id of a new picture, so that people see what was decided on; None where it cannot be kept now."""
    try:
        async with asyncio.timeout(SNAPSHOT_SECONDS):
            return await request.host.store_picture(picture)
    except (SitewardError, TimeoutError):
        return None


def _kinds(written: Any) -> tuple[str, ...]:
    if isinstance(written, str):
        return (written,)
    if isinstance(written, Mapping):
        return tuple(written)
    if isinstance(written, (list, tuple)):
        return tuple(kind for one in written for kind in _kinds(one))
    return ()
