"""A host for integrations: the site's real egress gate, a clock whose sleepers wake at once, everything else in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Any

from aiohttp import web

from siteward.core.contract.registry import Provenance
from siteward.core.errors import UnknownRole
from siteward.core.events.event import Event
from siteward.core.plugins.objects import ActionCall, GateSettings, Picture
from siteward.core.site.connect_guard import ConnectGuard
from siteward.core.site.egress import Egress
from siteward.sdk.simulated_clock import START, SimulatedClock

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
JPEG = b"\xff\xd8\xff\xe0 a picture"
PNG = b"\x89PNG\r\n\x1a\n a picture"


class EagerClock(SimulatedClock):
    """Whoever sleeps lets the time pass: for code that polls."""

    async def sleep_until(self, due: datetime) -> None:
        """Make it `due`."""
        await self.advance(max(0.0, (due - self.now()).total_seconds()))


class HostInMemory:
    """Accepts events once by id, keeps pictures, and sends HTTP through the site's own gate."""

    def __init__(self, config_dir: str = "", clock: SimulatedClock | None = None) -> None:
        self.clock = clock or EagerClock()
        self.config_dir = config_dir
        self.events: dict[str, Event] = {}
        self.pictures: dict[str, Picture] = {}
        self.gates: dict[str, GateSettings] = {}
        self.refuses: Exception | None = None
        self.replica = "main"
        self._egress = Egress(lambda: (), ConnectGuard())

    async def emit(self, event: Event) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.events.setdefault(event.id, event)

    async def site_id(self) -> str:
        return "site"

    async def at_work(self) -> None:
        return None

    def reached(self, url: str, *, purpose: str) -> AbstractAsyncContextManager[tuple[str, ...]]:
        return self._egress.reached(url, purpose=purpose)

    async def http(
        self,
        method: str,
        url: str,
        *,
        purpose: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
    ) -> tuple[int, bytes]:
        return await self._egress.request(method, url, purpose=purpose, body=body, headers=headers, timeout=timeout)

    def gate(self, role: str) -> GateSettings:
        if role not in self.gates:
            raise UnknownRole(f"There is no gate {role}.", where=role)
        return self.gates[role]

    def destination(self, role: str) -> str:
        raise UnknownRole(f"There is no destination {role}.", where=role)

    async def set_site_mode(self, mode: str, *, by: str, key: str) -> str:
        return mode

    async def snapshot(self, camera: str) -> Picture:
        raise UnknownRole(f"There is no camera {camera}.", where=camera)

    async def store_picture(self, picture: Picture) -> str:
        media_id = f"m{len(self.pictures)}"
        self.pictures[media_id] = picture
        return media_id

    async def stored_picture(self, media_id: str) -> Picture:
        return self.pictures[media_id]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """A real HTTP server on this machine."""
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handler)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


async def nobody_listens() -> str:
    """An address of this machine where nothing answers."""
    server = await asyncio.start_server(lambda _r, _w: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return f"http://127.0.0.1:{port}"


def a_call(action: str, arguments: Mapping[str, Any], key: str = "key-1") -> ActionCall:
    """A call as the engine makes it."""
    event = Event("e1", "detect.vehicle_in_zone", "test", Provenance.SENSOR, START)
    return ActionCall(action, arguments, key, "r1", "Gate", "then.0/gate.open.0", "c1", 1, event, "w1")
