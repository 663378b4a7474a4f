"""What only PostgreSQL can do to the store: lose the line before, inside and after a commit, restart under writes, refuse for lack of room, deadlock."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

import psycopg
import pytest
from sqlalchemy import select

from siteward.core.store import postgres, writer
from siteward.core.store.errors import CommitFailed, DatabaseUnusable, ReadFailed, WriteRefused
from siteward.core.store.schema import counters
from siteward.core.store.statements import Op
from siteward.core.store.store import Store, backend_of
from tests.postgres import Server

from .conftest import put, scopes
from .line import Cut, line_to

NUMBERED = Op("INSERT INTO outbox (topic, payload, at) VALUES (:topic, '{}', 0)")


class Going:
    """Boundaries at which a test does something once."""

    def __init__(self) -> None:
        self.at: dict[str, list[str]] = {}

    def cuts(self, name: str, url: str) -> None:
        """The server ends all other connections when this boundary is reached next."""
        self.at[name] = [url]

    def reach(self, name: str) -> None:
        if self.at.get(name):
            end_connections(self.at[name].pop())


def end_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture
def going() -> Going:
    return Going()


@pytest.fixture
async def store(postgres_url: str, going: Going) -> AsyncIterator[Store]:
    opened = await Store.open(postgres_url, going)
    yield opened
    await opened.close()


async def test_a_connection_lost_before_the_commit_is_made_again_and_nothing_is_written_twice(
    store: Store, going: Going, postgres_url: str
) -> None:
    await store.submit(put("a"))
    going.cuts("commit.begin", postgres_url)
    await asyncio.gather(*[store.send(NUMBERED._replace(params={"topic": str(n)})) for n in range(3)])
    assert going.at == {"commit.begin": []}
    rows = await store.fetch("SELECT topic FROM outbox ORDER BY id")
    assert [row["topic"] for row in rows] == ["0", "1", "2"]


async def test_a_connection_lost_with_the_commit_leaves_its_riders_unsure_and_the_writer_goes_on(
    store: Store, going: Going, postgres_url: str
) -> None:
    await store.submit(put("a"))
    going.cuts("commit.before", postgres_url)
    sent = [store.send(put(f"b{n}")) for n in range(3)]
    outcomes = await asyncio.gather(*sent, return_exceptions=True)
    assert [isinstance(outcome, CommitFailed) for outcome in outcomes] == [True] * 3
    await store.submit(put("c"))
    assert await scopes(store) == {"a", "c"}


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_an_answer_that_is_lost_is_no_answer(postgres_url: str, cut: Cut) -> None:
    """Whether the server had heard of the COMMIT cannot be known here: nobody is told yes, nothing is sent again, and all goes on."""
    async with line_to(postgres_url) as (line, url):
        store = await Store.open(url)
        try:
            await store.submit(put("a"))
            line.cut = cut
            with pytest.raises(CommitFailed, match="kept or not"):
                await store.submit(put("b"), NUMBERED._replace(params={"topic": "b"}))
            await store.submit(put("c"))
            assert await scopes(store) == ({"a", "b", "c"} if cut == "after" else {"a", "c"})
            assert len(await store.fetch("SELECT id FROM outbox")) == (1 if cut == "after" else 0)
        finally:
            await store.close()


async def test_a_server_that_is_killed_again_and_again_loses_nothing_that_it_confirmed_and_writes_nothing_twice(
    own_postgres: Server,
) -> None:
    store = await Store.open(own_postgres.database())
    confirmed, unsure, end = list[str](), list[str](), asyncio.Event()
    enough = asyncio.Semaphore(0)

    async def write(who: int) -> None:
        number = 0
        while not end.is_set():
            topic = f"{who}.{number}"
            number += 1
            try:
                await store.submit(NUMBERED._replace(params={"topic": topic}))
                confirmed.append(topic)
                enough.release()
            except CommitFailed:
                unsure.append(topic)

    try:
        async with asyncio.TaskGroup() as group:
            for who in range(8):
                group.create_task(write(who))
            for _ in range(4):
                for _ in range(200):
                    await enough.acquire()
                await asyncio.to_thread(own_postgres.kill)
                await asyncio.to_thread(own_postgres.start)
            end.set()
        rows = await store.fetch("SELECT topic, count(*) AS n FROM outbox GROUP BY topic")
        written = {row["topic"] for row in rows}
        assert {row["n"] for row in rows} == {1}
        assert set(confirmed) <= written
        assert written <= {*confirmed, *unsure}
    finally:
        await store.close()


async def test_while_the_server_is_away_writes_are_told_so_and_reads_too_and_all_goes_on_when_it_is_back(
    own_postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "PATIENCE_SECONDS", 0.2)
    store = await Store.open(own_postgres.database())
    try:
        await store.submit(put("a"))
        assert await scopes(store) == {"a"}
        await asyncio.to_thread(own_postgres.stop)
        sent = [store.send(put(f"b{n}")) for n in range(3)]
        outcomes = await asyncio.gather(*sent, return_exceptions=True)
        assert all(isinstance(outcome, CommitFailed) for outcome in outcomes)
        with pytest.raises(ReadFailed, match="See that its server runs"):
            await scopes(store)
        with pytest.raises(ReadFailed):
            await store.read(select(counters))
        await asyncio.to_thread(own_postgres.start)
        await store.submit(put("c"))
        assert await scopes(store) == {"a", "c"}
        assert len(await store.read(select(counters))) == 2
    finally:
        await store.close()


async def test_a_server_that_restarted_between_two_reads_is_asked_again(own_postgres: Server) -> None:
    store = await Store.open(own_postgres.database())
    try:
        await store.submit(put("a"))
        for _ in range(2):
            assert (len(await store.read(select(counters))), await scopes(store)) == (1, {"a"})
            await asyncio.to_thread(own_postgres.stop)
            await asyncio.to_thread(own_postgres.start)
    finally:
        await store.close()


async def test_no_room_is_no_fault_of_the_write(store: Store, postgres_url: str) -> None:
    """The server's own words for it, as a full disk of its tables would have it say them."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$"
        )
        connection.execute(
            "CREATE TRIGGER full_disk BEFORE INSERT ON counters FOR EACH ROW WHEN (NEW.scope = 'large') EXECUTE FUNCTION full_disk()"
        )
    sent = [store.send(one) for one in (put("a"), put("large"), put("b"))]
    outcomes = await asyncio.gather(*sent, return_exceptions=True)
    assert [isinstance(outcome, CommitFailed) for outcome in outcomes] == [False, True, False]
    assert "No space left" in str(outcomes[1])
    assert await scopes(store) == {"a", "b"}


