"""The group-commit writer: each rider has its own outcome, and nobody acts on a commit that did not happen."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import select

from siteward.core.store.errors import CommitFailed, LostRace, ReadFailed, StoreClosed, WriteRefused
from siteward.core.store.schema import counters
from siteward.core.store.store import Store
from siteward.core.store.writer import Op


class Held:
    """Boundaries that hold the writer's thread at the first transaction, so that a test decides which writes ride together."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()

    def reach(self, name: str) -> None:
        if name == "commit.begin":
            self.begun.set()
            self.go.wait(10)


def put(scope: str, count: int = 1) -> Op:
    return Op("INSERT INTO counters (scope, name, bucket, count) VALUES (:s, 'n', 'b', :c)", {"s": scope, "c": count})


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
async def store(tmp_path: Path, held: Held) -> AsyncIterator[Store]:
    opened = await Store.open(f"sqlite:///{tmp_path}/site.db", held)
    yield opened
    held.go.set()
    await opened.close()


async def together(store: Store, held: Held, *riders: tuple[Op, ...]) -> list[tuple[int, ...] | BaseException]:
    """Submit all riders so that the writer takes them in one transaction."""
    first = asyncio.create_task(store.submit(put("first")))
    await asyncio.to_thread(held.begun.wait)
    tasks = [asyncio.create_task(store.submit(*ops)) for ops in riders]
    await asyncio.sleep(0)
    held.go.set()
    await first
    return await asyncio.gather(*tasks, return_exceptions=True)


async def scopes(store: Store) -> set[str]:
    return {row["scope"] for row in await store.read(select(counters.c.scope))}


async def test_writes_that_wait_share_one_commit(store: Store, held: Held) -> None:
    await together(store, held, *[(put(f"s{n}"),) for n in range(50)])
    assert store.writer.commits == 2


async def test_a_poisoned_write_fails_only_its_own_rider(store: Store, held: Held) -> None:
    good, poison, other = await together(
        store, held, (put("a"),), (put("b"), Op("INSERT INTO nowhere VALUES (1)")), (put("c"),)
    )
    assert isinstance(poison, WriteRefused)
    assert (good, other) == ((1,), (1,))
    assert await scopes(store) == {"first", "a", "c"}
    assert store.writer.commits == 2


async def test_a_write_that_gives_up_the_whole_transaction_still_fails_alone(store: Store, held: Held) -> None:
    poison = (
        put("b"),
        Op("INSERT OR ROLLBACK INTO counters (scope, name, bucket, count) VALUES ('first', 'n', 'b', 1)"),
    )
    good, guilty, other = await together(store, held, (put("a"),), poison, (put("c"),))
    assert isinstance(guilty, WriteRefused)
    assert (good, other) == ((1,), (1,))
    assert await scopes(store) == {"first", "a", "c"}


async def test_a_lost_race_undoes_its_rider_and_names_the_statement(store: Store, held: Held) -> None:
    lost = (put("b"), Op("UPDATE counters SET count = 9 WHERE scope = 'gone'", expect=1))
    raced, other = await together(store, held, lost, (put("c"),))
    assert isinstance(raced, LostRace) and "UPDATE counters" in raced.sentence
    assert other == (1,)
    assert await scopes(store) == {"first", "c"}


async def test_a_rider_sees_the_rows_of_those_before_it(store: Store, held: Held) -> None:
    claim = Op("UPDATE counters SET count = count + 1 WHERE scope = 'first' AND count = 1", expect=1)
    won, lost = await together(store, held, (claim,), (claim,))
    assert won == (1,)
    assert isinstance(lost, LostRace)


async def test_a_failed_commit_tells_every_rider(store: Store, held: Held) -> None:
    # A deferred foreign key fails at COMMIT itself, as a full disk does.
    deferred = Op("PRAGMA defer_foreign_keys=ON")
    orphan = Op(
        "INSERT INTO workflow_versions (workflow_id, version, text, sha256, by, at) VALUES ('gone', 1, '', '', '', 0)"
    )
    outcomes = await together(store, held, (put("a"),), (deferred, orphan), (put("c"),))
    assert all(isinstance(outcome, CommitFailed) for outcome in outcomes)
    assert await scopes(store) == {"first"}
    assert await store.submit(put("later")) == (1,)


