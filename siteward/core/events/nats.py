"""NATS: JetStream consumers that the replicas of a site share, each message acknowledged after its event is committed; and queue groups of core NATS,
which know no acknowledgement: what a process had received and not committed when it died is lost.

A JetStream consumer is pulled from: a process is sent only what it asked for, so that one that is frozen or slow holds up no more than that. (With
a deliver group the server goes on pushing to it, until all that may be unacknowledged waits there.)
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.errors import SlowConsumerError
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import APIError, NotFoundError

from siteward.core.errors import AuthFailed, NotReady, SitewardError

from .envelope import Origin
from .intake import Intake, Message
from .transport import Reach

CONNECT_SECONDS: Final = 10.0
PULL_SECONDS: Final = 30.0
"""How long one request for messages stands open at the server."""
AGAIN_SECONDS: Final = 1.0
PENDING_BATCHES: Final = 16
"""How many times `in_flight` messages of core NATS wait in this process before more are dropped, and counted."""
_REQUEST_ENDED: Final = frozenset({"404", "408"})
_CONSUMER_GONE: Final = frozenset({"400", "503"})


@dataclass(frozen=True, slots=True)
class NatsSubject:
    """A subject with what it carries. With a `stream` it is read from JetStream and acknowledged; without one it is core NATS."""

    subject: str
    origin: Origin
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class NatsSettings:
    """A server and what is wanted from it. `group` is shared by those that share the messages; `client` names this process to people who
    look at the server; `ca` is a file. After `ack_wait` seconds without acknowledgement the server gives a message to somebody else."""

    url: str
    client: str
    group: str
    subjects: tuple[NatsSubject, ...]
    user: str | None = None
    password: str | None = None
    token: str | None = None
    ca: str | None = None
    in_flight: int = 64
    ack_wait: float = 30.0


class NatsBroker:
    """A NATS server (`nats://host:4222`, `tls://host:4222`)."""

    def __init__(self, settings: NatsSettings, reach: Reach) -> None:
        self._settings = settings
        self._reach = reach
        self._scheme, _, rest = settings.url.partition("://")
        address = rest.rstrip("/")
        host, _, port = address.rpartition(":") if address.rpartition(":")[2].isdigit() else (address, "", "")
        self._host = host.strip("[]")
        self._port = int(port or 4222)

    @property
    def name(self) -> str:
        return f"The NATS server {self._host}:{self._port}"

    @asynccontextmanager
    async def connect(self, intake: Intake) -> AsyncIterator[NatsLink]:
        """Connect, and subscribe to or pull from everything that is wanted."""
        context = await self._context()
        link = NatsLink(self._settings, self.name, intake)
        try:
            async with self._reach(self._settings.url) as addresses:
                hosts = [f"[{one}]" if ":" in one else one for one in addresses]
                await link.open([f"{self._scheme}://{one}:{self._port}" for one in hosts], context, self._host)
            await link.subscribe()
            yield link
        finally:
            await link.close()

    async def _context(self) -> ssl.SSLContext | None:
        if self._scheme != "tls":
            return None
        try:
            return await asyncio.to_thread(ssl.create_default_context, cafile=self._settings.ca)
        except OSError as error:
            raise NotReady(f"{self.name}: its certificates in {self._settings.ca} cannot be read ({error}).") from error


class NatsLink:
    """One connection."""

    def __init__(self, settings: NatsSettings, name: str, intake: Intake) -> None:
        self._settings = settings
        self._name = name
        self._intake = intake
        self._client = Client()
        self._lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._said = ""
        self._core: dict[Subscription, Origin] = {}
        self._pulls: list[asyncio.Task[None]] = []
        self._takes = True
        self._is_open = False

    # -- the protocol of a link ----------------------------------------------------------------------------------------
    async def lost(self) -> str:
        return await asyncio.shield(self._lost)

    async def stop_taking(self) -> None:
        """What JetStream has sent and is not taken goes back to it; what core NATS has sent is taken, since nobody has it but we."""
        self._takes = False
        for pull in self._pulls:
            pull.cancel()
        with suppress(NatsError):
            await asyncio.gather(*(one.drain() for one in self._core))  # type: ignore[no-untyped-call]

    async def leave(self) -> bool:
        """The server holds nothing for one process: its group has it."""
        return not self._lost.done()

    # -- opening and closing -------------------------------------------------------------------------------------------
    async def open(self, servers: list[str], context: ssl.SSLContext | None, host: str) -> None:
        """Connect to the first address that answers. Raises `NotReady`, `AuthFailed`."""
        settings = self._settings
        self._is_open = True
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._client.connect(
                    servers,
                    name=settings.client,
                    error_cb=self._on_error,
                    closed_cb=self._on_closed,
                    # The transport connects again itself, by addresses that the site's egress gate resolved anew.
                    allow_reconnect=False,
                    max_reconnect_attempts=1,
                    reconnect_time_wait=0,
                    dont_randomize=True,
                    connect_timeout=int(CONNECT_SECONDS / 2),
                    ping_interval=20,
                    max_outstanding_pings=2,
                    user=settings.user,
                    password=settings.password,
                    token=settings.token,
                    tls=context,
                    tls_hostname=host if context is not None else None,
                )
        except TimeoutError:
            raise NotReady(f"{self._name} did not answer within {CONNECT_SECONDS:g} seconds.") from None
        except (NatsError, OSError) as error:
            said = self._said or str(error)
            if "authorization" in said.lower() or "authentication" in said.lower():
                raise AuthFailed(f"{self._name} refused us: check `user` and `password`, or `token`.") from error
            raise NotReady(f"{self._name} cannot be reached: {said}. Is it on, and is the address right?") from error

    async def subscribe(self) -> None:
        """Open every subject. Raises `NotReady` where the server has not what the configuration names."""
        pulled = [one for one in self._settings.subjects if one.stream is not None]
        for one in self._settings.subjects:
            try:
                if one.stream is None:
                    await self._join(one)
                else:
                    most = max(1, self._settings.in_flight // len(pulled))
                    consumer = await self._consumer(one.stream, one.subject)
                    self._pulls.append(asyncio.create_task(self._pull(one, one.stream, consumer, most)))
            except (NatsError, TimeoutError) as error:
                raise NotReady(f"{self._name}: {_why(one, error)}") from error

    async def close(self) -> None:
        """Disconnect; what was acknowledged is sent before."""
        for pull in self._pulls:
            pull.cancel()
        await asyncio.gather(*self._pulls, return_exceptions=True)
        if self._is_open:
            with suppress(NatsError, OSError):
                await self._client.close()

    # -- core NATS -----------------------------------------------------------------------------------------------------
    async def _join(self, one: NatsSubject) -> None:
        async def received(message: Msg) -> None:
            await self._intake.wait_for_room()
            self._intake.take(Message(message.data, one.origin))

        waiting = PENDING_BATCHES * self._settings.in_flight
        joined = await self._client.subscribe(
            one.subject, queue=self._settings.group, cb=received, pending_msgs_limit=waiting
        )
        self._core[joined] = one.origin

    # -- JetStream -----------------------------------------------------------------------------------------------------
    async def _consumer(self, stream: str, subject: str) -> str:
        """The consumer that this site's processes share, made where it is not there: it begins with what comes from now on."""
        digest = hashlib.sha256(subject.encode()).hexdigest()[:8]
        durable = f"{self._settings.group}-{digest}"
        config = ConsumerConfig(
            durable_name=durable,
            deliver_policy=DeliverPolicy.NEW,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=self._settings.ack_wait,
            filter_subject=subject,
        )
        await self._client.jetstream().add_consumer(stream, config)
        return durable

    async def _pull(self, one: NatsSubject, stream: str, consumer: str, most: int) -> None:
        """Ask for as many messages as there is room for, again and again. The request stands open at the server, which sends each message as it
        comes; it ends when all came, or when its time is over."""
        try:
            inbox = self._client.new_inbox()
            request = _Request()

            async def received(message: Msg) -> None:
                status = (message.headers or {}).get("Status")
                if status is not None and not message.data:
                    request.end(status, (message.headers or {}).get("Description", ""))
                    return
                request.got()
                await self._take(message, one.origin)

            await self._client.subscribe(inbox, cb=received)
            while room := min(most, await self._intake.wait_for_room()):
                request.begin(room)
                asked = {"batch": room, "expires": int(PULL_SECONDS * 1e9)}
                await self._client.publish(
                    f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", json.dumps(asked).encode(), reply=inbox
                )
                if why := await request.ended():
                    raise NotReady(f"{self._name}: {consumer} of the stream {stream} gives nothing: {why}.")
        except Exception as error:  # noqa: BLE001 (whatever it is: without this task nothing would come and nothing would be said)
            if not self._lost.done():
                self._lost.set_result(error.sentence if isinstance(error, SitewardError) else f"It broke ({error}).")

    async def _take(self, message: Msg, origin: Origin) -> None:
        if not self._takes or not self._intake.is_open:
            with suppress(NatsError):
                await message.nak()
            return

        async def acknowledge() -> None:
            with suppress(NatsError):  # the connection is gone: the message comes again
                await message.ack()

        self._intake.take(Message(message.data, origin, acknowledge))

    # -- what the server says ------------------------------------------------------------------------------------------
    async def _on_error(self, error: Exception) -> None:
        if isinstance(error, SlowConsumerError):
            origin = self._core.get(error.sub)
            if origin is not None:
                self._intake.refuse_for_room(origin)
            return
        self._said = str(error).removeprefix("nats: ")

    async def _on_closed(self) -> None:
        if not self._lost.done():
            self._lost.set_result(f"The connection to it was lost ({self._said or self._client.last_error}).")


