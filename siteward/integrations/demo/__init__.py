"""The demo site: recorded scenes at a gate, and the gate itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import voluptuous as vol

from siteward.sdk import TRIGGERS, CameraKind, Entry, Event, Host, Provenance, SitewardError, Trigger, hookimpl

from .player import SOURCE, Player, open_camera
from .relay import DemoGate, relay_app, serve
from .scenes import read_recording

_LOG = logging.getLogger(__name__)
_SCHEMA: Final = vol.Schema(
    {
        vol.Required("gate_port"): vol.All(int, vol.Range(min=1, max=65535)),
        vol.Optional("gate", default="main_gate"): str,
        vol.Optional("gate_log", default="demo/gate.log"): str,
        vol.Optional("open_seconds", default=20): vol.All(vol.Any(int, float), vol.Range(min=0, max=3600)),
        vol.Optional("play", default=False): bool,
        vol.Optional("past", default=True): bool,
    }
)


@hookimpl
def siteward_triggers() -> Sequence[Trigger]:
    """What the scenes show and the gate does."""
    return tuple(TRIGGERS[name] for name in ("detect.vehicle_in_zone", "detect.person_in_zone", "gate.changed"))


@hookimpl
def siteward_cameras() -> Sequence[CameraKind]:
    """The cameras of the scenes."""
    return (CameraKind("demo.camera", open_camera),)


@hookimpl
def siteward_config_schema() -> Callable[[Any], Mapping[str, Any]]:
    """`gate_port` of the gate's relay, its role and log; seconds after which the gate closes by itself; `play` plays by itself;
    `past` tells what happened before."""
    return _SCHEMA


@hookimpl
async def siteward_setup(site: Host, entry: Entry) -> None:
    """Start the gate, tell the past, and have the scenes ready."""
    settings = entry.settings

    async def changed(state: str, at: datetime) -> None:
        try:
            await site.emit(_gate_changed(settings["gate"], state, at))
        except SitewardError as error:  # the gate goes on closing, whether or not its event was taken
            _LOG.warning("gate.changed of %s was not taken: %s", settings["gate"], error.sentence)

    log = Path(site.config_dir, settings["gate_log"])
    gate = DemoGate(log, site.clock, float(settings["open_seconds"]), changed)
    await asyncio.to_thread(gate.recover)
    runner = await serve(relay_app(gate), settings["gate_port"])
    entry.exits.push_async_callback(runner.cleanup)
    entry.keep(gate.close_by_itself, "gate")
    player = Player(site, await asyncio.to_thread(read_recording))
    if settings["past"]:
        await player.tell_past()
    entry.player = player
    if settings["play"]:
        entry.keep(player.play_on, "scenes")


def _gate_changed(gate: str, state: str, at: datetime) -> Event:
    return Event(
        id=f"demo:gate:{state}:{at.isoformat()}",
        type="gate.changed",
        source=SOURCE,
        provenance=Provenance.SENSOR,
        at=at,
        payload={"gate": gate, "to": state},
    )