async def test_a_database_held_by_another_process_is_told_as_such(
    store: Store, held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held.go.set()
    await store.submit(Op("PRAGMA busy_timeout=1"))
    other = sqlite3.connect(tmp_path / "site.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(CommitFailed, match="locked"):
        await store.submit(put("a"))
    other.execute("ROLLBACK")
    other.close()
    assert await store.submit(put("b")) == (1,)


async def test_a_cancelled_submitter_does_not_disturb_the_others(store: Store, held: Held) -> None:
    first = asyncio.create_task(store.submit(put("first")))
    await asyncio.to_thread(held.begun.wait)
    gone = asyncio.create_task(store.submit(put("a")))
    stays = asyncio.create_task(store.submit(put("b")))
    await asyncio.sleep(0)
    gone.cancel()
    held.go.set()
    await first
    assert await stays == (1,)
    assert await scopes(store) == {"first", "a", "b"}


async def test_closing_writes_what_was_submitted_and_refuses_the_rest(store: Store, held: Held) -> None:
    held.go.set()
    waiting = [asyncio.create_task(store.submit(put(f"s{n}"))) for n in range(5)]
    await asyncio.sleep(0)
    await store.writer.close()
    assert await asyncio.gather(*waiting) == [(1,)] * 5
    with pytest.raises(StoreClosed):
        await store.submit(put("late"))


async def test_readers_cannot_write(store: Store, held: Held) -> None:
    held.go.set()
    with pytest.raises(ReadFailed, match="readonly"):
        await store.read(counters.insert().values(scope="x", name="n", bucket="b", count=1))


async def test_every_commit_is_on_the_disk(store: Store, held: Held) -> None:
    held.go.set()
    await store.submit(
        Op("CREATE TABLE seen AS SELECT * FROM pragma_synchronous, pragma_journal_mode, pragma_foreign_keys")
    )
    with sqlite3.connect(store.path) as reader:
        assert reader.execute("SELECT * FROM seen").fetchone() == (2, "wal", 1)
    reader.close()


@pytest.mark.parametrize("value", ["\ud800", 2**70, object()], ids=["half a pair", "70 bits", "no column's type"])
async def test_a_value_that_no_column_holds_fails_alone_and_the_writer_lives(
    store: Store, held: Held, value: object
) -> None:
    bad = Op("INSERT INTO counters (scope, name, bucket, count) VALUES ('bad', 'n', 'b', :v)", {"v": value})
    good, refused, other = await together(store, held, (put("a"),), (bad,), (put("b"),))
    assert isinstance(refused, WriteRefused)
    assert (good, other) == ((1,), (1,))
    assert await store.submit(put("after")) == (1,)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_writer_that_breaks_leaves_nobody_waiting(store: Store, held: Held) -> None:
    def broken(name: str) -> None:
        raise RuntimeError(name)

    held.reach = broken  # type: ignore[method-assign]
    async with asyncio.timeout(5):
        with pytest.raises(CommitFailed):
            await store.submit(put("x"))
        with pytest.raises(StoreClosed):
            await store.submit(put("y"))


async def test_a_full_disk_fails_what_it_cannot_keep_and_nothing_else(tmp_path: Path) -> None:
    """The database may not grow: large writes are refused, each is told, and small ones go on once there is room."""
    store = await Store.open(f"sqlite:///{tmp_path}/site.db")
    try:
        await store.submit(Op("PRAGMA max_page_count=200"))
        large = Op("INSERT INTO counters (scope, name, bucket, count) VALUES (:s, 'n', 'b', 1)", {"s": "x" * 4_000_000})
        with pytest.raises((CommitFailed, WriteRefused), match="full"):
            await store.submit(large)
        assert await store.submit(put("small")) == (1,)
        assert await scopes(store) == {"small"}
    finally:
        await store.close()


async def test_what_is_sent_keeps_its_place_though_nobody_waits_for_it(store: Store, held: Held) -> None:
    held.go.set()
    unwatched = store.send(put("a"))
    raised = store.send(Op("UPDATE counters SET count = 2 WHERE scope = 'a' AND count = 1", expect=1))
    assert await raised == (1,)
    assert unwatched.done()


async def test_a_plain_read_has_named_parameters_and_gives_rows_by_name(store: Store, held: Held) -> None:
    held.go.set()
    await store.submit(put("a", 3), put("b", 4))
    sql = "SELECT scope, count FROM counters WHERE count >= :least ORDER BY scope"
    assert await store.fetch(sql, {"least": 4}) == [{"scope": "b", "count": 4}]
    assert await asyncio.gather(*[store.fetch(sql, {"least": 9}) for _ in range(20)]) == [[]] * 20


async def test_a_plain_read_cannot_write_and_says_what_is_wrong(store: Store, held: Held) -> None:
    held.go.set()
    with pytest.raises(ReadFailed, match="readonly"):
        await store.fetch("DELETE FROM counters")
    with pytest.raises(ReadFailed, match="nowhere"):
        await store.fetch("SELECT 1 FROM nowhere")
