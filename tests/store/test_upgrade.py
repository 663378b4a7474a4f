"""Every database that a release left on a disk becomes today's, with all that was in it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Engine, MetaData, create_engine, make_url, select

from siteward.core.store.revision import known
from siteward.core.store.schema import metadata
from siteward.core.store.store import Store, backend_of
from tests.postgres import Server

from .conftest import put, scopes
from .dump import SCHEMAS, of_psycopg

DUMPS = sorted(SCHEMAS.glob("*.sql"))


@pytest.fixture(params=DUMPS, ids=lambda dump: dump.name.removesuffix(".sql"))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database as it was."""
    text = request.param.read_text()
    if ".sqlite." in request.param.name:
        with closing(sqlite3.connect(tmp_path / "site.db")) as database:
            database.executescript(text)
        yield f"sqlite:///{tmp_path}/site.db"
        return
    server: Server = request.getfixturevalue("postgres")
    url = server.empty()
    with psycopg.connect(url) as connection:
        connection.pgconn.exec_(text.encode())  # many statements at once
    yield url
    server.drop(url)


def _engine(url: str) -> Engine:
    parsed = make_url(url)
    return create_engine(parsed if parsed.drivername == "sqlite" else of_psycopg(parsed))


def _rows(url: str) -> dict[str, list[dict[str, Any]]]:
    engine, tables = _engine(url), MetaData()
    tables.reflect(engine)
    with engine.connect() as connection:
        found = {
            table.name: [dict(row) for row in connection.execute(select(table)).mappings()]
            for table in tables.sorted_tables
        }
    engine.dispose()
    del found["alembic_version"]
    return found


async def test_it_becomes_todays_with_all_that_was_in_it(old: str) -> None:
    before = _rows(old)
    assert all(before.values()), "a dump has a row in each table"
    store = await Store.open(old)
    try:
        await store.submit(put("new"))
        assert "new" in await scopes(store)
    finally:
        await store.close()
    after = _rows(old)
    for table, rows in before.items():
        for row in rows:
            assert any(row.items() <= now.items() for now in after[table]), f"{table} lost or changed a row"


def test_it_has_then_exactly_the_tables_of_the_schema(old: str) -> None:
    backend_of(old).migrate()
    engine = _engine(old)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


def test_each_release_left_its_files() -> None:
    """A dump is of a revision; the newest release's is made before it is released (`tests/store/dump.py`)."""
    released = re.findall(r"^## ([0-9.]+) \(\d{4}-\d\d-\d\d\)", Path("CHANGELOG.md").read_text(), re.MULTILINE)
    kept = {dump.name.split(".")[0] for dump in DUMPS}
    assert kept and kept <= set(known())
    assert not released or known()[0] in kept, "the newest revision was released: keep how it looks"
    assert {f"{one}.{kind}.sql" for one in kept for kind in ("sqlite", "postgresql")} == {dump.name for dump in DUMPS}
