"""Events from a real NATS server: by JetStream acknowledged once they are kept, by core NATS at most once before that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import voluptuous as vol

from siteward.core.contract.registry import Provenance
from siteward.core.errors import NotReady
from siteward.integrations import nats
from tests.events.brokers import NatsServer, body, make_stream, nats_client, publish_core, publish_stream, until
from tests.integrations.bus import Bus, connected, tracks

STREAM = {"subject": "site.*.events", "carries": "sensor", "stream": "EVENTS"}
CORE = {"subject": "apps.>", "carries": "app"}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    made = NatsServer(tmp_path / "server")
    with made.running():
        await make_stream(made.port, "EVENTS", "site.*.events")
        yield made


def settings(server: NatsServer, *subjects: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"server": server.url, "subjects": list(subjects) or [STREAM], **more}


async def unacknowledged(server: NatsServer) -> int:
    """How many messages the group holds whose acknowledgement the server waits for."""
    async with nats_client(server.port) as client:
        (consumer,) = await client.jetstream().consumers_info("EVENTS")
        return consumer.num_ack_pending or 0


async def test_messages_of_both_kinds_become_events(server: NatsServer) -> None:
    host = Bus()
    async with connected(nats, host, settings(server, STREAM, CORE)):
        await publish_stream(server.port, body(1, source="yard"))
        await publish_core(server.port, body(2, provenance="sensor"), subject="apps.plates.seen")
        await until(lambda: host.emitted == 2)
    events = {event.payload["track"]: event for event in host.events.values()}
    assert (events["t1"].id, events["t1"].source, events["t1"].provenance) == (
        "nats:yard:e1",
        "nats:yard",
        Provenance.SENSOR,
    )
    assert (events["t2"].id, events["t2"].source, events["t2"].provenance) == ("nats:e2", "nats", Provenance.APP)


async def test_jetstream_hears_of_a_message_only_when_it_is_kept(server: NatsServer) -> None:
    host = Bus()
    host.open.clear()
    async with connected(nats, host, settings(server)):
        await publish_stream(server.port, *map(body, range(5)))
        await until(lambda: host.in_hand == 5)
        assert await unacknowledged(server) == 5
        host.open.set()
        await until(lambda: host.emitted == 5)
    assert await unacknowledged(server) == 0


async def test_what_was_not_kept_when_the_process_stopped_comes_again(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("siteward.core.events.transport.DRAIN_SECONDS", 0.2)
    host, again = Bus(), Bus()
    host.refuses = NotReady("the database is away")
    async with connected(nats, host, settings(server) | {"ack_wait": 1}):
        await publish_stream(server.port, *map(body, range(5)))
        await until(lambda: host.most_in_hand > 0)
    await publish_stream(server.port, *map(body, range(5, 10)))  # nobody is there
    async with connected(nats, again, settings(server) | {"ack_wait": 1}):
        await until(lambda: len(again.events) == 10)
    assert (host.tracks, sorted(again.tracks)) == ([], sorted(tracks(*range(10))))


async def test_the_server_goes_and_comes_back(server: NatsServer, caplog: pytest.LogCaptureFixture) -> None:
    host = Bus()
    async with connected(nats, host, settings(server)) as transport:
        await publish_stream(server.port, *map(body, range(3)))
        await until(lambda: host.emitted == 3)
        await asyncio.to_thread(server.stop)
        await until(lambda: "cannot be reached" in transport.problem)
        await asyncio.to_thread(server.start)
        await publish_stream(server.port, *map(body, range(3, 6)))
        await until(lambda: len(host.events) == 6)
        assert (transport.problem, transport.facts()["connections"]) == ("", 2)
    said = [record.getMessage() for record in caplog.records if "It is tried again" in record.getMessage()]
    assert len(said) == 1


async def test_a_server_that_is_not_there_yet_fails_nothing(tmp_path: Path) -> None:
    late, host = NatsServer(tmp_path / "server"), Bus()
    async with connected(nats, host, settings(late, CORE), at_once=False) as transport:
        await until(lambda: "cannot be reached" in transport.problem)
        with late.running():
            await until(lambda: transport.facts()["connections"] == 1)
            await publish_core(late.port, body(1), subject="apps.x")
            await until(lambda: host.emitted == 1)


async def test_a_stream_that_is_not_there_is_said_and_found_when_it_is(server: NatsServer) -> None:
    host = Bus()
    other = {"subject": "later.events", "carries": "sensor", "stream": "LATER"}
    async with connected(nats, host, settings(server, other), at_once=False) as transport:
        await until(lambda: "there is no stream LATER" in transport.problem)
        await make_stream(server.port, "LATER", "later.*")
        await until(lambda: transport.facts()["connections"] == 1)
        await publish_stream(server.port, body(1), subject="later.events")
        await until(lambda: host.emitted == 1)


async def test_a_stream_that_is_taken_away_is_noticed(server: NatsServer) -> None:
    host = Bus()
    async with connected(nats, host, settings(server)) as transport:
        async with nats_client(server.port) as client:
            await client.jetstream().delete_stream("EVENTS")
        await until(lambda: bool(transport.problem))
        await make_stream(server.port, "EVENTS", "site.*.events")
        await until(lambda: transport.facts()["connections"] > 1)
        await publish_stream(server.port, body(1))
        await until(lambda: host.emitted == 1)


@pytest.mark.parametrize(("kind", "send"), [(STREAM, publish_stream), (CORE, publish_core)], ids=["jetstream", "core"])
async def test_two_processes_share_the_messages_and_each_is_taken_once(
    server: NatsServer, kind: Mapping[str, Any], send: Any
) -> None:
    north, south = Bus("north"), Bus("south")
    subject = "site.gate.events" if kind is STREAM else "apps.x"
    async with connected(nats, north, settings(server, kind)), connected(nats, south, settings(server, kind)):
        await send(server.port, *map(body, range(200)), subject=subject)
        await until(lambda: north.emitted + south.emitted == 200)
    assert sorted([*north.tracks, *south.tracks]) == sorted(tracks(*range(200)))
    assert north.emitted > 0 and south.emitted > 0


async def test_a_process_that_stands_still_holds_up_only_what_it_asked_for(server: NatsServer) -> None:
    stuck, well = Bus("stuck"), Bus("well")
    stuck.open.clear()
    async with connected(nats, stuck, settings(server, in_flight=8)):
        async with connected(nats, well, settings(server, in_flight=8)):
            await publish_stream(server.port, *map(body, range(200)))
            await until(lambda: well.emitted + stuck.in_hand == 200)
            assert stuck.in_hand <= 8
        stuck.open.set()
        await until(lambda: well.emitted + stuck.emitted == 200)


async def test_a_process_that_stops_gives_back_what_it_asked_for(server: NatsServer) -> None:
    north, south = Bus("north"), Bus("south")
    async with connected(nats, south, settings(server)):
        async with connected(nats, north, settings(server)) as transport:
            await publish_stream(server.port, *map(body, range(20)))
            await until(lambda: north.emitted + south.emitted == 20)
            await transport.leave()
        await publish_stream(server.port, *map(body, range(20, 40)))
        await until(lambda: len({*north.tracks, *south.tracks}) == 40)


async def test_no_more_is_in_flight_than_the_settings_say(server: NatsServer) -> None:
    host = Bus()
    host.open.clear()
    async with connected(nats, host, settings(server, in_flight=4)):
        await publish_stream(server.port, *map(body, range(50)))
        await until(lambda: host.in_hand == 4)
        assert await unacknowledged(server) == 4
        host.open.set()
        await until(lambda: host.emitted == 50)
    assert host.most_in_hand == 4


async def test_what_core_nats_sent_is_taken_before_a_stop(server: NatsServer) -> None:
    host = Bus()
    host.open.clear()
    async with connected(nats, host, settings(server, CORE, in_flight=4)):
        await publish_core(server.port, *map(body, range(20)), subject="apps.x")
        await until(lambda: host.in_hand == 4)
        asyncio.get_running_loop().call_later(0.1, host.open.set)
    assert len(host.tracks) == 20


async def test_what_is_no_event_is_refused_and_does_not_come_again(server: NatsServer) -> None:
    host = Bus()
    async with connected(nats, host, settings(server, STREAM | {"types": ["doorbell"]})) as transport:
        await publish_stream(server.port, b"not an event", body(1), body(2, "doorbell"))
        await until(lambda: host.emitted == 1 and sum(transport.facts()["refused"].values()) == 2)
        assert transport.facts()["refused"] == {"message.not_json": 1, "message.type": 1}
    assert (await unacknowledged(server), host.tracks) == (0, tracks(2))


async def test_a_wrong_token_is_said_and_tried_again(tmp_path: Path) -> None:
    guarded = NatsServer(tmp_path / "server", "--auth", "right")
    with guarded.running():
        async with connected(nats, Bus(), settings(guarded, CORE, token="wrong"), at_once=False) as wrong:
            await until(lambda: bool(wrong.problem))
            assert "refused us: check `user` and `password`, or `token`" in wrong.problem
        async with connected(nats, Bus(), settings(guarded, CORE, token="right")):
            pass


async def test_a_server_elsewhere_must_be_a_listed_destination() -> None:
    elsewhere = {"server": "nats://192.0.2.7", "subjects": [CORE]}
    async with connected(nats, Bus(), elsewhere, at_once=False) as transport:
        await until(lambda: bool(transport.problem))
        assert "192.0.2.7:4222 is not a listed destination" in transport.problem


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"server": "mqtt://x"}, "an address such as nats://"),
        ({"server": "nats://user:secret@x"}, "an address such as nats://"),
        ({"subjects": []}, "length of value"),
        ({"subjects": [{"subject": "a.>.b", "carries": "sensor"}]}, "a subject is expected"),
        ({"subjects": [{"subject": "a b", "carries": "sensor"}]}, "a subject is expected"),
        ({"subjects": [{"subject": "$JS.x", "carries": "sensor"}]}, "a subject is expected"),
        ({"subjects": [{"subject": "a", "carries": "list"}]}, "one of sensor, app, ai"),
        ({"subjects": [{"subject": "a", "carries": "app", "stream": "a.b"}]}, "a stream is up to 64"),
        ({"token": "x", "user": "y"}, "not for both"),
        ({"ack_wait": 0}, "value must be at least 1"),
    ],
)
def test_wrong_settings_are_refused(wrong: Mapping[str, Any], why: str) -> None:
    with pytest.raises(vol.Invalid) as refused:
        nats.siteward_config_schema()({"server": "nats://x", "subjects": [CORE]} | dict(wrong))
    assert why in str(refused.value)
