"""Which migration a database stands at, and whether this Siteward can use it as it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

from alembic.config import Config
from alembic.script import ScriptDirectory

from siteward.core.store.errors import DatabaseNewer, DatabaseOlder, DatabaseUnusable


@cache
def known() -> tuple[str, ...]:
    """The revisions that this Siteward knows, the newest first."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return tuple(script.revision for script in ScriptDirectory.from_config(config).walk_revisions())


def revision_of(path: Path) -> str | None:
    """The revision of an SQLite file, None where it holds no Siteward's tables. Nothing is written. Raises `DatabaseUnusable`."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            tables = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone()
            row = tables and connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error as error:
        raise DatabaseUnusable(f"The database {path} cannot be read: {error}.", where=str(path)) from error
    return None if not row else str(row[0])


def require_known(revision: str | None, what: str) -> None:
    """Refuse what a newer Siteward wrote. `what` names it at the beginning of the sentence. Raises `DatabaseNewer`."""
    if revision is not None and revision not in known():
        raise DatabaseNewer(
            f"{what} was written by a newer Siteward (its version is {revision}). Install that version or a later one.",
            where=what,
        )


def require_newest(path: Path) -> None:
    """Refuse a database that is not at this Siteward's newest revision, without bringing it there: a host of another version may run on it.

    Raises `DatabaseNewer`, `DatabaseOlder`, `DatabaseUnusable`.
    """
    require_newest_of(revision_of(path), str(path))


def require_newest_of(revision: str | None, database: str) -> None:
    """The same for the revision of any database. Raises `DatabaseNewer`, `DatabaseOlder`."""
    require_known(revision, f"The database {database}")
    if revision != known()[0]:
        raise DatabaseOlder(
            f"The database {database} is of an older Siteward. Start this version once with `siteward run`: it brings the database up to date.",
            where=database,
        )
