"""Events from a real Mosquitto: acknowledged once they are kept, through whatever happens to the broker, the connection or this process."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import voluptuous as vol

from siteward.core.contract.registry import Provenance
from siteward.core.errors import NotReady
from siteward.core.plugins.objects import EventTransport
from siteward.integrations import mqtt
from tests.events.brokers import Mosquitto, body, mqtt_publisher, publish_mqtt, until
from tests.integrations.bus import Bus, connected, tracks

TOPIC = {"topic": "site/+/events", "carries": "sensor"}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    made = Mosquitto(tmp_path / "broker")
    with made.running():
        yield made


def settings(broker: Mosquitto, *topics: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"broker": broker.url, "topics": list(topics) or [TOPIC], **more}


async def publish(broker: Mosquitto, *bodies: bytes, **more: Any) -> None:
    await asyncio.to_thread(publish_mqtt, broker.port, *bodies, **more)


async def test_a_message_becomes_an_event(broker: Mosquitto) -> None:
    host = Bus()
    async with connected(mqtt, host, settings(broker)):
        await publish(broker, body(1, source="yard", chain=2))
        await until(lambda: host.emitted == 1)
    (event,) = host.events.values()
    assert (event.id, event.source, event.provenance) == ("mqtt:yard:e1", "mqtt:yard", Provenance.SENSOR)
    assert (event.type, event.camera, event.chain) == ("detect.vehicle_in_zone", "cam-1", 2)


async def test_what_was_not_kept_when_the_process_stopped_comes_again(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("siteward.core.events.transport.DRAIN_SECONDS", 0.2)
    host = Bus()
    host.refuses = NotReady("the database is away")
    async with connected(mqtt, host, settings(broker)):
        await publish(broker, *map(body, range(5)))
        await until(lambda: host.most_in_hand > 0)
    assert host.tracks == []
    await publish(broker, *map(body, range(5, 10)))  # nobody is there
    again = Bus()
    async with connected(mqtt, again, settings(broker)):
        await until(lambda: again.emitted == 10)
        await publish(broker, body(10))
        await until(lambda: again.emitted >= 11)
    assert sorted(again.tracks) == sorted(tracks(*range(11)))
    assert again.emitted == 11


async def test_what_was_in_hand_when_the_process_stopped_is_acknowledged_before(broker: Mosquitto) -> None:
    host, again = Bus(), Bus()
    host.open.clear()
    async with connected(mqtt, host, settings(broker)):
        await publish(broker, *map(body, range(5)))
        await until(lambda: host.in_hand == 5)
        asyncio.get_running_loop().call_later(0.1, host.open.set)
    assert sorted(host.tracks) == tracks(*range(5))
    await until(lambda: "Client siteward-site-main disconnected" in broker.log)  # it has read what we sent
    async with connected(mqtt, again, settings(broker)):
        await publish(broker, body(5))
        await until(lambda: again.emitted >= 1)
    assert again.tracks == tracks(5)


async def test_the_broker_goes_and_comes_back(broker: Mosquitto, caplog: pytest.LogCaptureFixture) -> None:
    host = Bus()
    async with connected(mqtt, host, settings(broker)) as transport:
        await publish(broker, *map(body, range(3)))
        await until(lambda: host.emitted == 3)
        broker.stop()
        await until(lambda: bool(transport.problem))
        await until(lambda: "cannot be reached: Connection refused" in transport.problem)
        broker.start()
        await publish(
            broker, *map(body, range(3, 6))
        )  # before we are back, as like as not: the broker has our subscription
        await until(lambda: len(host.events) == 6)
        await until(lambda: (transport.problem, transport.facts()["connections"]) == ("", 2))
    assert sorted(host.tracks) == tracks(*range(6))
    said = [record.getMessage() for record in caplog.records if "It is tried again" in record.getMessage()]
    assert len(said) == 1


async def test_a_broker_that_is_not_there_yet_fails_nothing(tmp_path: Path) -> None:
    late, host = Mosquitto(tmp_path / "broker"), Bus()
    async with connected(mqtt, host, settings(late), at_once=False) as transport:
        await until(lambda: "cannot be reached: Connection refused" in transport.problem)
        with late.running():
            await until(lambda: transport.facts()["connections"] == 1)
            await publish(late, body(1))
            await until(lambda: host.emitted == 1)
            assert transport.problem == ""


async def test_no_more_is_in_flight_than_the_settings_say(broker: Mosquitto) -> None:
    host = Bus()
    host.open.clear()
    async with connected(mqtt, host, settings(broker, in_flight=4)):
        await publish(broker, *map(body, range(50)))
        await until(lambda: host.in_hand == 4)
        await publish(broker, b"at the broker")  # it answers: whatever it would send has been sent
        assert host.in_hand == 4
        host.open.set()
        await until(lambda: host.emitted == 50)
    assert host.most_in_hand == 4


async def test_acknowledgements_leave_in_the_order_in_which_messages_came(broker: Mosquitto) -> None:
    host = Bus()
    turn: dict[str, asyncio.Event] = {f"t{number}": asyncio.Event() for number in range(6)}
    emit = host.emit

    async def in_turn(event: Any) -> None:
        await turn[event.payload["track"]].wait()
        await emit(event)

    host.emit = in_turn  # type: ignore[method-assign]
    async with watched(broker) as (port, wire):
        async with connected(mqtt, host, settings(broker) | {"broker": f"mqtt://127.0.0.1:{port}"}):
            await publish(broker, *map(body, range(6)))
            await until(lambda: len(wire["PUBLISH"]) == 6)
            for number in (5, 3, 4, 1, 2):
                turn[f"t{number}"].set()
            await until(lambda: host.emitted == 5)
            assert wire["PUBACK"] == []  # the first is not kept yet: [MQTT-4.6.0-2]
            turn["t0"].set()
            await until(lambda: len(wire["PUBACK"]) == 6)
    assert wire["PUBACK"] == wire["PUBLISH"]


async def test_two_processes_share_the_messages_and_each_is_taken_once(broker: Mosquitto) -> None:
    north, south = Bus("north"), Bus("south")
    shared = settings(broker, group="engines")
    async with connected(mqtt, north, shared), connected(mqtt, south, shared):
        await publish(broker, *map(body, range(100)))
        await until(lambda: north.emitted + south.emitted == 100)
    assert sorted([*north.tracks, *south.tracks]) == sorted(tracks(*range(100)))
    assert north.emitted > 0 and south.emitted > 0


async def test_a_replica_that_is_removed_takes_what_is_held_for_it_and_is_sent_nothing_more(broker: Mosquitto) -> None:
    north, south = Bus("north"), Bus("south")
    shared = settings(broker, group="engines")
    async with connected(mqtt, north, shared):
        async with connected(mqtt, south, shared):
            pass
        await publish(broker, *map(body, range(20)))
        await until(lambda: north.emitted == 10)  # the broker holds every second one for the session of south
        async with connected(mqtt, south, shared) as transport:
            await transport.leave()
        assert south.emitted == 10
        await publish(broker, *map(body, range(20, 40)))
        await until(lambda: north.emitted == 30)
    assert sorted([*north.tracks, *south.tracks]) == sorted(tracks(*range(40)))


async def test_two_processes_of_one_name_are_told_so(broker: Mosquitto) -> None:
    async with connected(mqtt, Bus(), settings(broker)) as first:
        async with connected(mqtt, Bus(), settings(broker)) as second:
            await until(lambda: "is another process connected under the same name?" in first.problem + second.problem)


async def test_a_broker_that_says_so_is_believed() -> None:
    async def take_over(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(bytes.fromhex("20 03 00 00 00"))  # CONNACK: welcome
        packet = await reader.read(1000)  # SUBSCRIBE, whose packet id the answer bears
        writer.write(bytes.fromhex("90 04") + packet[2:4] + bytes.fromhex("00 01"))
        writer.write(bytes.fromhex("e0 02 8e 00"))  # DISCONNECT: session taken over
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(take_over, "127.0.0.1", 0)
    here = {"broker": f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}", "topics": [TOPIC]}
    async with server:
        async with connected(mqtt, Bus(), here) as transport:
            await until(lambda: "Somebody else uses our client id siteward-site-main" in transport.problem)


async def test_what_is_no_event_is_refused_and_does_not_come_again(broker: Mosquitto) -> None:
    host, again = Bus(), Bus()
    async with connected(mqtt, host, settings(broker, TOPIC | {"types": ["doorbell"]})) as transport:
        await publish(broker, b"not an event", body(1), body(2, "doorbell"))
        await until(lambda: host.emitted == 1)
        await until(lambda: sum(transport.facts()["refused"].values()) == 2)
        assert transport.facts()["refused"] == {"message.not_json": 1, "message.type": 1}
    async with connected(mqtt, again, settings(broker)):
        await publish(broker, body(3))
        await until(lambda: again.emitted == 1)
    assert (host.tracks, again.tracks) == (tracks(2), tracks(3))


async def test_a_message_that_two_topics_fit_is_trusted_as_the_less_trusted_one(broker: Mosquitto) -> None:
    host = Bus()
    wide = {"topic": "site/#", "carries": "app"}
    async with connected(mqtt, host, settings(broker, TOPIC, wide)):
        await publish(broker, body(1))
        await publish(broker, body(2), topic="site/gate/else")
        await until(lambda: host.emitted == 3)  # the broker sends it once for each filter; the host knows the id
    assert {event.payload["track"]: event.provenance for event in host.events.values()} == {
        "t1": Provenance.APP,
        "t2": Provenance.APP,
    }


async def test_messages_without_acknowledgement_come_as_far_as_there_is_room(broker: Mosquitto) -> None:
    host = Bus()
    host.open.clear()
    async with connected(mqtt, host, settings(broker, in_flight=4)) as transport:
        await publish(broker, *map(body, range(10)), qos=0)
        await until(lambda: host.in_hand + transport.facts()["refused"].get("message.no_room", 0) == 10)
        host.open.set()
        await until(lambda: host.emitted == 4)
        assert transport.facts()["refused"] == {"message.no_room": 6}


async def test_a_wrong_password_is_said_and_tried_again(tmp_path: Path) -> None:
    passwords = tmp_path / "passwords"
    passwords.touch(mode=0o600)
    await asyncio.to_thread(
        subprocess.run, ["mosquitto_passwd", "-b", str(passwords), "siteward", "right"], check=True, capture_output=True
    )
    guarded, host = Mosquitto(tmp_path / "broker", f"password_file {passwords}"), Bus()
    with guarded.running():
        async with connected(mqtt, host, settings(guarded, user="siteward", password="wrong"), at_once=False) as wrong:
            await until(lambda: bool(wrong.problem))
            assert "check `user` and `password`" in wrong.problem
            assert "wrong" not in str(wrong.facts())
        async with connected(mqtt, host, settings(guarded, user="siteward", password="right")):
            pass


async def test_a_broker_elsewhere_must_be_a_listed_destination() -> None:
    elsewhere = {"broker": "mqtt://192.0.2.7", "topics": [TOPIC]}
    async with connected(mqtt, Bus(), elsewhere, at_once=False) as transport:
        await until(lambda: bool(transport.problem))
        assert "192.0.2.7:1883 is not a listed destination" in transport.problem


async def test_a_certificate_is_checked_against_the_name_of_the_broker(tmp_path: Path) -> None:
    for name, host_name in (("good", "localhost"), ("other", "elsewhere.example")):
        await asyncio.to_thread(certificate, tmp_path / name, host_name)
    for name, works in (("good", True), ("other", False)):
        files = tmp_path / name
        lines = (f"certfile {files}.crt", f"keyfile {files}.key", "allow_anonymous true")
        secure = Mosquitto(tmp_path / f"broker-{name}", *lines)
        host = Bus()
        url = {"broker": f"mqtts://localhost:{secure.port}", "ca": f"{files}.crt"}
        with secure.running():
            async with connected(mqtt, host, settings(secure) | url, at_once=False) as transport:
                await until(partial(tried, transport))
                assert (transport.problem == "") is works
                assert works or "its certificate was not accepted" in transport.problem


async def test_what_is_no_mqtt_is_said_to_be_none() -> None:
    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 20)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(shout, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        here = {"broker": f"mqtt://127.0.0.1:{port}", "topics": [TOPIC]}
        async with connected(mqtt, Bus(), here, at_once=False) as transport:
            await until(lambda: bool(transport.problem))


async def test_a_connection_that_breaks_with_messages_in_hand_brings_them_again(broker: Mosquitto) -> None:
    host = Bus()
    host.open.clear()
    async with watched(broker) as (port, wire):
        here = settings(broker) | {"broker": f"mqtt://127.0.0.1:{port}"}
        async with connected(mqtt, host, here) as transport:
            await publish(broker, *map(body, range(3)))
            await until(lambda: host.in_hand == 3)
            for writer in wire["writers"]:
                writer.transport.abort()
            host.open.set()
            await until(lambda: transport.facts()["connections"] == 2)
            await publish(broker, body(3))
            await until(lambda: len(host.events) == 4)
            await until(lambda: len(wire["PUBACK"]) >= 4)
    assert host.tracks == tracks(*range(4))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"broker": "http://x"}, "an address such as mqtt://"),
        ({"broker": "mqtt://user:secret@x"}, "an address such as mqtt://"),
        ({"topics": []}, "length of value"),
        ({"topics": [{"topic": "a/#/b", "carries": "sensor"}]}, "whole last one"),
        ({"topics": [{"topic": "a/b+", "carries": "sensor"}]}, "whole level"),
        ({"topics": [{"topic": "$share/g/a", "carries": "sensor"}]}, "a topic filter"),
        ({"topics": [{"topic": "a", "carries": "person"}]}, "one of sensor, app, ai"),
        ({"session": "59m"}, "at least 1h"),
        ({"session": "soon"}, "not a duration"),
        ({"group": "a/b"}, "up to 64 letters"),
        ({"in_flight": 0}, "value must be at least 1"),
    ],
)
def test_wrong_settings_are_refused(wrong: Mapping[str, Any], why: str) -> None:
    with pytest.raises(vol.Invalid) as refused:
        mqtt.siteward_config_schema()({"broker": "mqtt://x", "topics": [TOPIC]} | dict(wrong))
    assert why in str(refused.value)


def tried(transport: EventTransport) -> bool:
    return bool(transport.problem) or transport.facts()["connections"] > 0


# -- between the broker and us -----------------------------------------------------------------------------------------
@asynccontextmanager
async def watched(broker: Mosquitto) -> AsyncIterator[tuple[int, dict[str, list[Any]]]]:
    """A way to the broker on which the packet ids of messages and acknowledgements are written down, in their order."""
    wire: dict[str, list[Any]] = {"PUBLISH": [], "PUBACK": [], "writers": []}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", broker.port)
        wire["writers"].append(writer)
        ways = (pump(reader, back, wire), pump(there, writer, wire))
        try:
            await asyncio.gather(*ways)
        finally:
            back.close()
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], wire


async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter, wire: dict[str, list[Any]]) -> None:
    """Hand on whole packets (MQTT 5, 2.1.4: a length of up to four bytes, seven bits each)."""
    try:
        while True:
            first, length, shift, head = await source.readexactly(1), 0, 0, b""
            while not head or head[-1] & 0x80:
                head += await source.readexactly(1)
                length |= (head[-1] & 0x7F) << shift
                shift += 7
            rest = await source.readexactly(length)
            kind = first[0] >> 4
            if kind == 3 and (first[0] >> 1) & 3:
                topic = int.from_bytes(rest[:2])
                wire["PUBLISH"].append(int.from_bytes(rest[2 + topic : 4 + topic]))
            if kind == 4:
                wire["PUBACK"].append(int.from_bytes(rest[:2]))
            target.write(first + head + rest)
            await target.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        target.close()


def certificate(files: Path, host_name: str) -> None:
    """A certificate that vouches for itself."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={host_name}",
         "-addext", f"subjectAltName=DNS:{host_name}", "-keyout", f"{files}.key", "-out", f"{files}.crt"],
        check=True, capture_output=True,
    )  # fmt: skip


def test_the_publisher_of_these_tests_hears_the_brokers_word(broker: Mosquitto) -> None:
    with mqtt_publisher(broker.port) as client:
        info = client.publish("x", b"y", qos=1)
        info.wait_for_publish(20)
        assert info.is_published()
