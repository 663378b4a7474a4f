"""Real brokers that tests start on free ports of this machine, and publishers for them. A missing server is a failure, never a skip."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nats
import orjson
from nats.aio.client import Client as NatsClient
from paho.mqtt.client import Client as MqttClient
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

READY_SECONDS = 60.0


class Server:
    """One server process over a folder; started again it has the same port and what it kept."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def command(self) -> list[str]:
        raise NotImplementedError

    def start(self) -> None:
        with (self.folder / f"{self.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command(), stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
            )
        until = time.monotonic() + READY_SECONDS
        while not _accepts(self.port):
            if self._process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"{self.name}: {self.log[-600:]}")
            time.sleep(0.02)

    @property
    def log(self) -> str:
        return (self.folder / f"{self.name}.log").read_text()

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)
            self._process = None

    @contextmanager
    def running(self) -> Iterator[None]:
        self.start()
        try:
            yield
        finally:
            self.stop()


class Mosquitto(Server):
    """Keeps sessions and messages on the disk when it is stopped. `more` are further lines of its configuration."""

    def __init__(self, folder: Path, *more: str) -> None:
        super().__init__(folder, "mosquitto")
        self.more = more

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        configuration = self.folder / "mosquitto.conf"
        lines = [
            f"listener {self.port} 127.0.0.1",
            "user root",
            "persistence true",
            f"persistence_location {self.folder}/",
            "max_queued_messages 0",
            *(self.more or ("allow_anonymous true",)),
        ]
        configuration.write_text("\n".join(lines) + "\n")
        return ["mosquitto", "-c", str(configuration)]


class NatsServer(Server):
    """With JetStream."""

    def __init__(self, folder: Path, *more: str) -> None:
        super().__init__(folder, "nats")
        self.more = more

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        return [
            "nats-server", "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self.folder / "js"), *self.more
        ]  # fmt: skip


async def until(holds: Callable[[], bool], seconds: float = READY_SECONDS) -> None:
    """Return once something holds that another process or task brings about."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 (what is waited for is outside, and gives no event)
            await asyncio.sleep(0.005)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _accepts(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def body(number: int | str, type: str = "detect.vehicle_in_zone", **more: Any) -> bytes:
    """A message that is an event."""
    said = {"id": f"e{number}", "type": type, "at": datetime.now(UTC).isoformat(), "camera": "cam-1"}
    return orjson.dumps(said | {"payload": {"zone": "apron", "seconds": 5, "track": f"t{number}"}} | more)


@contextmanager
def mqtt_publisher(port: int, client_id: str = "publisher") -> Iterator[MqttClient]:
    """A publisher that sends at QoS 1 and waits for the broker's word."""
    client = MqttClient(CallbackAPIVersion.VERSION2, client_id=client_id, protocol=MQTTProtocolVersion.MQTTv5)
    connected = threading.Event()
    client.on_connect = lambda *_: connected.set()
    client.connect("127.0.0.1", port)
    client.loop_start()
    assert connected.wait(READY_SECONDS)
    try:
        yield client
    finally:
        client.disconnect()
        client.loop_stop()


def publish_mqtt(port: int, *bodies: bytes, topic: str = "site/gate/events", qos: int = 1, pause: float = 0.0) -> None:
    """Publish, and return once the broker has them."""
    with mqtt_publisher(port) as client:
        sent = []
        for one in bodies:
            sent.append(client.publish(topic, one, qos=qos))
            if pause:
                time.sleep(pause)
        for info in sent:
            info.wait_for_publish(READY_SECONDS)
            assert info.is_published()


@asynccontextmanager
async def nats_client(port: int) -> AsyncIterator[NatsClient]:
    client = await nats.connect(f"nats://127.0.0.1:{port}")
    try:
        yield client
    finally:
        await client.close()


async def make_stream(port: int, name: str, *subjects: str) -> None:
    async with nats_client(port) as client:
        await client.jetstream().add_stream(name=name, subjects=list(subjects))


async def publish_stream(port: int, *bodies: bytes, subject: str = "site.gate.events", pause: float = 0.0) -> None:
    """Publish to JetStream, and return once the server has them."""
    async with nats_client(port) as client:
        for one in bodies:
            await client.jetstream().publish(subject, one)
            if pause:
                await asyncio.sleep(pause)


async def publish_core(port: int, *bodies: bytes, subject: str = "site.gate.events") -> None:
    async with nats_client(port) as client:
        for one in bodies:
            await client.publish(subject, one)
        await client.flush()
