"""Brings a database to the newest migration, and refuses one that is newer than this Siteward."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, create_engine, event
from sqlalchemy.exc import DatabaseError, DBAPIError, OperationalError
from sqlalchemy.pool import NullPool

from siteward.core.store.errors import DatabaseNewer, DatabaseUnusable
from siteward.core.store.revision import require_newest_of

_WHAT_TO_DO: Final = (
    "Nothing was changed. Check that the folder may be written and has room; put a backup in its place, or move the file away to begin "
    "with an empty one."
)
_MIGRATES: Final = 7_483_920
"""The advisory lock of migrations: one process migrates at a time."""


def migrate(path: str) -> None:
    """Migrate the SQLite file at `path`, made where it does not exist. Raises `DatabaseNewer`, `DatabaseUnusable`."""
    _make_file(path)
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    event.listen(engine, "connect", _leave_transactions_to_us)
    event.listen(engine, "begin", _begin)
    try:
        with engine.begin() as connection:
            upgrade(connection, path)
    except (OperationalError, DatabaseError) as error:
        raise DatabaseUnusable(
            f"The database {path} cannot be used: {error.orig}. {_WHAT_TO_DO}", where=path
        ) from error
    finally:
        engine.dispose()


def migrate_postgres(url: URL, name: str) -> None:
    """Migrate the PostgreSQL database at `url`; `name` is what a person may read of it. Raises `DatabaseNewer`, `DatabaseUnusable`."""
    with connected_to_postgres(url, name) as connection:
        alone(connection)
        upgrade(connection, name)


def alone(connection: Connection) -> None:
    """Wait until no other process changes this PostgreSQL database's tables; none does until the transaction ends."""
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATES})")


def require_newest_postgres(url: URL, name: str) -> None:
    """Refuse a PostgreSQL database that is not at the newest migration. Raises `DatabaseNewer`, `DatabaseOlder`, `DatabaseUnusable`."""
    with connected_to_postgres(url, name) as connection:
        require_newest_of(MigrationContext.configure(connection).get_current_revision(), name)


@contextmanager
def connected_to_postgres(url: URL, name: str) -> Iterator[Connection]:
    """One transaction on the database at `url`, committed when the block ends well. Raises `DatabaseUnusable` for what the server refuses."""
    engine = create_engine(url, poolclass=NullPool, connect_args={"connect_timeout": 5})
    try:
        with engine.begin() as connection:
            yield connection
    except DBAPIError as error:
        raise DatabaseUnusable(
            f"The database {name} cannot be used: {str(error.orig).strip()}. See that its server runs, that the database exists and that "
            "this user may make tables in it.",
            where=name,
        ) from error
    finally:
        engine.dispose()


def _leave_transactions_to_us(connection: sqlite3.Connection, _record: object) -> None:
    """Python's sqlite3 would commit around each CREATE: a process killed between two of them would leave half a migration, for ever."""
    connection.isolation_level = None


def _begin(connection: Connection) -> None:
    """All of a migration is one transaction, and one process migrates at a time."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def upgrade(connection: Connection, path: str, to: str = "head") -> None:
    """Bring the database behind `connection` to a revision within its transaction; `path` is its name. Raises `DatabaseNewer`."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    scripts = ScriptDirectory.from_config(config)
    current = MigrationContext.configure(connection).get_current_revision()
    if current == scripts.get_current_head():
        return
    if current is not None and current not in {script.revision for script in scripts.walk_revisions()}:
        raise DatabaseNewer(
            f"The database {path} was written by a newer Siteward (its version is {current}). Install that version or a later one, or "
            "restore a backup made before the upgrade.",
            where=path,
        )
    config.attributes["connection"] = connection
    command.upgrade(config, to)


def _make_file(path: str) -> None:
    """WAL and incremental vacuum belong to the file and must be set before its first table. What is set already is not written again: a
    database that this Siteward then refuses stays byte for byte as it was."""
    try:
        with suppress(OSError):  # it is there, or SQLite says what is wrong
            # Accounts and what cameras saw are for the site's owner alone; the files beside it get the same mode.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(path)
        try:
            if connection.execute("PRAGMA page_count").fetchone() == (0,):
                connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
            if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                connection.execute("PRAGMA journal_mode=WAL")
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise DatabaseUnusable(f"The database {path} cannot be opened: {error}. {_WHAT_TO_DO}", where=path) from error
