"""The store: one writer, and readers on connections of their own that never hold it up.

A read is one hop to a thread of the readers and back, where an asynchronous driver hops for each of execute, fetch and close (measured: six hops
and four times the time on a busy machine).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine, Executable
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from siteward.core.store.backend import Backend, Reader
from siteward.core.store.boundaries import Boundaries
from siteward.core.store.errors import DatabaseUnusable, ReadFailed
from siteward.core.store.sqlite import Sqlite, sqlite_path
from siteward.core.store.statements import NO_PARAMS, Op, Params
from siteward.core.store.writer import Counts, Writer

READERS: Final = 4


class Store:
    """The database of a site. Opened by `Store.open`, which brings it to the newest migration first."""

    def __init__(self, backend: Backend, engine: Engine, writer: Writer) -> None:
        self.backend = backend
        self.writer = writer
        self._engine = engine
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="siteward-reader")
        self._of_thread = threading.local()
        self._raw: list[Reader] = []

    @classmethod
    async def open(cls, url: str, boundaries: Boundaries | None = None, *, migrates: bool = True) -> Store:
        """Open `sqlite:///path`. Without `migrates` the database must be there and up to date: a host may run on it.

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

    async def submit(self, *ops: Op) -> Counts:
        """Commit `ops` as one (see `Writer.submit`)."""
        return await self.send(*ops)

    def send(self, *ops: Op) -> asyncio.Future[Counts]:
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

    async def read(self, query: Executable, params: dict[str, Any] | None = None) -> Sequence[dict[str, Any]]:
        """The rows of a SQLAlchemy core query, all read at one instant. The connection cannot write. Raises `ReadFailed`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, query, params)

    def _read(self, query: Executable, params: dict[str, Any] | None) -> Sequence[dict[str, Any]]:
        try:
            with self._engine.connect() as connection:
                return [dict(row) for row in connection.execute(query, params or {}).mappings()]
        except (DBAPIError, PoolTimeout) as error:
            raise ReadFailed(
                f"The database could not be read: {error.__cause__ or error}. Stop what holds it."
            ) from error

    async def close(self) -> None:
        """Write what was submitted and let go of all connections."""
        await self.writer.close()
        await asyncio.to_thread(self._readers.shutdown)
        for reader in self._raw:
            reader.close()
        self._engine.dispose()


def backend_of(url: str) -> Backend:
    """The database that a URL names. Raises `DatabaseUnusable` for one of a kind that there is no backend for."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        raise DatabaseUnusable(
            f"The database {parsed} is not of a kind this version can use: write sqlite:///path/to/site.db."
        )
    path = sqlite_path(url)
    if not Path(path).parent.is_dir():
        raise DatabaseUnusable(f"The folder of the database {path} does not exist: make it first.", where=path)
    return Sqlite(path)