class _Request:
    """One request for messages: how many of it are still to come."""

    def __init__(self) -> None:
        self._left = 0
        self._ended = asyncio.Event()
        self._status = ""
        self._description = ""

    def begin(self, number: int) -> None:
        self._left, self._status, self._description = number, "", ""
        self._ended.clear()

    def got(self) -> None:
        self._left -= 1
        if self._left <= 0:
            self._ended.set()

    def end(self, status: str, description: str) -> None:
        self._status, self._description = status, description
        self._ended.set()

    async def ended(self) -> str:
        """Return once it has ended: empty where another one may follow, else why not."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PULL_SECONDS + AGAIN_SECONDS):  # the server's word may be lost
                await self._ended.wait()
        if self._status in _CONSUMER_GONE or "Deleted" in self._description:
            return self._description or "there is no such consumer"
        if self._status and self._status not in _REQUEST_ENDED:
            await asyncio.sleep(AGAIN_SECONDS)
        return ""


def _why(one: NatsSubject, error: Exception) -> str:
    if isinstance(error, NotFoundError):
        return f"there is no stream {one.stream}; make it, or take `stream` away from the subject {one.subject}."
    if isinstance(error, APIError):
        return f"the stream {one.stream} does not give {one.subject}: {error.description}."
    if one.stream is not None:
        return f"JetStream did not answer ({error}); is it enabled, and may we use it?"
    return f"the subject {one.subject} cannot be subscribed to ({error})."
