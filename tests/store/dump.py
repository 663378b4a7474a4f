"""Makes a file of `schemas/`: how the database looks at a revision, with a row in each table, on SQLite and on PostgreSQL.

    python -m tests.store.dump 0003

Each release leaves the files of its own revision behind, and they are never made again: they are what sites of that release have on their disks.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import URL, Boolean, Engine, Float, LargeBinary, MetaData, Table, create_engine, make_url
from sqlalchemy.types import Integer

from siteward.core.store import migrate
from tests.postgres import server

SCHEMAS = Path(__file__).parent / "schemas"


def bring_to(engine: Engine, revision: str) -> None:
    """The tables of a revision."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def fill(engine: Engine) -> None:
    """A row in each table, the same on both databases."""
    tables = MetaData()
    tables.reflect(engine)
    with engine.begin() as connection:
        for table in tables.sorted_tables:
            if table.name != "alembic_version":
                connection.execute(table.insert().values(dict(_values(table))))


def _values(table: Table) -> Iterator[tuple[str, Any]]:
    for number, column in enumerate(table.columns):
        if column.foreign_keys:
            (key,) = column.foreign_keys
            yield column.name, f"{key.column.table.name}-{key.column.name}"
        elif isinstance(column.type, Boolean):
            yield column.name, True
        elif isinstance(column.type, Integer):
            yield column.name, number + 1
        elif isinstance(column.type, Float):
            yield column.name, 1_732_991_234.25 + number
        elif isinstance(column.type, LargeBinary):
            yield column.name, b"\x00\xff picture"
        else:
            yield column.name, f"{table.name}-{column.name}"


def _sqlite(revision: str) -> str:
    with TemporaryDirectory() as folder:
        engine = create_engine(f"sqlite:///{folder}/site.db")
        bring_to(engine, revision)
        fill(engine)
        engine.dispose()
        with closing(sqlite3.connect(f"{folder}/site.db")) as database:
            return "\n".join(database.iterdump()) + "\n"


def _postgresql(revision: str) -> str:
    with server() as running:
        url = make_url(running.empty())
        engine = create_engine(of_psycopg(url))
        bring_to(engine, revision)
        fill(engine)
        engine.dispose()
        address = url.render_as_string(hide_password=False)
        dumped = running.call("pg_dump", "--inserts", "--no-owner", "--no-privileges", address)
        kept = [line for line in dumped.splitlines() if line and not line.startswith(("--", "\\"))]
        return "\n".join(kept) + "\n"


def of_psycopg(url: URL) -> URL:
    """The URL as SQLAlchemy wants it."""
    return url.set(drivername="postgresql+psycopg")


if __name__ == "__main__":
    SCHEMAS.mkdir(exist_ok=True)
    (SCHEMAS / f"{sys.argv[1]}.sqlite.sql").write_text(_sqlite(sys.argv[1]))
    (SCHEMAS / f"{sys.argv[1]}.postgresql.sql").write_text(_postgresql(sys.argv[1]))
