"""A way by which events reach this site from a broker, kept up for ever: connect, take messages, and when the connection is lost, again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from random import Random
from typing import Any, Final, Protocol

from siteward.core.errors import NotReady, SitewardError

from .intake import Counts, Emit, Intake

_LOG = logging.getLogger(__name__)

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 30.0
"""Seconds between two tries to connect, doubling from the first to the longest; each is shortened by chance, up to half, so that the
replicas of a site do not come back all at once."""
STEADY_SECONDS: Final = 10.0
"""A connection that stood this long was one: after it the pauses begin again with the first, and its loss is worth a word."""
DRAIN_SECONDS: Final = 5.0
"""How long a stop waits for what is in hand. An integration's unload has 10 s."""

SUSPICIOUS: Final = 3
SAME_NAME: Final = f"That was so {SUSPICIOUS} times or more, each soon after it was made: is another process connected under the same name?"

Reach = Callable[[str], AbstractAsyncContextManager[tuple[str, ...]]]
"""The site's egress gate: while the block runs, this process may connect to the addresses that it gives for a URL."""


class Link(Protocol):
    """One connection to a broker, from `Broker.connect`; leaving that block closes it and keeps what the broker holds for us."""

    async def lost(self) -> str:
        """Return once the connection is gone: why, in words."""
        ...

    async def stop_taking(self) -> None:
        """Let no more come: what the broker can send again is left to it, and what it cannot is taken."""
        ...

    async def leave(self) -> bool:
        """Take what the broker still holds for this process, and give up its place there when the block is left. False where the
        connection was lost before."""
        ...


class Broker(Protocol):
    """How one kind of broker is spoken to."""

    @property
    def name(self) -> str:
        """What people call it: its address."""
        ...

    def connect(self, intake: Intake) -> AbstractAsyncContextManager[Link]:
        """Connect, and hand what comes to `intake`. Raises a `SitewardError` whose sentence says why that is not possible now."""
        ...


class Transport:
    """The connection of one site to one broker."""

    def __init__(
        self,
        broker: Broker,
        emit: Emit,
        in_flight: int,
        random: Random,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._broker = broker
        self._emit = emit
        self._in_flight = in_flight
        self._random = random
        self._sleep = sleep
        self._link: Link | None = None
        self._linked = asyncio.Event()
        self._unlinked = asyncio.Event()
        self._stopping = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self.counts = Counts()
        self.connections = 0
        self.problem = ""
        """What keeps messages from coming, in a sentence; empty while they come, and before the first try."""
        self._told = False
        """Whether a loss was said whose end was not."""

    def start(self) -> None:
        """Begin to connect. Nothing is raised where that is not possible: it is tried for ever, and `problem` says why not."""
        self._running = asyncio.create_task(self._run(), name=f"transport {self._broker.name}")

    async def stop(self) -> None:
        """Bring to an end what is in hand, acknowledge it, and disconnect. The broker holds for us what comes meanwhile."""
        self._stopping.set()
        if self._running is None:
            return
        if self._link is None:
            self._running.cancel()
        await asyncio.wait((self._running,))

    async def leave(self, seconds: float = 30.0) -> None:
        """Give up this process's place at the broker, for a replica that is removed: what the broker holds for it is taken first. Raises
        `NotReady` where the broker is not there: it then goes on holding messages for this process, until its session runs out."""
        try:
            async with asyncio.timeout(seconds):
                while not await self._left():
                    pass
        except TimeoutError:
            raise NotReady(
                f"The place at {self._broker.name} could not be given up within {seconds:g} seconds. "
                f"{self.problem or 'It still sends messages.'} Try again when it is there."
            ) from None
        await self.stop()

    async def _left(self) -> bool:
        await self._linked.wait()
        link = self._link
        if link is not None and await link.leave():
            return True
        if self._link is link:
            await self._unlinked.wait()
        return False

    def facts(self) -> Mapping[str, Any]:
        """What there is to know, without secrets."""
        counts = self.counts
        return {
            "broker": self._broker.name,
            "problem": self.problem,
            "connections": self.connections,
            "accepted": counts.accepted,
            "refused": dict(counts.refused),
            "samples": dict(counts.samples),
        }

    # ------------------------------------------------------------------------------------------------------------------
    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        pause, short = FIRST_PAUSE, 0
        while not self._stopping.is_set():
            began, before = loop.time(), self.connections
            why = await self._connected()
            if self._stopping.is_set():
                return
            steady = loop.time() - began >= STEADY_SECONDS
            short = 0 if steady else short + (self.connections - before)
            pause = FIRST_PAUSE if steady else pause
            self._say_lost(why if short < SUSPICIOUS else f"{why} {SAME_NAME}")
            await self._sleep(pause * (1 - self._random.random() / 2))
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _connected(self) -> str:
        """One connection, from the first try to its end: why it ended, or why there was none."""
        intake = Intake(self._emit, self.counts, self._in_flight, sleep=self._sleep)
        try:
            async with self._broker.connect(intake) as link:
                self._say_connected()
                self._link = link
                self._unlinked.clear()
                self._linked.set()
                try:
                    return await self._lost_or_stopped(link)
                finally:
                    self._link = None
                    self._linked.clear()
                    self._unlinked.set()
                    await self._settle(link, intake)
        except SitewardError as error:
            return error.sentence
        except Exception as error:  # noqa: BLE001 (a client library may raise anything; without this loop nothing would come any more)
            _LOG.debug("%s broke", self._broker.name, exc_info=True)
            return f"The connection broke ({type(error).__name__}: {error})."
        finally:
            intake.close()

    async def _lost_or_stopped(self, link: Link) -> str:
        lost = asyncio.ensure_future(link.lost())
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            for seconds in (STEADY_SECONDS, None):
                await asyncio.wait((lost, stopping), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
                if lost.done():
                    return lost.result()
                if stopping.done():
                    break
                self._say_steady()
            return ""
        finally:
            lost.cancel()
            stopping.cancel()

    async def _settle(self, link: Link, intake: Intake) -> None:
        """Let what is in hand end before the connection does, for a while."""
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                try:
                    await link.stop_taking()
                finally:
                    intake.close()
                await intake.idle()
        except TimeoutError:
            _LOG.warning("%s: some messages were still in hand and will come again.", self._broker.name)

    def _say_connected(self) -> None:
        self.connections += 1
        self.problem = ""

    def _say_steady(self) -> None:
        if self._told:
            _LOG.warning("%s is there again.", self._broker.name)
        self._told = False

    def _say_lost(self, why: str) -> None:
        """A loss is said once, and its end once; what is tried in between is for whoever looks closer."""
        problem = why if why.startswith(self._broker.name) else f"{self._broker.name}: {why}"
        if problem != self.problem:
            level = logging.DEBUG if self._told else logging.WARNING
            _LOG.log(level, "%s It is tried again until it works.", problem)
        self.problem, self._told = problem, True
