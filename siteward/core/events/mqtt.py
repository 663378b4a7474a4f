"""MQTT 5: subscriptions of a session that outlives the connection, each message acknowledged after its event is committed.

With a group they are shared subscriptions: each message goes to one of the group. (Mosquitto 2.0.11 forgets that it has one when it is
started anew, until its client subscribes again; an own subscription it remembers.)

The client library (paho) is driven by the loop, without a thread of its own. Each connection gets a new client: a packet id means something
only within its connection, so that an acknowledgement that comes late must reach no later one.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage, topic_matches_sub
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from siteward.core.errors import AuthFailed, NotReady

from .envelope import MAXIMUM_BYTES, Origin
from .intake import Intake, Message
from .transport import Reach

CONNECT_SECONDS: Final = 5.0
"""How long a name's address, the socket and its TLS may take, each; and the broker's answers to CONNECT, SUBSCRIBE and UNSUBSCRIBE."""
QUIET_SECONDS: Final = 2.0
"""A broker that sent nothing for this long after an UNSUBSCRIBE holds nothing more for us: MQTT has no word for it."""
MISC_SECONDS: Final = 1.0
LARGEST_PACKET: Final = 4 * MAXIMUM_BYTES
"""Told to the broker, which drops what is larger: no publisher can fill this process's memory."""
_REFUSED: Final = frozenset({"Bad user name or password", "Not authorized", "Bad authentication method", "Banned"})


@dataclass(frozen=True, slots=True)
class MqttSettings:
    """A broker and what is wanted from it. `client_id` is the same at each start of this process and another one for each process;
    `group` is that of the processes that share the messages, None where this one gets all; `topics` are filters with what each carries;
    `ca` is a file."""

    url: str
    client_id: str
    group: str | None
    topics: tuple[tuple[str, Origin], ...]
    user: str | None = None
    password: str | None = None
    ca: str | None = None
    session_seconds: int = 24 * 3600
    in_flight: int = 64
    keepalive: int = 30


class MqttBroker:
    """A broker that speaks MQTT 5 (`mqtt://host:1883`, `mqtts://host:8883`)."""

    def __init__(self, settings: MqttSettings, reach: Reach) -> None:
        self._settings = settings
        self._reach = reach
        scheme, _, rest = settings.url.partition("://")
        host, _, port = rest.rstrip("/").rpartition(":") if _has_port(rest) else (rest.rstrip("/"), "", "")
        self._tls = scheme == "mqtts"
        self._host = host.strip("[]")
        self._port = int(port or (8883 if self._tls else 1883))

    @property
    def name(self) -> str:
        return f"The MQTT broker {self._host}:{self._port}"

    @asynccontextmanager
    async def connect(self, intake: Intake) -> AsyncIterator[MqttLink]:
        """Connect, take the session up where it was, and subscribe."""
        link = MqttLink(self._settings, self.name, intake, await self._context())
        try:
            async with self._reach(self._settings.url) as addresses:
                await link.open(addresses, self._port)
            yield link
        finally:
            await link.close()

    async def _context(self) -> _Named | None:
        if not self._tls:
            return None
        try:
            return await asyncio.to_thread(_context_for, self._host, self._settings.ca)
        except OSError as error:
            raise NotReady(f"{self.name}: its certificates in {self._settings.ca} cannot be read ({error}).") from error


def _has_port(rest: str) -> bool:
    return rest.rstrip("/").rpartition(":")[2].isdigit() and not rest.endswith("]")


class _Named(ssl.SSLContext):
    """Checks the certificate against the broker's name, while the connection goes to the address that was resolved before."""

    broker: str
    newest: ssl.SSLSocket | None = None

    def wrap_socket(self, *args: Any, **more: Any) -> ssl.SSLSocket:
        self.newest = super().wrap_socket(*args, **{**more, "server_hostname": self.broker})
        return self.newest

    def drop(self) -> None:
        """Close what the library leaves open where the two could not agree."""
        if self.newest is not None:
            self.newest.close()


