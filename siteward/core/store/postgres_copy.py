"""A PostgreSQL site's rows into streams and back, over the server's own COPY: nothing beside psycopg is needed, and no table is ever held in memory.

A stream is the names of a table's columns in one line, tabs between them, and behind it the rows in COPY's text format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing
from datetime import datetime
from typing import IO, Any, Final, Protocol

import psycopg
from psycopg import sql
from sqlalchemy import Connection, make_url

from siteward.core.store.errors import DatabaseInUse, DatabaseUnusable, RowsRefused
from siteward.core.store.migrate import alone, connected_to_postgres, upgrade
from siteward.core.store.revision import require_known
from siteward.core.store.schema import metadata

ALIVE_SECONDS: Final = 15
"""A process that beat within this time is at work (`engine.leases`)."""
_LONGEST_HEAD: Final = 64 * 1024
_CHUNK: Final = 256 * 1024
_VERSION: Final = "alembic_version"

Prepare = Callable[[Connection], None]
"""What else is written in the transaction of the restore, behind the rows."""


class Stream(Protocol):
    """What takes a table's rows."""

    def write(self, chunk: bytes, /) -> object: ...


def copy_out(url: str, into: Callable[[str], AbstractContextManager[Stream]]) -> str:
    """Write one instant of the site's database at `url` table by table; gives its revision. Holds up nobody who writes.

    Raises `DatabaseNewer`, `DatabaseUnusable`, and what the streams raise.
    """
    address = make_url(url).set(drivername="postgresql")
    name = address.render_as_string()
    try:
        with closing(psycopg.connect(address.render_as_string(hide_password=False), connect_timeout=5)) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            revision = _revision(connection, name)
            require_known(revision, f"The database {name}")
            there = _tables(connection)
            for table in (one.name for one in metadata.sorted_tables if one.name in there):
                with into(table) as stream:
                    _copy_table_out(connection, table, stream)
    except psycopg.Error as error:
        raise DatabaseUnusable(f"The database {name} cannot be copied: {str(error).strip()}.", where=name) from error
    return revision


def _revision(connection: psycopg.Connection[Any], name: str) -> str:
    row = _VERSION in _tables(connection) and connection.execute("SELECT version_num FROM alembic_version").fetchone()
    if not row:
        raise DatabaseUnusable(f"The database {name} holds no tables of Siteward yet.", where=name)
    return str(row[0])


def _tables(connection: psycopg.Connection[Any]) -> set[str]:
    found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
    return {str(name) for (name,) in found}


def _columns(connection: psycopg.Connection[Any], table: str) -> list[str]:
    found = connection.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = %s "
        "ORDER BY ordinal_position",
        (table,),
    )
    return [str(name) for (name,) in found]


def _copy_table_out(connection: psycopg.Connection[Any], table: str, stream: Stream) -> None:
    columns = _columns(connection, table)
    stream.write("\t".join(columns).encode() + b"\n")
    with connection.cursor().copy(_copy(table, columns, "TO STDOUT")) as copy:
        for chunk in copy:
            stream.write(bytes(chunk))


def _copy(table: str, columns: list[str], direction: str) -> sql.Composed:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    return sql.SQL("COPY {} ({}) {}").format(sql.Identifier(table), names, sql.SQL(direction))


# -- back --------------------------------------------------------------------------------------------------------------
def copy_in(
    url: str,
    revision: str,
    tables: Mapping[str, Callable[[], IO[bytes]]],
    now: datetime,
    prepare: Prepare,
    committing: Callable[[], None],
) -> str | None:
    """Put the rows of `tables`, written at `revision`, in the place of what the database at `url` holds, in one transaction: what is there is set aside in
    a schema of its own (its name is given; None: nothing was there), the rows are brought to this version, `prepare` adds to them, and `committing` is
    called just before the commit.

    Raises `DatabaseInUse`, `DatabaseUnusable`, `RowsRefused`: then the database is as it was.
    """
    address = make_url(url).set(drivername="postgresql+psycopg")
    name = address.set(drivername="postgresql").render_as_string()
    try:
        with connected_to_postgres(address, name) as connection:
            driver: psycopg.Connection[Any] = connection.connection.driver_connection  # type: ignore[assignment]
            driver.execute("SET LOCAL lock_timeout = '10s'")
            alone(connection)
            aside = _set_aside(driver, name, now)
            upgrade(connection, name, revision)
            _fill(driver, tables)
            upgrade(connection, name)
            prepare(connection)
            committing()
    except psycopg.errors.LockNotAvailable as error:
        raise DatabaseInUse(f"The database {name} is in use by somebody else. Stop that first.", where=name) from error
    except psycopg.Error as error:
        raise DatabaseUnusable(f"The database {name} cannot be put back: {str(error).strip()}.", where=name) from error
    return aside


