"""Plays the recorded scenes as if they happened now, and tells the past of the site once.

What plays next and what each camera shows stands in a file of the site's folder, so that a restart goes on where it was and the
cameras keep showing it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from siteward.sdk import Camera, CameraDown, Event, Host, Picture, Provenance, SitewardError

from .scenes import PastEvent, Recorded, Recording, Scene, picture_bytes, read_recording

_LOG = logging.getLogger(__name__)

SOURCE: Final = "demo"
STAGE: Final = "demo/stage.json"


@dataclass(frozen=True, slots=True)
class Stage:
    """How far the play is: how many scenes were played, what each camera shows, and whether the past was told."""

    played: int = 0
    showing: Mapping[str, str] = field(default_factory=dict)
    past_told: bool = False


def read_stage(folder: str) -> Stage:
    """The stage of a site's folder; a new one where there is none, or none that can be read."""
    try:
        raw = json.loads(Path(folder, STAGE).read_bytes())
        return Stage(int(raw["played"]), dict(raw["showing"]), bool(raw["past_told"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Stage()


def write_stage(folder: str, stage: Stage) -> None:
    """Replace the stage as a whole."""
    path = Path(folder, STAGE)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"played": stage.played, "showing": stage.showing, "past_told": stage.past_told}))
    new.replace(path)


class Player:
    """The scenes of one demo site."""

    def __init__(self, host: Host, recording: Recording) -> None:
        self._host = host
        self._recording = recording
        self._lock = asyncio.Lock()

    async def play_next(self) -> str:
        """Play the next scene now; after the last the first comes again. Returns what it shows."""
        async with self._lock:
            stage = await asyncio.to_thread(read_stage, self._host.config_dir)
            scene = self._scene(stage)
            showing = {**stage.showing, scene.camera: scene.picture}
            await self._keep(Stage(stage.played + 1, showing, stage.past_told))
            at = self._host.clock.now()
            picture = await self._store(scene.camera, scene.picture, at)
            for number, recorded in enumerate(scene.events):
                # Each play is another vehicle: a track of its own, so that a reply to one never counts for the next.
                payload = {"track": f"{scene.id}-{stage.played}", **recorded.payload}
                event_id = f"demo:{scene.id}:{stage.played}:{number}:{at.isoformat()}"
                await self._host.emit(_event(event_id, Recorded(recorded.type, payload), scene.camera, at, picture))
            return scene.shows

    async def play_on(self) -> None:
        """Play one scene after the other with their pauses, for ever."""
        while True:
            stage = await asyncio.to_thread(read_stage, self._host.config_dir)
            pause = self._scene(stage).after
            await self._host.clock.sleep_until(self._host.clock.now() + timedelta(seconds=pause))
            try:
                await self.play_next()
            except SitewardError as error:
                _LOG.warning("a scene was not taken: %s", error.sentence)

    async def tell_past(self) -> None:
        """Emit the past events, once in the life of a site. A site that was killed meanwhile tells them again: their ids are the same, and
        an event that is known already is not taken twice."""
        stage = await asyncio.to_thread(read_stage, self._host.config_dir)
        if stage.past_told:
            return
        now = self._host.clock.now()
        for number, past in enumerate(self._recording.past, start=1):
            await self._tell(number, past, now)
        await self._keep(Stage(stage.played, stage.showing, past_told=True))

    async def _tell(self, number: int, past: PastEvent, now: datetime) -> None:
        at = now - timedelta(minutes=past.ago)
        picture = await self._store(past.camera, past.picture, at)
        await self._host.emit(_event(f"demo:past:{number:02}", past.event, past.camera, at, picture))

    def _scene(self, stage: Stage) -> Scene:
        return self._recording.scenes[stage.played % len(self._recording.scenes)]

    async def _keep(self, stage: Stage) -> None:
        await asyncio.to_thread(write_stage, self._host.config_dir, stage)

    async def _store(self, camera: str, name: str, at: datetime) -> str:
        data = await asyncio.to_thread(picture_bytes, name)
        return await self._host.store_picture(Picture(data, "image/jpeg", at, camera))


def _event(event_id: str, recorded: Recorded, camera: str, at: datetime, picture: str) -> Event:
    return Event(
        id=event_id,
        type=recorded.type,
        source=SOURCE,
        provenance=Provenance.SENSOR,
        at=at,
        camera=camera,
        payload=recorded.payload,
        picture=picture,
    )


class DemoCamera:
    """Shows the picture of the last scene of its camera."""

    def __init__(self, camera: str, host: Host, idle: Mapping[str, str]) -> None:
        self._camera = camera
        self._host = host
        self._idle = idle

    async def snapshot(self) -> Picture:
        """What the camera shows now. Raises `CameraDown` for a camera that no scene and no idle picture names."""
        stage = await asyncio.to_thread(read_stage, self._host.config_dir)
        name = stage.showing.get(self._camera) or self._idle.get(self._camera)
        if name is None:
            known = ", ".join(sorted(self._idle))
            raise CameraDown(
                f"The demo has no pictures for a camera {self._camera}; its cameras are {known}.", where=self._camera
            )
        data = await asyncio.to_thread(picture_bytes, name)
        return Picture(data, "image/jpeg", self._host.clock.now(), self._camera)

    async def close(self) -> None:
        """Nothing is held."""


async def open_camera(camera: str, settings: Mapping[str, Any], host: Host) -> Camera:
    """Open a camera of the demo, by its id."""
    recording = await asyncio.to_thread(read_recording)
    return DemoCamera(camera, host, recording.idle)
