"""What only SQLite can do to the store."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from siteward.core.store.errors import CommitFailed, WriteRefused
from siteward.core.store.statements import Op
from siteward.core.store.store import Store

from .conftest import Held, put, scopes, together


@pytest.fixture
async def store(tmp_path: Path, held: Held) -> AsyncIterator[Store]:
    opened = await Store.open(f"sqlite:///{tmp_path}/site.db", held)
    yield opened
    held.go.set()
    await opened.close()


async def test_a_write_that_gives_up_the_whole_transaction_still_fails_alone(store: Store, held: Held) -> None:
    poison = (
        put("b"),
        Op("INSERT OR ROLLBACK INTO counters (scope, name, bucket, count) VALUES ('first', 'n', 'b', 1)"),
    )
    good, guilty, other = await together(store, held, (put("a"),), poison, (put("c"),))
    assert isinstance(guilty, WriteRefused)
    assert (good, other) == (None, None)
    assert await scopes(store) == {"first", "a", "c"}


async def test_a_failed_commit_tells_every_rider(store: Store, held: Held) -> None:
    # A deferred foreign key fails at COMMIT itself, as a full disk does.
    deferred = Op("PRAGMA defer_foreign_keys=ON")
    orphan = Op(
        "INSERT INTO workflow_versions (workflow_id, version, text, sha256, by, at) VALUES ('gone', 1, '', '', '', 0)"
    )
    outcomes = await together(store, held, (put("a"),), (deferred, orphan), (put("c"),))
    assert all(isinstance(outcome, CommitFailed) for outcome in outcomes)
    assert await scopes(store) == {"first"}
    await store.submit(put("later"))


async def test_a_database_held_by_another_process_is_told_as_such(store: Store, held: Held, tmp_path: Path) -> None:
    held.go.set()
    await store.submit(Op("PRAGMA busy_timeout=1"))
    other = sqlite3.connect(tmp_path / "site.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(CommitFailed, match="locked"):
        await store.submit(put("a"))
    other.execute("ROLLBACK")
    other.close()
    await store.submit(put("b"))
    assert await scopes(store) == {"b"}


async def test_a_database_held_for_a_moment_is_waited_for(store: Store, held: Held, tmp_path: Path) -> None:
    held.go.set()
    other = sqlite3.connect(tmp_path / "site.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = store.send(put("a"))
    assert await scopes(store) == set()
    assert not waiting.done()
    other.execute("COMMIT")
    other.close()
    await waiting
    assert await scopes(store) == {"a"}


async def test_every_commit_is_on_the_disk(store: Store, held: Held) -> None:
    held.go.set()
    await store.submit(
        Op("CREATE TABLE seen AS SELECT * FROM pragma_synchronous, pragma_journal_mode, pragma_foreign_keys")
    )
    with sqlite3.connect(store.path) as reader:
        assert reader.execute("SELECT * FROM seen").fetchone() == (2, "wal", 1)
    reader.close()


async def test_a_full_disk_fails_what_it_cannot_keep_and_nothing_else(store: Store, held: Held) -> None:
    """The database may not grow: a large write is told that it may be tried again, and small ones beside it are kept."""
    held.go.set()
    await store.submit(Op("PRAGMA max_page_count=200"))
    large = put("x" * 4_000_000)
    with pytest.raises(CommitFailed, match="full"):
        await store.submit(large)
    sent = [store.send(one) for one in (put("a"), large, put("b"))]
    outcomes = await asyncio.gather(*sent, return_exceptions=True)
    assert [isinstance(outcome, CommitFailed) for outcome in outcomes] == [False, True, False]
    assert await scopes(store) == {"a", "b"}
    await store.submit(Op("PRAGMA max_page_count=100000"))
    await store.submit(large)