async def test_a_row_that_another_process_holds_is_waited_for_but_not_for_ever(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "LOCK_SECONDS", 0.3)
    store = await Store.open(postgres_url)
    up = Op("UPDATE counters SET count = count + 1 WHERE scope = 'a'", expect=1)
    try:
        await store.submit(put("a"))
        with psycopg.connect(postgres_url) as other:
            other.execute("UPDATE counters SET count = 5")
            with pytest.raises(CommitFailed, match="lock timeout"):
                await store.submit(up)
        await store.submit(up)
        assert await store.fetch("SELECT count FROM counters") == [{"count": 6}]
    finally:
        await store.close()


async def test_two_processes_that_wait_for_each_other_both_come_through(store: Store, postgres_url: str) -> None:
    other = await Store.open(postgres_url)
    names = [f"n{n}" for n in range(6)]
    up = "UPDATE counters SET count = count + 1 WHERE scope = :s"
    try:
        await store.submit(*[put(name, 0) for name in names])
        for _ in range(20):
            there = [store.send(*[Op(up, {"s": name}, 1) for name in names]) for _ in range(3)]
            back = [other.send(*[Op(up, {"s": name}, 1) for name in reversed(names)]) for _ in range(3)]
            await asyncio.gather(*there, *back)
        assert {row["count"] for row in await store.fetch("SELECT count FROM counters")} == {120}
    finally:
        await other.close()


async def test_a_poke_reaches_other_processes_with_the_commit_that_it_tells_of(store: Store, postgres_url: str) -> None:
    other = await Store.open(postgres_url)
    heard = asyncio.Queue[str]()
    stop = other.listen(["runs"], heard.put_nowait)
    try:
        async with asyncio.timeout(30):
            assert await heard.get() == "runs"  # it listens
            store.send(put("a"))
            store.notify("runs")
            assert await heard.get() == "runs"
            assert await scopes(other) == {"a"}
            await asyncio.to_thread(end_connections, postgres_url)
            assert await heard.get() == "runs"  # it listens again, and may have missed something
            store.notify("runs")
            assert await heard.get() == "runs"
    finally:
        await asyncio.to_thread(stop)
        await other.close()


async def test_a_changing_text_does_not_fill_the_server_with_prepared_statements(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("siteward.core.store.postgres_session.STATEMENTS", 10)
    for number in range(50):
        await store.submit(Op(f"DELETE FROM counters WHERE count = {number}"))
    await store.submit(Op("INSERT INTO counters SELECT 'n', 'n', 'n', count(*) FROM pg_prepared_statements"))
    assert (await store.fetch("SELECT count FROM counters"))[0]["count"] <= 12


async def test_a_group_larger_than_any_buffer_of_the_line_comes_through(store: Store) -> None:
    await asyncio.gather(*[store.send(put(f"{n}." + "x" * 100_000)) for n in range(200)])
    assert len(await scopes(store)) == 200


async def test_a_text_with_a_nul_is_refused_whole_and_never_cut_short(store: Store) -> None:
    with pytest.raises(WriteRefused, match="NUL"):
        await store.submit(put("be\0fore"))
    assert await scopes(store) == set()


def test_a_missing_driver_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "siteward.core.store.postgres")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DatabaseUnusable, match=r"siteward\[postgres\]"):
        backend_of("postgresql://localhost/site")


@pytest.mark.parametrize(
    "url", ["postgresql://siteward:secret@127.0.0.1:{port}/nowhere", "postgresql://siteward:secret@127.0.0.1:1/site"]
)
async def test_a_database_that_cannot_be_had_is_named_without_its_password(postgres: Server, url: str) -> None:
    with pytest.raises(DatabaseUnusable, match="server") as told:
        await Store.open(url.format(port=postgres.port))
    assert "secret" not in str(told.value) and "127.0.0.1" in str(told.value)
