"""The database is brought to the newest version, or refused with a sentence."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Engine, create_engine, event

from siteward.core.store.errors import DatabaseNewer, DatabaseUnusable
from siteward.core.store.migrate import migrate
from siteward.core.store.schema import metadata
from siteward.core.store.store import Store, backend_of


def test_a_migrated_database_has_exactly_the_tables_of_the_schema(tmp_path: Path) -> None:
    path = str(tmp_path / "site.db")
    migrate(path)
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        indexes = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type='index'")
        made = {row[0]: row[1] for row in indexes}
    engine.dispose()
    assert "WHERE one_key IS NOT NULL" in made["uq_runs_one_at_a_time"]


def test_migrating_twice_changes_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "site.db")
    migrate(path)
    with sqlite3.connect(path) as connection:
        before = list(connection.iterdump())
    migrate(path)
    assert list(connection.iterdump()) == before
    connection.close()


def test_live_updates_never_get_a_number_twice(tmp_path: Path) -> None:
    path = str(tmp_path / "site.db")
    migrate(path)
    with sqlite3.connect(path) as connection:
        for _ in range(2):
            connection.execute("INSERT INTO outbox (topic, payload, at) VALUES ('t', '{}', 0)")
            connection.execute("DELETE FROM outbox")
        connection.execute("INSERT INTO outbox (topic, payload, at) VALUES ('t', '{}', 0)")
        assert connection.execute("SELECT id FROM outbox").fetchone() == (3,)
    connection.close()


def test_a_newer_database_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = str(tmp_path / "site.db")
    migrate(path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(DatabaseNewer, match=r"newer Siteward \(its version is 9999\)"):
        migrate(path)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "site.db").write_text("this is a letter, not a database, and long enough to be sure of it" * 20)
    with pytest.raises(DatabaseUnusable, match=r"site\.db"):
        migrate(str(tmp_path / "site.db"))


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnusable, match="does not exist"):
        await Store.open(f"sqlite:///{tmp_path}/nowhere/site.db")


@pytest.mark.parametrize("url", ["mysql://host/site", "sqlite://", "sqlite:///:memory:"])
def test_a_database_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(DatabaseUnusable, match=r"sqlite:///"):
        backend_of(url)


class PowerCut(BaseException):
    """The process ends here."""


def test_a_migration_that_was_cut_off_leaves_nothing_and_is_made_by_the_next_start(tmp_path: Path) -> None:
    path, made = str(tmp_path / "site.db"), list[str]()

    def cut(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        if "CREATE TABLE" in statement:
            made.append(statement)
        if len(made) == 4:
            raise PowerCut

    event.listen(Engine, "after_cursor_execute", cut)
    try:
        with pytest.raises(PowerCut):
            migrate(path)
    finally:
        event.remove(Engine, "after_cursor_execute", cut)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == []
    migrate(path)
    with closing(sqlite3.connect(path)) as database:
        assert ("workflow_runs",) in database.execute("SELECT name FROM sqlite_master").fetchall()
