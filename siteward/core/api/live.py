"""Live updates: one WebSocket per page, fed from the outbox, resumed by the id of the last message that the page saw.

A page that was away too long, or that reads too slowly, gets one `resync` and loads its lists anew. What is of a camera that the
person does not see is not sent. A session that ended closes its sockets.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import WSMsgType, web
from sqlalchemy import func, select

from siteward.core.errors import AuthFailed, NotReady
from siteward.core.site.permissions import Permission, require
from siteward.core.site.sessions import Session
from siteward.core.store.errors import ReadFailed
from siteward.core.store.schema import outbox
from siteward.core.store.store import Store

from .host import ApiHost
from .security import check_origin
from .serving import session_of

_log = logging.getLogger(__name__)

WAITING: Final = 256
"""Messages that wait for one page; beyond it the page gets `resync`."""
BATCH: Final = 500
LONGEST_GAP: Final = 2000
HEARTBEAT_SECONDS: Final = 25.0
SEND_SECONDS: Final = 10.0
AGAIN_SECONDS: Final = 1.0
OTHERS_SECONDS: Final = 0.5
"""How often it is looked for what other processes of the site committed."""
GAP_SECONDS: Final = 2.0
MOST_PAGES: Final = 200
MOST_OF_ONE: Final = 20
"""Pages of one person: nobody takes the stream from the others."""
SESSION_ENDED: Final = 4401


@dataclass(eq=False, slots=True)
class _Page:
    """One open page. `seen` is the id of the newest message that it was offered."""

    session: Session
    socket: web.WebSocketResponse
    seen: int = 0
    queue: asyncio.Queue[dict[str, Any]] = field(default_factory=lambda: asyncio.Queue(WAITING))
    lost: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def offer(self, row: Mapping[str, Any]) -> None:
        if row["id"] <= self.seen:
            return
        self.seen = row["id"]
        if self.lost or not self.session.person.sees(row["camera"]):
            return
        try:
            self.queue.put_nowait(_message(row))
        except asyncio.QueueFull:
            self.lost = True


def _message(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "topic": row["topic"], "data": json.loads(row["payload"])}


class Live:
    """The live stream of a host. `running()` keeps it fed; `handle` is its route."""

    def __init__(self, host: ApiHost) -> None:
        self._host = host
        self._store: Store = host.site.store
        self._pages: set[_Page] = set()
        self._grown = asyncio.Event()
        self._last = 0
        self._checked = host.site.sessions.revision

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Feed the pages while the block runs."""
        self._last = await self._newest()
        self._store.writer.committed.append(self._grown.set)
        feeding = asyncio.create_task(self._feed(), name="live feed")
        try:
            yield
        finally:
            self._store.writer.committed.remove(self._grown.set)
            feeding.cancel()
            with suppress(asyncio.CancelledError):
                await feeding

    async def _feed(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(OTHERS_SECONDS if self._store.shared else None):
                    await self._grown.wait()
            self._grown.clear()
            try:
                await self._give()
            except ReadFailed:
                _log.warning("The live stream cannot read what changed and tries again.", exc_info=True)
                await asyncio.sleep(AGAIN_SECONDS)
                self._grown.set()

    async def _give(self) -> None:
        """Offer every page what was committed since the last time."""
        while self._pages and (rows := await self._after(self._last)):
            if self._store.shared and not (rows := self._whole(rows)):
                return
            await self._recheck()
            self._last = rows[-1]["id"]
            for page in self._pages:
                for row in rows:
                    page.offer(row)

    def _whole(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Of several processes one may take a number and commit it after the next: what stands behind a gap waits for it, but not for long, since
        a write that was undone leaves one too."""
        long_ago = self._host.site.clock.now().timestamp() - GAP_SECONDS
        last = self._last
        for count, row in enumerate(rows):
            if row["id"] != last + 1 and row["at"] > long_ago:
                return rows[:count]
            last = row["id"]
        return rows

    async def _recheck(self) -> None:
        """Where an account or a session changed, look at each page's anew before anything more is sent."""
        sessions = self._host.site.sessions
        now, revision = self._host.site.clock.now().timestamp(), sessions.revision
        for page in tuple(self._pages):
            if revision == self._checked and page.session.expires_at > now:
                continue
            current = await sessions.current(page.session.token_hash)
            if current is None or current.person != page.session.person:
                # Closing waits for the browser, which may take its time: the page's own task does that, and holds up nobody else.
                self._pages.discard(page)
                page.lost = True
                page.ended.set()
        self._checked = revision

    async def _newest(self) -> int:
        rows = await self._store.read(select(func.max(outbox.c.id).label("newest")))
        return int(rows[0]["newest"] or 0)

    async def _after(self, last: int) -> Sequence[Mapping[str, Any]]:
        return await self._store.read(select(outbox).where(outbox.c.id > last).order_by(outbox.c.id).limit(BATCH))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """`GET /api/v1/live?last=<id>`: upgrade, then messages `{id, topic, data}`."""
        session = await session_of(request, self._host)
        if session is None:
            raise AuthFailed("Log in first.", code="session.missing")
        require(session.person, Permission.VIEW)
        check_origin(request, must_be_told=True)
        own = sum(1 for page in self._pages if page.session.person.id == session.person.id)
        if len(self._pages) >= MOST_PAGES or own >= MOST_OF_ONE:
            raise NotReady("Too many pages are open. Close one and reload.")
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT_SECONDS, max_msg_size=1024)
        await socket.prepare(request)
        page = _Page(session, socket)
        await self._join(page, request.query.get("last"))
        try:
            async with asyncio.TaskGroup() as group:
                owned = [group.create_task(self._send(page)), group.create_task(self._watch(page))]
                await _until_closed(socket)
                for task in owned:
                    task.cancel()
        finally:
            self._pages.discard(page)
        return socket

    async def close(self) -> None:
        """Close every page's socket: the host stops."""
        for page in tuple(self._pages):
            await page.socket.close(code=1001, message=b"the host stops")

    async def _join(self, page: _Page, last: str | None) -> None:
        """Offer the page what it missed since `last`, then everything from here on; `resync` where that is too much or gone."""
        newest = await self._newest()
        asked = newest if last is None else _id(last)
        if asked is None or asked > newest or newest - asked > LONGEST_GAP:
            page.seen, page.lost = newest, True
        else:
            page.seen = asked
        page.queue.put_nowait({"id": page.seen, "topic": "hello", "data": {}})
        while True:
            rows = await self._after(page.seen)
            if not page.lost and rows and rows[0]["id"] != page.seen + 1:
                page.lost = True  # retention took what it missed
            for row in rows:
                page.offer(row)
            if not rows and (not self._pages or self._last <= page.seen):
                break
        if not self._pages:
            self._last = page.seen
        self._pages.add(page)

    async def _send(self, page: _Page) -> None:
        while not page.socket.closed:
            message = await page.queue.get()
            if page.lost:
                while not page.queue.empty():
                    page.queue.get_nowait()
                page.lost = False
                message = {"id": page.seen, "topic": "resync", "data": {}}
            try:
                async with asyncio.timeout(SEND_SECONDS):
                    await page.socket.send_json(message)
            except (ConnectionError, TimeoutError):
                await page.socket.close()
                return

    async def _watch(self, page: _Page) -> None:
        """Close the socket where its session ended, also while nothing happened."""
        while not page.ended.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await page.ended.wait()
            if page.ended.is_set():
                break
            try:
                current = await self._host.site.sessions.current(page.session.token_hash)
            except ReadFailed:
                continue
            if current is None or current.person != page.session.person:
                break
        await page.socket.close(code=SESSION_ENDED, message=b"the session ended")


def _id(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


async def _until_closed(socket: web.WebSocketResponse) -> None:
    """Read until the page goes. It says nothing that matters; a page that talks anyway is closed."""
    async for message in socket:
        if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
            await socket.close(code=1008, message=b"this socket only sends")
            return