def _set_aside(connection: psycopg.Connection[Any], name: str, now: datetime) -> str | None:
    there = _tables(connection)
    ours = [one for one in (*(table.name for table in metadata.sorted_tables), _VERSION) if one in there]
    if "engines" in ours:
        _require_nobody(connection, name)
    if not ours:
        return None
    aside = _free_schema(connection, now.strftime("replaced_%Y%m%d_%H%M%S"))
    connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(aside)))
    for table in ours:
        connection.execute(sql.SQL("ALTER TABLE {} SET SCHEMA {}").format(sql.Identifier(table), sql.Identifier(aside)))
    return aside


def _require_nobody(connection: psycopg.Connection[Any], name: str) -> None:
    # Nobody joins from here on: who tries waits for this transaction, and finds its tables replaced.
    connection.execute("LOCK TABLE engines IN ACCESS EXCLUSIVE MODE")
    query = "SELECT name FROM engines WHERE beat_at > EXTRACT(EPOCH FROM clock_timestamp()) - %s ORDER BY name"
    at_work = [str(one) for (one,) in connection.execute(query, (ALIVE_SECONDS,))]
    if at_work:
        raise DatabaseInUse(
            f"The database {name} is in use by {', '.join(at_work)}. Stop every process of the site first; where one was killed, wait for "
            f"{ALIVE_SECONDS} s.",
            where=name,
        )


def _free_schema(connection: psycopg.Connection[Any], stem: str) -> str:
    taken = {str(one) for (one,) in connection.execute("SELECT nspname FROM pg_namespace")}
    return next(one for one in (stem, *(f"{stem}_{number}" for number in range(1, 100))) if one not in taken)


def _fill(connection: psycopg.Connection[Any], tables: Mapping[str, Callable[[], IO[bytes]]]) -> None:
    there = _tables(connection) - {_VERSION}
    if tables.keys() != there:
        wrong = ", ".join(sorted(tables.keys() ^ there))
        raise RowsRefused(f"The backup does not hold the tables of its version ({wrong}).")
    for table in (one.name for one in metadata.sorted_tables if one.name in there):
        with tables[table]() as stream:
            _copy_table_in(connection, table, stream)
    for table, column in _counted(connection):
        serial = sql.SQL(
            "SELECT setval(pg_get_serial_sequence({0}, {1}), max({2})) FROM {3} HAVING max({2}) IS NOT NULL"
        )
        connection.execute(
            serial.format(sql.Literal(table), sql.Literal(column), sql.Identifier(column), sql.Identifier(table))
        )


def _copy_table_in(connection: psycopg.Connection[Any], table: str, stream: IO[bytes]) -> None:
    columns = stream.readline(_LONGEST_HEAD).decode("utf-8", "replace").rstrip("\n").split("\t")
    known = _columns(connection, table)
    if sorted(columns) != sorted(known):
        raise RowsRefused(f"The rows of {table} in the backup have other columns than the table.", where=table)
    try:
        with connection.cursor().copy(_copy(table, columns, "FROM STDIN")) as copy:
            for chunk in _chunks(stream):
                copy.write(chunk)
    except (psycopg.DataError, psycopg.IntegrityError) as error:
        raise RowsRefused(
            f"The rows of {table} in the backup cannot be taken: {error.diag.message_primary}.", where=table
        ) from error


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK):
        yield chunk


def _counted(connection: psycopg.Connection[Any]) -> list[tuple[str, str]]:
    """The columns that the server numbers."""
    found = connection.execute(
        "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_schema = current_schema() AND (column_default LIKE 'nextval(%' OR is_identity = 'YES')"
    )
    return [(str(table), str(column)) for table, column in found]
