"""A line to PostgreSQL that can be cut at the moment that a test wants: before the server hears of a COMMIT, or before its answer is heard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Literal

Cut = Literal["before", "after"]


class Line:
    """Passes bytes between clients and a server. `cut` says what becomes of the next COMMIT that comes along: the connection is gone `before` the
    server gets it, or `after` the server has answered and before the client hears of it."""

    def __init__(self, server_port: int) -> None:
        self.cut: Cut | None = None
        self._server_port = server_port
        self._open: set[asyncio.Task[None]] = set()

    def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A client came."""
        self._open.add(asyncio.create_task(self._pass(reader, writer)))

    async def close(self) -> None:
        """Cut all connections."""
        for one in self._open:
            one.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client's connection, both ways, until either ends it or the line is cut."""
        answers, server = await asyncio.open_connection("127.0.0.1", self._server_port)
        unheard = asyncio.Event()
        ways = [
            asyncio.create_task(self._up(reader, server, unheard)),
            asyncio.create_task(self._down(answers, writer, unheard)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for end in (server, writer):
                end.close()
                with suppress(OSError):
                    await end.wait_closed()

    async def _up(self, reader: asyncio.StreamReader, server: asyncio.StreamWriter, unheard: asyncio.Event) -> None:
        while data := await reader.read(65536):
            if self.cut is not None and b"COMMIT\0" in data:
                how, self.cut = self.cut, None
                if how == "before":
                    return
                unheard.set()
            server.write(data)
            await server.drain()

    async def _down(self, answers: asyncio.StreamReader, writer: asyncio.StreamWriter, unheard: asyncio.Event) -> None:
        while data := await answers.read(65536):
            if unheard.is_set():
                return
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def line_to(url: str) -> AsyncIterator[tuple[Line, str]]:
    """A line to the server of `url`, and the same URL over that line."""
    port = int(url.rsplit(":", 1)[1].split("/")[0])
    line = Line(port)
    listening = await asyncio.start_server(line.take, "127.0.0.1", 0)
    try:
        yield line, url.replace(f":{port}/", f":{listening.sockets[0].getsockname()[1]}/")
    finally:
        listening.close()
        await line.close()
