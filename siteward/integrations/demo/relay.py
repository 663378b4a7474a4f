"""The demo's gate: a relay on this machine, driven over HTTP like a real one, with a log that only grows.

What it did stands in its log before it answers, so that whoever reads the log from outside knows how often the gate opened, whatever
happened to the host. Each line is JSON: `at` (UTC), `did` (`open`, `close`, `repeat`: a command that came a second time and did
nothing), `key` (the command's, null for the timer). The state is that of the last line that is no repeat.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from aiohttp import web

from siteward.sdk import Clock, ConfigurationInvalid

HOST: Final = "127.0.0.1"
KEY_HEADER: Final = "Idempotency-Key"
OPEN: Final = "open"
CLOSED: Final = "closed"
_DID: Final = {OPEN: "open", CLOSED: "close"}
_STATE: Final = {"open": OPEN, "close": CLOSED}

Changed = Callable[[str, datetime], Awaitable[None]]
"""Told of a change that no command asked for: the new state and when."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the log."""

    at: datetime
    did: str
    key: str | None


def read_log(path: Path) -> tuple[Line, ...]:
    """All whole lines. A last line that a crash cut off was never answered, and counts as not done."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return ()
    return tuple(_lines(text))


def _lines(text: str) -> Iterator[Line]:
    for line in text.splitlines(keepends=True):
        if line.endswith("\n"):
            raw = json.loads(line)
            yield Line(datetime.fromisoformat(raw["at"]), raw["did"], raw["key"])


class DemoGate:
    """A gate that opens and closes on command, and closes by itself `open_seconds` after it opened (0: it stays open)."""

    def __init__(self, log: Path, clock: Clock, open_seconds: float, changed: Changed) -> None:
        self._log = log
        self._clock = clock
        self._open_for = timedelta(seconds=open_seconds)
        self._changed = changed
        self._lock = asyncio.Lock()
        self._moved = asyncio.Event()
        self._keys: set[str] = set()
        self._last = Line(datetime.min.replace(tzinfo=UTC), "close", None)
        self._last_key: str | None = None

    def recover(self) -> None:
        """Take up the state that the log tells. A cut-off last line is cut away, since the next one must begin a line."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        lines = read_log(self._log)
        if self._log.exists():
            text = self._log.read_text()
            if text and not text.endswith("\n"):
                self._log.write_text(text[: text.rfind("\n") + 1])
        for line in lines:
            self._take(line)

    @property
    def state(self) -> str:
        """`open` or `closed`."""
        return _STATE[self._last.did]

    @property
    def last_key(self) -> str | None:
        """The key of the last command that was carried out."""
        return self._last_key

    async def command(self, wanted: str, key: str) -> bool:
        """Carry out a command once. False where its key came before: nothing is done then."""
        async with self._lock:
            if key in self._keys:
                await self._write("repeat", key)
                return False
            await self._write(_DID[wanted], key)
            self._moved.set()
            return True

    async def close_by_itself(self) -> None:
        """Close the gate when it was open for long enough, for ever."""
        while True:
            self._moved.clear()
            if self.state == CLOSED or not self._open_for:
                await self._moved.wait()
                continue
            opened = self._last.at
            await self._clock.sleep_until(opened + self._open_for)
            async with self._lock:
                if self._last.at != opened or self.state == CLOSED:
                    continue
                await self._write("close", None)
            await self._changed(CLOSED, self._last.at)

    async def _write(self, did: str, key: str | None) -> None:
        line = Line(self._clock.now(), did, key)
        await asyncio.to_thread(_append, self._log, line)
        self._take(line)

    def _take(self, line: Line) -> None:
        if line.did == "repeat":
            return
        self._last = line
        if line.key is not None:
            self._last_key = line.key
            self._keys.add(line.key)


def _append(path: Path, line: Line) -> None:
    text = json.dumps({"at": line.at.isoformat(), "did": line.did, "key": line.key}) + "\n"
    with path.open("a") as log:
        log.write(text)
        log.flush()
        os.fsync(log.fileno())


def relay_app(gate: DemoGate) -> web.Application:
    """The gate over HTTP: `POST /open`, `POST /close`, `GET /state`. A command without a key is refused: a page of another site can
    send a bare POST to this machine, and cannot send that header."""

    async def state(_request: web.Request) -> web.Response:
        return _said(gate)

    def commanded(wanted: str) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def command(request: web.Request) -> web.Response:
            key = request.headers.get(KEY_HEADER, "")
            if not key:
                return web.json_response({"sentence": f"A command carries {KEY_HEADER}."}, status=400)
            await gate.command(wanted, key)
            return _said(gate)

        return command

    app = web.Application()
    app.router.add_get("/state", state)
    app.router.add_post("/open", commanded(OPEN))
    app.router.add_post("/close", commanded(CLOSED))
    return app


def _said(gate: DemoGate) -> web.Response:
    return web.json_response({"state": gate.state, "key": gate.last_key})


async def serve(app: web.Application, port: int) -> web.AppRunner:
    """Serve on this machine only. Raises `ConfigurationInvalid` where the port is taken."""
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, port).start()
    except OSError as error:
        await runner.cleanup()
        raise ConfigurationInvalid(
            f"The demo's gate cannot listen on port {port}: {error.strerror or error}. Stop what listens there, or choose another "
            "port under integrations: demo: gate_port (and in the address of the gate).",
            where="integrations.demo.gate_port",
        ) from error
    return runner