def _context_for(host: str, ca: str | None) -> _Named:
    context = _Named(ssl.PROTOCOL_TLS_CLIENT)
    context.broker = host
    if ca is None:
        context.load_default_certs()
    else:
        context.load_verify_locations(ca)
    return context


@dataclass(slots=True)
class _Held:
    """A message that the broker waits for a word on."""

    packet: int
    is_settled: bool = False


class MqttLink:
    """One connection."""

    def __init__(self, settings: MqttSettings, name: str, intake: Intake, context: _Named | None) -> None:
        self._settings = settings
        self._context = context
        self._name = name
        self._intake = intake
        self._loop = asyncio.get_running_loop()
        self._held: deque[_Held] = deque()
        self._newest = self._loop.time()
        self._answers: dict[tuple[str, int], asyncio.Future[list[ReasonCode]]] = {}
        self._connected: asyncio.Future[str] = self._loop.create_future()
        self._lost: asyncio.Future[str] = self._loop.create_future()
        self._takes = True
        self._forget = False
        self._ticking: asyncio.Task[None] | None = None
        self._client = self._made()
        self._origin_of = lru_cache(maxsize=1024)(self._origin)

    # -- the protocol of a link ----------------------------------------------------------------------------------------
    async def lost(self) -> str:
        return await asyncio.shield(self._lost)

    async def stop_taking(self) -> None:
        """What still comes is not acknowledged, and the broker keeps it with the session."""
        self._takes = False

    async def leave(self) -> bool:
        """UNSUBSCRIBE, take what was queued until the broker is quiet, and let the session end with the connection."""
        filters = [self._filter(topic) for topic, _ in self._settings.topics]
        try:
            await self._ask("unsubscribe", lambda: self._client.unsubscribe(filters))
        except NotReady:
            return False
        while not self._lost.done():
            left = self._newest + QUIET_SECONDS - self._loop.time()
            if left <= 0 and not self._held:
                self._forget = True
                return True
            await asyncio.wait((self._lost,), timeout=max(left, 0.05))
        return False

    # -- opening and closing -------------------------------------------------------------------------------------------
    async def open(self, addresses: tuple[str, ...], port: int) -> None:
        """Connect to the first address that answers, and subscribe. Raises `NotReady`, `AuthFailed`."""
        await self._dial(addresses, port)
        loop, client = self._loop, self._client
        sock = client.socket()
        if sock is None:
            raise NotReady(f"{self._name} closed the connection at once.")
        client.on_socket_close = lambda _client, _data, gone: _forgotten(loop, gone)
        client.on_socket_register_write = lambda _client, _data, one: loop.add_writer(one, client.loop_write)
        client.on_socket_unregister_write = lambda _client, _data, one: _unwritten(loop, one)
        loop.add_reader(sock, self._readable, sock)
        if client.want_write():
            loop.add_writer(sock, client.loop_write)
        self._ticking = asyncio.create_task(self._tick(), name=f"keepalive {self._name}")
        await self._answered(self._connected, "CONNECT")
        options = SubscribeOptions(qos=1)
        granted = await self._ask(
            "subscribe",
            lambda: client.subscribe([(self._filter(topic), options) for topic, _ in self._settings.topics]),
        )
        for (topic, _), code in zip(self._settings.topics, granted, strict=True):
            if code.is_failure:
                raise NotReady(f"{self._name} does not let us subscribe to {topic} ({code}).")

    async def close(self) -> None:
        """Disconnect. The broker keeps the session for its time, unless it was left."""
        if self._ticking is not None:
            self._ticking.cancel()
        client = self._client
        if client.socket() is not None:
            expiry = 0 if self._forget else self._settings.session_seconds
            client.disconnect(properties=_properties(PacketTypes.DISCONNECT, SessionExpiryInterval=expiry))
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await asyncio.shield(self._lost)
            except TimeoutError:
                client.loop_write()
        if (sock := client.socket()) is not None:
            _forgotten(self._loop, sock)
            sock.close()

    async def _dial(self, addresses: tuple[str, ...], port: int) -> None:
        problem = "it has no address"
        for address in addresses:
            connecting = self._loop.run_in_executor(None, self._connect, address, port)
            try:
                await asyncio.shield(connecting)
                return
            except asyncio.CancelledError:
                connecting.add_done_callback(self._closed_after)
                raise
            except ssl.SSLError as error:
                problem = f"its certificate was not accepted ({getattr(error, 'verify_message', '') or error.reason})"
            except TimeoutError:
                problem = f"it did not answer within {CONNECT_SECONDS:g} seconds"
            except OSError as error:
                problem = error.strerror or str(error)
        raise NotReady(f"{self._name} cannot be reached: {problem}. Is it on, and is the address right?")

    def _closed_after(self, connecting: asyncio.Future[None]) -> None:
        """Nobody waits for this connection any more."""
        sock = None if connecting.cancelled() or connecting.exception() is not None else self._client.socket()
        if sock is not None:
            sock.close()

    def _connect(self, address: str, port: int) -> None:
        """In a thread: the library connects and shakes hands while it blocks."""
        properties = _properties(
            PacketTypes.CONNECT,
            SessionExpiryInterval=self._settings.session_seconds,
            ReceiveMaximum=self._settings.in_flight,
            MaximumPacketSize=LARGEST_PACKET,
        )
        try:
            self._client.connect(
                address, port, keepalive=self._settings.keepalive, clean_start=False, properties=properties
            )
        except OSError:
            if self._context is not None:
                self._context.drop()
            raise

    def _made(self) -> Client:
        client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=self._settings.client_id,
            protocol=MQTTProtocolVersion.MQTTv5,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        client.connect_timeout = CONNECT_SECONDS
        if self._settings.user is not None:
            client.username_pw_set(self._settings.user, self._settings.password)
        if self._context is not None:
            client.tls_set_context(self._context)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_message = self._on_message
        client.on_subscribe = lambda _c, _d, mid, codes, _p: self._on_answer("subscribe", mid, codes)
        client.on_unsubscribe = lambda _c, _d, mid, codes, _p: self._on_answer("unsubscribe", mid, codes)
        return client

    def _filter(self, topic: str) -> str:
        return topic if self._settings.group is None else f"$share/{self._settings.group}/{topic}"

    # -- what the broker says ------------------------------------------------------------------------------------------
    def _on_connect(
        self, client: Client, data: Any, flags: ConnectFlags, code: ReasonCode, properties: Properties | None
    ) -> None:
        if self._connected.done():
            return
        if code.is_failure:
            self._connected.set_result(str(code))
        elif self._settings.group is not None and getattr(properties, "SharedSubscriptionAvailable", 1) == 0:
            self._connected.set_result("it has no shared subscriptions")
        else:
            self._connected.set_result("")

    def _on_disconnect(
        self, client: Client, data: Any, flags: DisconnectFlags, code: ReasonCode, properties: Properties | None
    ) -> None:
        why = "The connection to it was lost."
        if flags.is_disconnect_packet_from_server:
            why = f"It ended the connection ({code})."
            if str(code) == "Session taken over":
                why = f"Somebody else uses our client id {self._settings.client_id}: does another process of this site run under the same name?"
        _settle(self._lost, why)
        _settle(self._connected, why)
        for answer in self._answers.values():
            answer.cancel()

    def _on_answer(self, what: str, mid: int, codes: list[ReasonCode]) -> None:
        answer = self._answers.get((what, mid))
        if answer is not None and not answer.done():
            answer.set_result(codes)

    def _on_message(self, client: Client, data: Any, message: MQTTMessage) -> None:
        self._newest = self._loop.time()
        if not self._takes or not self._intake.is_open:
            return
        try:
            origin = self._origin_of(message.topic)
        except UnicodeDecodeError:  # the library finds out late that a topic is no text
            origin = self._origin("")
        if message.qos == 0:
            if self._intake.room:
                self._intake.take(Message(bytes(message.payload), origin))
            else:
                self._intake.refuse_for_room(origin)
            return
        held = _Held(message.mid)
        self._held.append(held)

        async def acknowledge() -> None:
            held.is_settled = True
            self._acknowledge()

        self._intake.take(Message(bytes(message.payload), origin, acknowledge))

    def _origin(self, topic: str) -> Origin:
        """What the configuration says of a topic. A message that several filters fit is trusted as the least trusted of them; one that fits
        none, as the least trusted of all."""
        fitting = [origin for one, origin in self._settings.topics if topic_matches_sub(one, topic)]
        origin, *others = fitting or [origin for _, origin in self._settings.topics]
        for other in others:
            origin = origin.narrowed(other)
        return origin

    def _acknowledge(self) -> None:
        """Acknowledge in the order in which the messages came ([MQTT-4.6.0-2]), as far as all of them are settled."""
        while self._held and self._held[0].is_settled:
            packet = self._held.popleft().packet
            if self._client.socket() is not None:
                self._client.ack(packet, 1)

    # -- the socket ----------------------------------------------------------------------------------------------------
    def _readable(self, sock: Any) -> None:
        try:
            self._client.loop_read()
            # What TLS has decrypted already makes the socket readable no more.
            while self._client.socket() is sock and isinstance(sock, ssl.SSLSocket) and sock.pending():
                self._client.loop_read()
        except Exception as error:  # noqa: BLE001 (the library breaks over bytes that are no MQTT in ways of its own)
            _forgotten(self._loop, sock)
            _settle(self._lost, f"It sent something that is no MQTT ({type(error).__name__}: {error}).")
            _settle(self._connected, "it speaks something else than MQTT 5")

    async def _tick(self) -> None:
        """Let the library send its pings and look for their answers."""
        while True:
            if self._client.loop_misc() != MQTTErrorCode.MQTT_ERR_SUCCESS:
                _settle(self._lost, "It did not answer any more.")
                return
            await asyncio.sleep(MISC_SECONDS)

    async def _ask(self, what: str, send: Any) -> list[ReasonCode]:
        _, mid = send()
        if mid is None:
            raise NotReady(f"{self._name}: the connection to it was lost.")
        answer: asyncio.Future[list[ReasonCode]] = self._loop.create_future()
        self._answers[what, mid] = answer
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await asyncio.wait((answer,))
        except TimeoutError:
            raise NotReady(f"{self._name} did not answer to {what}.") from None
        finally:
            del self._answers[what, mid]
        if answer.cancelled():
            raise NotReady(f"{self._name}: the connection to it was lost.")
        return answer.result()

    async def _answered(self, answer: asyncio.Future[str], what: str) -> None:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                problem = await asyncio.shield(answer)
        except TimeoutError:
            raise NotReady(f"{self._name} did not answer to {what}.") from None
        if problem in _REFUSED:
            raise AuthFailed(f"{self._name} refused us ({problem}): check `user` and `password`.")
        if problem:
            raise NotReady(f"{self._name} did not take us: {problem.rstrip('.')}.")


def _settle(future: asyncio.Future[str], value: str) -> None:
    if not future.done():
        future.set_result(value)


def _unwritten(loop: asyncio.AbstractEventLoop, sock: Any) -> None:
    loop.remove_writer(sock)


def _properties(packet: int, **values: int) -> Properties:
    made = Properties(packet)  # type: ignore[no-untyped-call]
    for name, value in values.items():
        setattr(made, name, value)
    return made


def _forgotten(loop: asyncio.AbstractEventLoop, sock: Any) -> None:
    loop.remove_reader(sock)
    loop.remove_writer(sock)
