"""A whole host whose events come from a broker: from the configuration to the run, also when the broker is late."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlalchemy import select

from siteward.core.contract.document import State
from siteward.core.host import Host, open_host
from siteward.core.store.schema import logs
from tests.events.brokers import Mosquitto, body, publish_mqtt, until

WORKFLOW = """\
name: Plates
when: { event: { type: plate.recognized.v1 } }
then: [{ log: "seen {plate}" }]
limits: { cooldown: 0s }
"""


def write_site(folder: Path, broker: Mosquitto) -> None:
    (folder / "secrets.yaml").write_text("secret_of_the_broker: hunter2\n")
    (folder / "configuration.yaml").write_text(
        "name: Site\nintegrations:\n  mqtt:\n"
        f'    broker: "{broker.url}"\n    user: siteward\n    password: !secret secret_of_the_broker\n'
        "    topics: [{ topic: plates/#, carries: sensor }]\n"
    )


def plate(number: int) -> bytes:
    return body(number, "plate.recognized.v1", payload={"plate": f"B SW {number}"})


async def sentence(host: Host) -> str:
    parts = (await host.health())["parts"]
    (said,) = [part["sentence"] for part in parts if part["name"] == "mqtt"]
    return str(said)


async def told(host: Host) -> list[str]:
    await host.engine.drain()
    return [row["message"] for row in await host.site.store.read(select(logs))]


async def test_events_of_a_late_broker_start_workflows_and_outlive_the_host(tmp_path: Path) -> None:
    broker = Mosquitto(tmp_path / "broker")
    write_site(tmp_path, broker)
    async with open_host(tmp_path) as host:
        saved = await host.engine.save_workflow(WORKFLOW, "user:admin")
        await host.engine.set_state(saved.workflow_id, State.ON, "user:admin")
        await host.start()
        (entry,) = [entry for entry in host.set_up.entries if entry.transport is not None]
        transport = entry.transport
        assert transport is not None
        await until(lambda: bool(transport.problem))
        here = f"127.0.0.1:{broker.port}"
        wrong = f"The MQTT broker {here} cannot be reached: Connection refused. Is it on, and is the address right?"
        assert await sentence(host) == wrong
        assert not (await host.health())["ok"]
        with broker.running():
            await until(lambda: transport.facts()["connections"] == 1)
            assert (await sentence(host), (await host.health())["ok"]) == ("", True)
            await publish_plate(broker, 1)
            await until(lambda: transport.facts()["accepted"] == 1)
            assert await told(host) == ["seen B SW 1"]
            assert "hunter2" not in f"{transport.facts()} {await host.health()}"
    with broker.running():
        await publish_plate(broker, 2)  # nobody is there: the session is kept
        async with open_host(tmp_path) as host:
            await host.start()
            (entry,) = [entry for entry in host.set_up.entries if entry.transport is not None]
            again = entry.transport
            assert again is not None
            await until(lambda: again.facts()["accepted"] == 1)
            assert sorted(await told(host)) == ["seen B SW 1", "seen B SW 2"]


async def publish_plate(broker: Mosquitto, number: int) -> None:
    await asyncio.to_thread(publish_mqtt, broker.port, plate(number), topic="plates/north")
