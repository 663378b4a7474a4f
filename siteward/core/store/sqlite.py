"""SQLite: one file, one process that writes; durable at each commit, and readers that never hold up the writer (WAL)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.pool import QueuePool

from siteward.core.store.backend import Listener, NothingKept
from siteward.core.store.errors import CommitFailed, DatabaseUnusable, LostRace, ReadFailed, WriteRefused
from siteward.core.store.migrate import migrate
from siteward.core.store.revision import require_newest
from siteward.core.store.statements import STATEMENTS, Op, Params, question_marks

BUSY_MILLISECONDS: Final = 10_000
"""How long a write waits for another process that holds the file."""
UNWRITABLE: Final = (ValueError, TypeError, OverflowError, KeyError)
"""What is raised, before a statement runs, for a value that no column holds (half a surrogate pair, a number over 64 bits) or that is missing."""
_NOT_THE_STATEMENT: Final = frozenset(
    {
        *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY),
        *(sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL),
        *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOTADB),
    }
)
"""Errors that say nothing of the statement: it may be written another time."""


class Sqlite:
    """A database in a file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = path

    def migrate(self) -> None:
        """Make the file where there is none, and bring it to the newest migration."""
        migrate(self.path)

    def require_newest(self) -> None:
        """Refuse a file of another version; nothing is written."""
        require_newest(Path(self.path))

    def session(self) -> SqliteSession:
        """The writer's connection."""
        try:
            return SqliteSession(connect(self.path))
        except sqlite3.Error as error:
            raise NothingKept(_not_written(error)) from error

    def reader(self) -> SqliteReader:
        """A reader thread's connection."""
        try:
            return SqliteReader(self.path)
        except sqlite3.Error as error:
            raise ReadFailed(_not_read(error)) from error

    def engine(self, readers: int) -> Engine:
        """Connections for SQLAlchemy's reads, that cannot write."""
        url, threads = f"sqlite:///{self.path}", {"check_same_thread": False}
        engine = create_engine(url, poolclass=QueuePool, pool_size=readers, max_overflow=0, connect_args=threads)
        event.listen(engine, "connect", _make_reader)
        return engine

    def poke(self, channel: str) -> Op | None:
        """There is no other process."""
        return None

    def give_back(self) -> Op | None:
        """One page: Python's driver takes one step of this statement, whatever number stands in it."""
        return Op("PRAGMA incremental_vacuum(1)")

    def listen(self, channels: Sequence[str], poked: Callable[[str], None]) -> Listener | None:
        """There is no other process."""
        return None


class SqliteSession:
    """The writer's connection to a file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._lost = False

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    @property
    def lost(self) -> bool:
        return self._lost

    def begin(self, *, in_turn: bool = False) -> None:
        self._command("BEGIN IMMEDIATE")

    def run(self, ops: Sequence[Op]) -> None:
        cursor = self._cursor
        execute = cursor.execute
        try:
            for sql, params, expect in ops:
                statement = question_marks(sql)
                execute(statement.text, statement.values(params))
                if expect is not None and cursor.rowcount != expect:
                    raise LostRace(f"A row changed meanwhile ({cursor.rowcount} rows instead of {expect}): {sql[:80]}")
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _NOT_THE_STATEMENT:
                raise NothingKept(_not_written(error)) from error
            raise WriteRefused(f"The database refused a write: {error}.") from error
        except UNWRITABLE as error:
            raise WriteRefused(f"The database refused a write: {error}.") from error

    def mark(self) -> None:
        self._command("SAVEPOINT rider")

    def keep(self) -> None:
        self._command("RELEASE rider")

    def undo(self) -> None:
        self._command("ROLLBACK TO rider")
        self._command("RELEASE rider")

    def _command(self, sql: str) -> None:
        try:
            self._cursor.execute(sql)
        except sqlite3.Error as error:
            raise NothingKept(_not_written(error)) from error

    def commit(self) -> None:
        try:
            self._cursor.execute("COMMIT")
        except sqlite3.Error as error:
            self.rollback()
            raise CommitFailed(_not_written(error)) from error

    def rollback(self) -> None:
        try:
            if self._connection.in_transaction:
                self._cursor.execute("ROLLBACK")
        except sqlite3.Error:
            self._lost = True

    def close(self) -> None:
        self._connection.close()


class SqliteReader:
    """A reader thread's connection; its statements stay prepared."""

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(
            path, isolation_level=None, cached_statements=STATEMENTS, check_same_thread=False
        )
        _make_reader(self._connection, None)

    def fetch(self, sql: str, params: Params) -> list[dict[str, Any]]:
        try:
            statement = question_marks(sql)
            cursor = self._connection.execute(statement.text, statement.values(params))
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        except (sqlite3.Error, *UNWRITABLE) as error:
            raise ReadFailed(_not_read(error)) from error

    def close(self) -> None:
        self._connection.close()


def sqlite_path(url: str) -> str:
    """The file of `sqlite:///path`. Raises `DatabaseUnusable` for one in memory, or without a path."""
    database = make_url(url).database
    if not database or database == ":memory:":
        raise DatabaseUnusable(f"The database {url} has no file: write sqlite:///path/to/site.db.")
    return database


def connect(path: str) -> sqlite3.Connection:
    """A connection as the engine needs it: durable at each commit, foreign keys on, patient with other writers."""
    seconds = BUSY_MILLISECONDS / 1000
    connection = sqlite3.connect(path, isolation_level=None, timeout=seconds, cached_statements=STATEMENTS)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
    return connection


def _make_reader(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    for pragma in (f"busy_timeout={BUSY_MILLISECONDS}", "query_only=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _not_written(error: sqlite3.Error) -> str:
    return f"The database could not be written: {error}. Free disk space, or stop what holds it."


def _not_read(error: Exception) -> str:
    return f"The database could not be read: {error}. Stop what holds it."
