"""The demo plays real pictures as events, and its gate opens once per command, whatever happens to the host."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import voluptuous as vol

from siteward.core.contract.manifest_data import shipped_registry
from siteward.core.errors import CameraDown, ConfigurationInvalid, NotReady
from siteward.core.plugins.entry import Entry
from siteward.core.plugins.objects import GateSettings
from siteward.integrations import demo
from siteward.integrations.demo.player import Player, open_camera
from siteward.integrations.demo.relay import DemoGate, read_log
from siteward.integrations.demo.scenes import FOLDER, picture_bytes, read_recording
from siteward.integrations.gate_relay.move import close_gate, open_gate
from siteward.sdk.simulated_clock import SimulatedClock
from tests.integrations.world import HostInMemory, a_call


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@asynccontextmanager
async def demo_site(folder: Path, **settings: Any) -> AsyncIterator[tuple[HostInMemory, Entry]]:
    """A demo that is set up in `folder`, with the gate that its relay moves."""
    host = HostInMemory(str(folder), SimulatedClock())
    port = free_port()
    host.gates["main_gate"] = GateSettings("main_gate", "gate_relay", {"url": f"http://127.0.0.1:{port}"})
    entry = Entry("demo", demo.siteward_config_schema()({"gate_port": port, "past": False, **settings}))
    await demo.siteward_setup(host, entry)
    try:
        yield host, entry
    finally:
        await entry.close()


async def until(holds: Callable[[], bool]) -> None:
    """Let the loop run until something holds."""
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110 (what is waited for gives no event)
            await asyncio.sleep(0)


def openings(folder: Path) -> list[str | None]:
    return [line.key for line in read_log(folder / "demo" / "gate.log") if line.did == "open"]


async def test_each_scene_is_an_event_with_its_picture_and_its_camera_shows_it(tmp_path: Path) -> None:
    recording = read_recording()
    host = HostInMemory(str(tmp_path))
    player = Player(host, recording)
    said = [await player.play_next() for _ in recording.scenes]
    assert said == [scene.shows for scene in recording.scenes]
    events = list(host.events.values())
    assert [event.type for event in events] == [one.type for scene in recording.scenes for one in scene.events]
    first = events[0]
    assert first.picture is not None
    assert host.pictures[first.picture].data == picture_bytes(recording.scenes[0].picture)
    assert (first.camera, first.at, first.source) == ("gate", host.clock.now(), "demo")
    last_at_gate = [scene for scene in recording.scenes if scene.camera == "gate"][-1]
    camera = await open_camera("gate", {}, host)
    assert (await camera.snapshot()).data == picture_bytes(last_at_gate.picture)


async def test_the_same_scene_played_again_is_another_vehicle(tmp_path: Path) -> None:
    recording = read_recording()
    host = HostInMemory(str(tmp_path))
    player = Player(host, recording)
    for _ in range(2 * len(recording.scenes)):
        await player.play_next()
    tracks = [event.payload["track"] for event in host.events.values()]
    assert len(set(tracks)) == len(tracks) == 2 * len(recording.scenes)


async def test_the_play_goes_on_after_a_restart(tmp_path: Path) -> None:
    recording = read_recording()
    await Player(HostInMemory(str(tmp_path)), recording).play_next()
    assert await Player(HostInMemory(str(tmp_path)), recording).play_next() == recording.scenes[1].shows


async def test_a_camera_shows_its_idle_picture_before_the_first_scene(tmp_path: Path) -> None:
    camera = await open_camera("yard", {}, HostInMemory(str(tmp_path)))
    assert (await camera.snapshot()).data == picture_bytes(read_recording().idle["yard"])


async def test_a_camera_that_the_demo_does_not_have_says_which_there_are(tmp_path: Path) -> None:
    camera = await open_camera("roof", {}, HostInMemory(str(tmp_path)))
    with pytest.raises(CameraDown, match="its cameras are gate, yard"):
        await camera.snapshot()


async def test_the_past_is_twenty_events_with_pictures_told_once(tmp_path: Path) -> None:
    host = HostInMemory(str(tmp_path))
    await Player(host, read_recording()).tell_past()
    events = list(host.events.values())
    assert len(events) == 20
    assert all(event.picture in host.pictures and event.at < host.clock.now() for event in events)
    assert [event.at for event in events] == sorted(event.at for event in events)
    host.events.clear()
    await Player(host, read_recording()).tell_past()
    assert host.events == {}


async def test_scenes_play_by_themselves_with_their_pauses(tmp_path: Path) -> None:
    async with demo_site(tmp_path, play=True) as (host, _):
        await until(lambda: len(host.events) == 1 and host.clock.sleeping == 1)
        await host.clock.advance(read_recording().scenes[1].after - 1)
        assert len(host.events) == 1
        await host.clock.advance(1)
        await until(lambda: len(host.events) == 2)


def test_the_pictures_of_all_scenes_ship_with_their_checksums() -> None:
    recording = read_recording()
    used = {*recording.idle.values(), *(s.picture for s in recording.scenes), *(p.picture for p in recording.past)}
    lines = (FOLDER / "pictures" / "SHA256SUMS").read_text().splitlines()
    sums = {name: digest for digest, name in (line.split() for line in lines)}
    assert {name: hashlib.sha256(picture_bytes(name)).hexdigest() for name in used} == {
        name: sums[name] for name in used
    }


def test_the_recorded_events_are_what_the_vocabulary_says_that_they_give() -> None:
    registry = shipped_registry()
    recording = read_recording()
    recorded = [one for scene in recording.scenes for one in scene.events] + [one.event for one in recording.past]
    for one in recorded:
        spec = registry.events.get(one.type) or registry.triggers[one.type]
        assert set(one.payload) <= {given.name for given in spec.gives}, one


async def test_the_relay_opens_the_demo_gate_and_reads_it_back(tmp_path: Path) -> None:
    async with demo_site(tmp_path) as (host, _):
        result = await open_gate(a_call("gate.open", {"gate": "main_gate"}, "k1"), host)
        assert result == {"dry_run": False, "before": "closed", "state": "open"}
        result = await close_gate(a_call("gate.close", {"gate": "main_gate"}, "k2"), host)
        assert result["state"] == "closed"
    assert openings(tmp_path) == ["k1"]


async def test_a_command_that_comes_twice_opens_once_and_both_stand_in_the_log(tmp_path: Path) -> None:
    async with demo_site(tmp_path) as (host, _):
        await open_gate(a_call("gate.open", {"gate": "main_gate"}, "k1"), host)
        await open_gate(a_call("gate.open", {"gate": "main_gate"}, "k1"), host)
    assert openings(tmp_path) == ["k1"]
    assert [line.did for line in read_log(tmp_path / "demo" / "gate.log")] == ["open", "repeat"]


async def test_the_gate_closes_by_itself_and_says_so(tmp_path: Path) -> None:
    async with demo_site(tmp_path, open_seconds=20) as (host, _):
        await open_gate(a_call("gate.open", {"gate": "main_gate"}, "k1"), host)
        await until(lambda: host.clock.sleeping == 1)
        await host.clock.advance(20)
        await until(lambda: len(host.events) == 2)
    opened, closed = host.events.values()
    assert (opened.payload["to"], closed.payload["to"]) == ("open", "closed")
    assert closed.payload["gate"] == "main_gate"
    assert [line.did for line in read_log(tmp_path / "demo" / "gate.log")] == ["open", "close"]


async def test_the_gate_goes_on_closing_when_its_event_is_not_taken(tmp_path: Path) -> None:
    async with demo_site(tmp_path, open_seconds=20) as (host, _):
        host.refuses = NotReady("The disk is full.")
        for number in range(2):
            await open_gate(a_call("gate.open", {"gate": "main_gate"}, f"k{number}"), host)
            await until(lambda: host.clock.sleeping == 1)
            await host.clock.advance(20)
            await until(lambda: host.clock.sleeping == 0)
            await until(lambda: read_log(tmp_path / "demo" / "gate.log")[-1].did == "close")
    assert [line.did for line in read_log(tmp_path / "demo" / "gate.log")] == ["open", "close", "open", "close"]


async def test_a_scene_that_is_not_taken_does_not_end_the_play(tmp_path: Path) -> None:
    async with demo_site(tmp_path, play=True) as (host, _):
        await until(lambda: len(host.events) == 1 and host.clock.sleeping == 1)
        host.refuses = NotReady("The disk is full.")
        await host.clock.advance(read_recording().scenes[1].after)
        await until(lambda: host.clock.sleeping == 1)
        host.refuses = None
        await host.clock.advance(read_recording().scenes[2].after)
        await until(lambda: len(host.events) == 2)
    assert [event.payload["label"] for event in host.events.values()] == ["car", "person"]


async def test_a_gate_that_was_left_open_is_open_after_a_restart_and_knows_its_commands(tmp_path: Path) -> None:
    async with demo_site(tmp_path) as (host, _):
        await open_gate(a_call("gate.open", {"gate": "main_gate"}, "k1"), host)
    async with demo_site(tmp_path) as (host, _):
        result = await open_gate(a_call("gate.open", {"gate": "main_gate"}, "k1"), host)
        assert (result["before"], result["state"]) == ("open", "open")
    assert openings(tmp_path) == ["k1"]


async def test_a_line_that_a_crash_cut_off_did_not_happen(tmp_path: Path) -> None:
    log = tmp_path / "gate.log"
    whole = json.dumps({"at": "2026-05-04T10:00:00+00:00", "did": "open", "key": "k1"}) + "\n"
    log.write_text(whole + whole.replace("open", "close").replace("k1", "k2")[:-9])

    async def told(_state: str, _at: object) -> None:
        raise AssertionError("nothing closes by itself here")

    gate = DemoGate(log, SimulatedClock(), 0, told)
    gate.recover()
    assert (gate.state, gate.last_key) == ("open", "k1")
    assert await gate.command("closed", "k2")
    assert [line.did for line in read_log(log)] == ["open", "close"]


async def test_a_page_of_another_site_cannot_open_the_gate(tmp_path: Path) -> None:
    # A browser sends a bare POST anywhere, and a header of its own only after asking the server.
    async with demo_site(tmp_path) as (host, _), aiohttp.ClientSession() as browser:
        url = host.gates["main_gate"].settings["url"]
        async with browser.post(f"{url}/open", data="x", headers={"Origin": "https://evil.example"}) as answer:
            assert answer.status == 400
        async with browser.options(f"{url}/open") as answer:
            assert "Access-Control-Allow-Origin" not in answer.headers
    assert openings(tmp_path) == []


async def test_a_port_that_is_taken_is_said_in_one_sentence(tmp_path: Path) -> None:
    async with demo_site(tmp_path) as (host, _):
        port = int(host.gates["main_gate"].settings["url"].rpartition(":")[2])
        with pytest.raises(ConfigurationInvalid, match=f"cannot listen on port {port}: .*choose another port"):
            await demo.siteward_setup(host, Entry("demo", demo.siteward_config_schema()({"gate_port": port})))


@pytest.mark.parametrize(
    "settings", [{}, {"gate_port": 0}, {"gate_port": 8123, "open_seconds": -1}, {"gate_port": 8123, "x": 1}]
)
def test_wrong_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(vol.Invalid):
        demo.siteward_config_schema()(settings)
