"""Replicas that share a subscription are killed at random while messages come: each event is accepted once and makes one run, whoever had it.

And the fact behind the session's time: a consumer that dies holding messages gets them back if the broker kept its session, and else they are lost.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from siteward.core.store.schema import events, logs, workflow_runs
from tests.engine.house import House

from .brokers import Mosquitto, NatsServer, body, make_stream, publish_mqtt, publish_stream, until
from .lives import STALLED, WORKFLOW, Plan, lived

EVENTS, RUNS = 500, 100
MESSAGES = [
    body(number, "doorbell" if number % (EVENTS // RUNS) else "detect.vehicle_in_zone") for number in range(EVENTS)
]
"""One in five starts a run."""


async def prepared(folder: Path, database: str) -> None:
    house = House(folder, url=database)
    await house.open()
    await house.save(WORKFLOW)
    await house.close()


async def what_came_of_it(folder: Path, database: str) -> tuple[int, int, int, set[str]]:
    """The next start takes up what the kills left: how many events, runs, log lines, and the states of the runs."""
    house = House(folder, url=database)
    await house.open()
    await house.engine.drain()
    runs = await house.store.read(select(workflow_runs))
    told = [row["message"] for row in await house.store.read(select(logs))]
    taken = await house.store.read(select(events))
    await house.close()
    assert len({row["event_id"] for row in runs}) == len(runs)
    assert sorted(told) == sorted(set(told))
    return len(taken), len(runs), len(told), {row["state"] for row in runs}


async def test_mqtt_replicas_that_are_killed_lose_nothing_and_do_nothing_twice(
    tmp_path: Path, postgres_url: str
) -> None:
    broker = Mosquitto(tmp_path / "broker")
    await prepared(tmp_path, postgres_url)
    with broker.running():
        plan = Plan("mqtt", broker.url, postgres_url, str(tmp_path), ("a", "b"), EVENTS, kills=6, seed=1)
        happens = asyncio.create_task(lived(plan))
        await until(lambda: len(list(tmp_path.glob("joined-*"))) == 2)
        await asyncio.to_thread(publish_mqtt, broker.port, *MESSAGES, pause=0.004)
        told = await happens
    assert told == {"killed": 6, "accepted": EVENTS, "stalled": 0}
    assert await what_came_of_it(tmp_path, postgres_url) == (EVENTS, RUNS, RUNS, {"done"})


async def test_jetstream_replicas_that_are_killed_lose_nothing_and_do_nothing_twice(
    tmp_path: Path, postgres_url: str
) -> None:
    server = NatsServer(tmp_path / "server")
    await prepared(tmp_path, postgres_url)
    with server.running():
        await make_stream(server.port, "EVENTS", "site.*.events")
        plan = Plan("jetstream", server.url, postgres_url, str(tmp_path), ("a", "b"), EVENTS, kills=6, seed=1)
        happens = asyncio.create_task(lived(plan))
        await until(lambda: len(list(tmp_path.glob("joined-*"))) == 2)
        await publish_stream(server.port, *MESSAGES, pause=0.003)
        told = await happens
    assert told == {"killed": 6, "accepted": EVENTS, "stalled": 0}
    assert await what_came_of_it(tmp_path, postgres_url) == (EVENTS, RUNS, RUNS, {"done"})


@pytest.mark.parametrize(("session_seconds", "back"), [(3600, 5), (0, 0)])
async def test_a_killed_consumer_gets_its_messages_back_only_with_a_session(
    tmp_path: Path, postgres_url: str, session_seconds: int, back: int
) -> None:
    broker = Mosquitto(tmp_path / "broker")
    await prepared(tmp_path, postgres_url)
    with broker.running():
        plan = Plan(
            "mqtt", broker.url, postgres_url, str(tmp_path), ("a",), 10, session_seconds=session_seconds, stalling=5
        )
        happens = asyncio.create_task(lived(plan))
        await until(lambda: bool(list(tmp_path.glob("joined-*"))))
        await asyncio.to_thread(publish_mqtt, broker.port, *map(body, range(10)))
        assert await happens == {"killed": 1, "accepted": 5, "stalled": 5}
        # The same client again, which is well now; a message more says that all before it were delivered.
        (tmp_path / "joined-a").unlink()
        (tmp_path / STALLED).unlink()
        again = asyncio.create_task(lived(replace(plan, stalling=None, events=5 + back + 1)))
        await until((tmp_path / "joined-a").exists)
        await asyncio.to_thread(publish_mqtt, broker.port, body(10))
        assert await again == {"killed": 0, "accepted": 5 + back + 1, "stalled": 0}
