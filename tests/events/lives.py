"""Replicas of one site, each a real process with an engine and a transport, some of which are killed with SIGKILL while messages come.

Run as a program of its own (`python -m tests.events.lives PLAN`, the plan as JSON): it imports everything once and forks each life. The replicas
share a PostgreSQL database and none of them takes up what another one left: what a kill leaves is looked at afterwards.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg

from siteward.core.contract.registry import Provenance
from siteward.core.engine.engine import Engine
from siteward.core.errors import NotReady, SitewardError
from siteward.core.events.envelope import Origin
from siteward.core.events.event import Event
from siteward.core.events.mqtt import MqttBroker, MqttSettings
from siteward.core.events.nats import NatsBroker, NatsSettings, NatsSubject
from siteward.core.events.transport import Broker, Transport
from siteward.core.store.errors import StoreClosed
from tests.engine.house import House
from tests.events.brokers import until

WORKFLOW = """
name: Every vehicle
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - log: "{track}"
limits: { cooldown: 0s, one_at_a_time: track, per_hour: 100000 }
"""
PATIENCE_SECONDS = 60.0
LIFE_SECONDS = 120
STALLED = "stalled"
"""The file that lists what a replica of the kind `stalling` was told and never accepts."""


@dataclass(frozen=True)
class Plan:
    """What happens. `kind` is mqtt or jetstream; `kills` lives end by SIGKILL; a `stalling` replica accepts this many events and then none."""

    kind: str
    url: str
    database: str
    folder: str
    replicas: tuple[str, ...]
    events: int
    kills: int = 0
    seed: int = 1
    session_seconds: int = 3600
    stalling: int | None = None


def broker_of(plan: Plan, replica: str) -> Broker:
    """How a replica speaks to the broker of the plan."""
    origin = Origin(plan.kind, Provenance.SENSOR)

    @asynccontextmanager
    async def reach(url: str) -> AsyncIterator[tuple[str, ...]]:
        yield ("127.0.0.1",)

    if plan.kind == "mqtt":
        topics = (("site/+/events", origin),)
        return MqttBroker(
            MqttSettings(plan.url, f"site-{replica}", "group", topics, session_seconds=plan.session_seconds), reach
        )
    subjects = (NatsSubject("site.*.events", origin, "EVENTS"),)
    return NatsBroker(NatsSettings(plan.url, f"site-{replica}", "group", subjects, ack_wait=1.5), reach)


class Replica(House):
    """An engine that drives what it takes, and nothing that another process took."""

    async def open(self) -> None:
        Engine.start = Engine.refresh  # type: ignore[method-assign]
        self._seeds = itertools.count(os.getpid() * 1000)
        await super().open()

    async def emit(self, event: Event) -> None:
        try:
            await self.engine.accept(event)
        except StoreClosed:
            raise
        except SitewardError as error:
            raise NotReady(error.sentence) from error


async def live(plan: Plan, replica: str) -> None:
    """Take events until somebody asks for the end."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    house = Replica(Path(plan.folder), url=plan.database)
    await house.open()
    taken = itertools.count()

    async def emit(event: Event) -> None:
        if plan.stalling is not None and next(taken) >= plan.stalling:
            _note(Path(plan.folder, STALLED), event.id)
            await asyncio.Event().wait()
        await house.emit(event)

    transport = Transport(broker_of(plan, replica), emit, 64, random.Random(os.getpid()))
    transport.start()
    joined = asyncio.create_task(_say_joined(transport, Path(plan.folder, f"joined-{replica}")))
    await ended.wait()
    joined.cancel()
    await transport.stop()
    await house.close()


async def _say_joined(transport: Transport, file: Path) -> None:
    """Tell whoever publishes that this replica has its place at the broker."""
    await until(lambda: transport.connections > 0)
    _note(file, "joined")


def _note(file: Path, line: str) -> None:
    with file.open("a") as notes:
        notes.write(f"{line}\n")


def fork(plan: Plan, replica: str) -> int:
    pid = os.fork()
    if pid == 0:
        signal.alarm(LIFE_SECONDS)
        code = 1
        try:
            asyncio.run(live(plan, replica))
            code = 0
        finally:
            os._exit(code)
    return pid


def accepted(plan: Plan) -> int:
    with psycopg.connect(plan.database) as database:
        found = database.execute("SELECT count(*) FROM events").fetchone()
    assert found is not None
    return int(found[0])


def stalled(plan: Plan) -> int:
    file = Path(plan.folder, STALLED)
    return len(file.read_text().splitlines()) if file.exists() else 0


def main(plan: Plan) -> None:
    chance = random.Random(plan.seed)
    alive = {replica: fork(plan, replica) for replica in plan.replicas}
    killed = 0
    until = time.monotonic() + PATIENCE_SECONDS
    while accepted(plan) + stalled(plan) < plan.events and time.monotonic() < until:
        time.sleep(0.05)
        if killed < plan.kills and accepted(plan) > (killed + chance.random()) * plan.events / (plan.kills + 1):
            victim = chance.choice(plan.replicas)
            killed += _ended(alive[victim], signal.SIGKILL)
            alive[victim] = fork(plan, victim)
    last = signal.SIGKILL if plan.stalling is not None else signal.SIGTERM
    for pid in alive.values():
        killed += _ended(pid, last)
    print(json.dumps({"killed": killed, "accepted": accepted(plan), "stalled": stalled(plan)}))  # noqa: T201


def _ended(pid: int, by: signal.Signals) -> bool:
    """End a life; whether the signal was what ended it."""
    os.kill(pid, by)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


async def lived(plan: Plan) -> dict[str, int]:
    """Have a plan happen in a process of its own; what it told."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.events.lives", json.dumps(asdict(plan)), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    told: dict[str, int] = json.loads(out.splitlines()[-1])
    return told


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    main(Plan(**{**given, "replicas": tuple(given["replicas"])}))
