"""A copy of a database under writes: it ends, it is one instant, and the writer is not held up by it."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from siteward.core.store.backup import STEP_PAGES, copy_database
from siteward.core.store.errors import DatabaseUnusable

ROWS = 4000


class Writing:
    """Another connection that commits pairs of rows, one in each of two tables, until it is stopped."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.commits = 0

    def __enter__(self) -> Writing:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        with closing(sqlite3.connect(self._file, isolation_level=None, timeout=0)) as connection:
            while not self._stop.is_set():
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("INSERT INTO a VALUES (randomblob(2000))")
                connection.execute("INSERT INTO b VALUES (randomblob(2000))")
                connection.execute("COMMIT")
                self.commits += 1


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A file of some steps' length."""
    file = tmp_path / "site.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA journal_mode=WAL")
        for table in "ab":
            connection.execute(f"CREATE TABLE {table} (x)")
            connection.executemany(f"INSERT INTO {table} VALUES (randomblob(1000))", [()] * ROWS)
    return file


def test_a_copy_under_writes_ends_and_is_one_instant(database: Path, tmp_path: Path) -> None:
    pages = database.stat().st_size // 4096
    rests: list[float] = []

    def rest(seconds: float) -> None:
        """Until somebody else wrote: whoever copies by steps without holding an instant would start again here, for ever."""
        seen = writing.commits
        while writing.commits < seen + 2:
            assert len(rests) < 100
        rests.append(seconds)

    with Writing(database) as writing:
        copy_database(database, tmp_path / "copy.db", rest)
    assert len(rests) <= pages // STEP_PAGES + 4
    assert writing.commits > 2 * (len(rests) - 1)
    with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        (a,) = copy.execute("SELECT count(*) FROM a").fetchone()
        (b,) = copy.execute("SELECT count(*) FROM b").fetchone()
    assert a == b >= ROWS


def test_only_its_owner_reads_the_copy(database: Path, tmp_path: Path) -> None:
    copy_database(database, tmp_path / "copy.db")
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600


def test_what_is_no_database_leaves_no_copy(tmp_path: Path) -> None:
    (tmp_path / "site.db").write_bytes(b"x" * 5000)
    with pytest.raises(DatabaseUnusable, match="cannot be copied"):
        copy_database(tmp_path / "site.db", tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
