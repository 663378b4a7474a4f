"""The store: one writer, and readers on connections of their own that never hold it up (WAL).

A read is SQLAlchemy core on a thread of the readers: one hop there and back, where an asynchronous SQLite driver hops for each of execute, fetch and
close (measured: six hops and four times the time on a busy machine).
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Executable, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from siteward.core.store.boundaries import Boundaries
from siteward.core.store.errors import DatabaseUnusable, ReadFailed
from siteward.core.store.migrate import migrate
from siteward.core.store.revision import require_newest
from siteward.core.store.writer import BUSY_MILLISECONDS, NO_PARAMS, UNWRITABLE, Counts, Op, Params, Writer

READERS = 4


class Store:
    """The database of a site. Opened by `Store.open`, which brings it to the newest migration first."""

    def __init__(self, path: str, engine: Engine, writer: Writer) -> None:
        self.path = path
        self._engine = engine
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="siteward-reader")
        self._of_thread = threading.local()
        self._raw: list[sqlite3.Connection] = []
        self.writer = writer

    @classmethod
    async def open(cls, url: str, boundaries: Boundaries | None = None, *, migrates: bool = True) -> Store:
        """Open `sqlite:///path`. Without `migrates` the database must be there and up to date: a host may run on it.

        Raises `DatabaseNewer`, `DatabaseOlder`, `DatabaseUnusable`."""
        path = sqlite_path(url)
        if not Path(path).parent.is_dir():
            raise DatabaseUnusable(f"The folder of the database {path} does not exist: make it first.", where=path)
        if migrates:
            await asyncio.to_thread(migrate, path)
        else:
            await asyncio.to_thread(require_newest, Path(path))
        writer = Writer(path, boundaries)
        writer.start()
        engine = create_engine(
            f"sqlite:///{path}",
            poolclass=QueuePool,
            pool_size=READERS,
            max_overflow=0,
            connect_args={"check_same_thread": False},
        )
        event.listen(engine, "connect", _make_reader)
        return cls(path, engine, writer)

    async def submit(self, *ops: Op) -> Counts:
        """Commit `ops` as one (see `Writer.submit`)."""
        return await self.writer.submit(*ops)

    def send(self, *ops: Op) -> asyncio.Future[Counts]:
        """Take `ops` to be committed as one, at once and in this order (see `Writer.send`)."""
        return self.writer.send(*ops)

    async def fetch(self, sql: str, params: Params = NO_PARAMS) -> list[dict[str, Any]]:
        """The rows of a statement with named parameters (`:name`), without SQLAlchemy: for what the engine asks all day. Cannot write. Raises
        `ReadFailed`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._fetch, sql, params)

    def _fetch(self, sql: str, params: Params) -> list[dict[str, Any]]:
        try:
            cursor = self._raw_reader().execute(sql, params)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        except (sqlite3.Error, *UNWRITABLE) as error:
            raise ReadFailed(f"The database could not be read: {error}. Stop what holds it.") from error

    def _raw_reader(self) -> sqlite3.Connection:
        """This reader thread's own connection, made at its first use; its statements stay prepared."""
        connection: sqlite3.Connection | None = getattr(self._of_thread, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                self.path, isolation_level=None, cached_statements=256, check_same_thread=False
            )
            _make_reader(connection, None)
            self._of_thread.connection = connection
            self._raw.append(connection)
        return connection

    async def read(self, query: Executable, params: dict[str, Any] | None = None) -> Sequence[dict[str, Any]]:
        """The rows of a SQLAlchemy core query, all read at one instant. The connection cannot write. Raises `ReadFailed`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, query, params)

    def _read(self, query: Executable, params: dict[str, Any] | None) -> Sequence[dict[str, Any]]:
        try:
            with self._engine.connect() as connection:
                return [dict(row) for row in connection.execute(query, params or {}).mappings()]
        except (OperationalError, PoolTimeout) as error:
            raise ReadFailed(
                f"The database could not be read: {error.__cause__ or error}. Stop what holds it."
            ) from error

    async def close(self) -> None:
        """Write what was submitted and let go of all connections."""
        await self.writer.close()
        await asyncio.to_thread(self._readers.shutdown)
        for connection in self._raw:
            connection.close()
        self._engine.dispose()


def sqlite_path(url: str) -> str:
    """The file of `sqlite:///path`. Raises `DatabaseUnusable` for another database or one in memory."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database or parsed.database == ":memory:":
        raise DatabaseUnusable(
            f"The database {url} is not of a kind this version can use: write sqlite:///path/to/site.db."
        )
    return parsed.database


def _make_reader(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    for pragma in (f"busy_timeout={BUSY_MILLISECONDS}", "query_only=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
