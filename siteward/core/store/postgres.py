"""PostgreSQL, by URL: for a larger site, where several processes share one database.

The writer speaks through psycopg's wrapper of libpq in pipeline mode: a whole group's prepared statements go out in their order in one round trip,
and each tells the rows that it touched, at about a third of the processor time of the same through cursors (docs/decisions/0007-postgresql.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import psycopg
from psycopg.rows import dict_row
from sqlalchemy import Engine, create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.pool import QueuePool

from siteward.core.store.backend import Listener, NothingKept
from siteward.core.store.errors import ReadFailed
from siteward.core.store.migrate import migrate_postgres, require_newest_postgres
from siteward.core.store.postgres_listener import PostgresListener
from siteward.core.store.postgres_session import PostgresSession, not_written
from siteward.core.store.statements import STATEMENTS, Op, Params, numbered_marks

LOCK_SECONDS: Final = 10
"""How long a write waits for another process that holds a row."""
CONNECT_SECONDS: Final = 5
IDLE_SECONDS: Final = 5
"""A process that was frozen in the middle of a transaction holds up the others for so long; then the server undoes it."""
SILENT_SECONDS: Final = 15
"""A server that takes nothing off the line for so long is gone."""


class Postgres:
    """A database on a server."""

    def __init__(self, url: str) -> None:
        self._url = make_url(url)
        self.name = self._url.render_as_string()

    def migrate(self) -> None:
        """Bring it to the newest migration; the database itself must exist."""
        migrate_postgres(self._for_sqlalchemy(), self.name)

    def require_newest(self) -> None:
        """Refuse a database of another version; nothing is written."""
        require_newest_postgres(self._for_sqlalchemy(), self.name)

    def session(self) -> PostgresSession:
        """The writer's connection: durable at each commit, whatever the server's default."""
        try:
            connection = self._connect(writes=True)
            row = connection.execute("SHOW synchronous_commit").fetchone()
            if row == ("off",):
                connection.execute("SET synchronous_commit = on")
        except psycopg.Error as error:
            raise NothingKept(not_written(str(error))) from error
        return PostgresSession(connection)

    def reader(self) -> PostgresReader:
        """A reader thread's connection."""
        return PostgresReader(lambda: self._connect(writes=False))

    def engine(self, readers: int) -> Engine:
        """Connections for SQLAlchemy's reads, that cannot write."""
        return create_engine(
            self._for_sqlalchemy(),
            poolclass=QueuePool,
            pool_size=readers,
            max_overflow=0,
            isolation_level="AUTOCOMMIT",
            connect_args=_settings(writes=False),
        )

    def poke(self, channel: str) -> Op | None:
        """Told to whoever listens when the transaction is committed; twice in one transaction is once."""
        return Op("SELECT pg_notify(:channel, '')", {"channel": channel})

    def give_back(self) -> Op | None:
        """Its own autovacuum does."""
        return None

    def listen(self, channels: Sequence[str], poked: Callable[[str], None]) -> Listener | None:
        """A thread with a connection of its own."""
        return PostgresListener(lambda: self._connect(writes=False), channels, poked)

    def _connect(self, *, writes: bool) -> psycopg.Connection[Any]:
        url = self._url.set(drivername="postgresql").render_as_string(hide_password=False)
        return psycopg.connect(url, autocommit=True, **_settings(writes=writes))

    def _for_sqlalchemy(self) -> URL:
        return self._url.set(drivername="postgresql+psycopg")


class PostgresReader:
    """A reader thread's connection, made at its first use and again after it was lost."""

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]]) -> None:
        self._connect = connect
        self._connection: psycopg.Connection[Any] | None = None

    def fetch(self, sql: str, params: Params) -> list[dict[str, Any]]:
        """A connection that was lost since the last question is made again once; what fails then is told."""
        try:
            statement = numbered_marks(sql)
            values = statement.values(params)
            known = self._connection
            try:
                return self._rows(statement.text, values)
            except psycopg.OperationalError:
                if known is None or not known.closed:
                    raise
            return self._rows(statement.text, values)
        except (psycopg.Error, ValueError, TypeError, KeyError) as error:
            raise ReadFailed(f"The database could not be read: {error}. See that its server runs.") from error

    def _rows(self, text: str, values: tuple[Any, ...]) -> list[dict[str, Any]]:
        if self._connection is None or self._connection.closed:
            self._connection = self._connect()
            self._connection.prepare_threshold = 1
            self._connection.prepared_max = STATEMENTS
        with psycopg.RawCursor(self._connection, row_factory=dict_row) as cursor:
            return cursor.execute(text, values).fetchall()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _settings(*, writes: bool) -> dict[str, Any]:
    bounds = f"-c lock_timeout={LOCK_SECONDS}s -c idle_in_transaction_session_timeout={IDLE_SECONDS}s"
    own = bounds if writes else "-c default_transaction_read_only=on"
    return {
        "connect_timeout": CONNECT_SECONDS,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 4,
        "tcp_user_timeout": SILENT_SECONDS * 1000,
        "application_name": "siteward",
        "options": own,
    }
