"""The store: one writer, and readers on connections of their own that never hold it up.

A read is one hop to a thread of the readers and back, where an asynchronous driver hops for each of execute, fetch and close (measured: six hops
and four times the time on a busy machine).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine, Executable
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from siteward.core.store.backend import Backend, Reader
from siteward.core.store.boundaries import Boundaries
from siteward.core.store.errors import DatabaseUnusable, ReadFailed
from siteward.core.store.postgres_driver import needing_the_driver
from siteward.core.store.sqlite import Sqlite, sqlite_path
from siteward.core.store.statements import NO_PARAMS, Op, Params
from siteward.core.store.writer import Writer

READERS: Final = 4
_KINDS: Final = "Write sqlite:///path/to/site.db, or postgresql://user:password@server/database."


class Store:
    """The database of a site. Opened by `Store.open`, which brings it to the newest migration first."""

    def __init__(self, backend: Backend, engine: Engine, writer: Writer) -> None:
        self.backend = backend
        self.writer = writer
        self._engine = engine
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="siteward-reader")
        self._of_thread = threading.local()
        self._raw: list[Reader] = []
        self._heard: list[Callable[[str], None]] = []

    @classmethod
    async def open(cls, url: str, boundaries: Boundaries | None = None, *, migrates: bool = True) -> Store:
        """Open `sqlite:///path` or `postgresql://…`. Without `migrates` the database must be there and up to date: a host may run on it.

        Raises `DatabaseNewer`, `DatabaseOlder`, `DatabaseUnusable`."""
        backend = backend_of(url)
        await asyncio.to_thread(backend.migrate if migrates else backend.require_newest)
        writer = Writer(backend, boundaries)
        writer.start()
        return cls(backend, backend.engine(READERS), writer)

    @property
    def path(self) -> str:
        """The database as a person may read it: of SQLite its file."""
        return self.backend.name

    @property
    def shared(self) -> bool:
        """Whether other processes may write to this database: it is a server's."""
        return self.backend.poke("") is not None

    async def submit(self, *ops: Op) -> None:
        """Commit `ops` as one (see `Writer.send`)."""
        await self.send(*ops)

    def send(self, *ops: Op) -> asyncio.Future[None]:
        """Take `ops` to be committed as one, at once and in this order (see `Writer.send`)."""
        return self.writer.send(*ops)

    async def fetch(self, sql: str, params: Params = NO_PARAMS) -> list[dict[str, Any]]:
        """The rows of a statement with named parameters (`:name`), without SQLAlchemy: for what the engine asks all day. Cannot write. Raises
        `ReadFailed`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._fetch, sql, params)

    def _fetch(self, sql: str, params: Params) -> list[dict[str, Any]]:
        reader: Reader | None = getattr(self._of_thread, "reader", None)
        if reader is None:
            reader = self._of_thread.reader = self.backend.reader()
            self._raw.append(reader)
        return reader.fetch(sql, params)

    def notify(self, channel: str) -> None:
        """Poke who listens to `channel`, also in other processes, once what was sent before is committed. A poke may be lost with its commit:
        who listens also looks by itself now and then."""
        op = self.backend.poke(channel)
        if op is not None:
            self.send(op).add_done_callback(_not_minded)
        else:
            for heard in tuple(self._heard):
                asyncio.get_running_loop().call_soon(heard, channel)

    def listen(self, channels: Sequence[str], heard: Callable[[str], None]) -> Callable[[], None]:
        """Call `heard` on this loop with each channel that is poked, or may have been poked while nobody could hear. Returns what ends it
        (it may take a second: call it from a thread)."""
        loop = asyncio.get_running_loop()

        def of_these(channel: str) -> None:
            if channel in channels:
                heard(channel)

        def poked(channel: str) -> None:
            with suppress(RuntimeError):  # the loop has ended: nobody is left to hear
                loop.call_soon_threadsafe(of_these, channel)

        listener = self.backend.listen(channels, poked)
        if listener is not None:
            return listener.close
        self._heard.append(of_these)
        return lambda: self._heard.remove(of_these)

    async def give_back(self, pages: int, spare: float) -> bool:
        """Give some free pages back to the disk, as long as more than `spare` of the file is free (writes to come need some); whether it did."""
        op = self.backend.give_back()
        if op is None:
            return False
        free = (await self.fetch("PRAGMA freelist_count"))[0]["freelist_count"]
        of_all = (await self.fetch("PRAGMA page_count"))[0]["page_count"]
        too_many = free - int(of_all * spare)
        if too_many <= 0:
            return False
        await self.submit(*[op] * min(pages, too_many))
        return True

    async def read(self, query: Executable, params: dict[str, Any] | None = None) -> Sequence[dict[str, Any]]:
        """The rows of a SQLAlchemy core query, all read at one instant. The connection cannot write. Raises `ReadFailed`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, query, params)

    def _read(self, query: Executable, params: dict[str, Any] | None) -> Sequence[dict[str, Any]]:
        """A connection that was lost since the last question is made again once; what fails then is told."""
        try:
            try:
                return self._rows(query, params)
            except DBAPIError as error:
                if not error.connection_invalidated:
                    raise
            return self._rows(query, params)
        except (DBAPIError, PoolTimeout) as error:
            raise ReadFailed(
                f"The database could not be read: {error.__cause__ or error}. Stop what holds it."
            ) from error

    def _rows(self, query: Executable, params: dict[str, Any] | None) -> Sequence[dict[str, Any]]:
        with self._engine.connect() as connection:
            return [dict(row) for row in connection.execute(query, params or {}).mappings()]

    async def close(self) -> None:
        """Write what was submitted and let go of all connections."""
        await self.writer.close()
        await asyncio.to_thread(self._readers.shutdown)
        for reader in self._raw:
            reader.close()
        self._engine.dispose()


def backend_of(url: str) -> Backend:
    """The database that a URL names. Raises `DatabaseUnusable` for one of a kind that there is no backend for."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise DatabaseUnusable(f"That is no address of a database. {_KINDS}") from error
    match parsed.get_backend_name():
        case "sqlite":
            path = sqlite_path(url)
            if not Path(path).parent.is_dir():
                raise DatabaseUnusable(f"The folder of the database {path} does not exist: make it first.", where=path)
            return Sqlite(path)
        case "postgresql" | "postgres":
            return _postgres(url)
    raise DatabaseUnusable(f"The database {parsed} is not of a kind this version can use. {_KINDS}")


def _postgres(url: str) -> Backend:
    with needing_the_driver():
        from siteward.core.store.postgres import Postgres
    return Postgres(url)


def _not_minded(poke: asyncio.Future[None]) -> None:
    """A poke that was not committed is missed by nobody for long."""
    if not poke.cancelled():
        poke.exception()
