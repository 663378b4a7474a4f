"""The group-commit writer, on both databases: each rider has its own outcome, and nobody acts on a commit that did not happen."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from sqlalchemy import select

from siteward.core.store.errors import CommitFailed, LostRace, ReadFailed, StoreClosed, WriteRefused
from siteward.core.store.schema import counters, media, workflow_approvals
from siteward.core.store.statements import Op
from siteward.core.store.store import Store

from .conftest import Held, put, scopes, together

GONE = Op("UPDATE counters SET count = 9 WHERE scope = 'gone'", expect=1)
POISON = Op("INSERT INTO nowhere VALUES (1)")


async def test_writes_that_wait_share_one_commit(store: Store, held: Held) -> None:
    await together(store, held, *[(put(f"s{n}"),) for n in range(50)])
    assert (store.writer.commits, store.writer.riders) == (2, 51)


async def test_a_poisoned_write_fails_only_its_own_rider(store: Store, held: Held) -> None:
    good, poison, other = await together(store, held, (put("a"),), (put("b"), POISON), (put("c"),))
    assert isinstance(poison, WriteRefused)
    assert (good, other) == (None, None)
    assert await scopes(store) == {"first", "a", "c"}
    assert store.writer.commits == 2


async def test_a_poisoned_write_alone_is_refused_and_leaves_nothing(store: Store, held: Held) -> None:
    held.go.set()
    with pytest.raises(WriteRefused, match="nowhere"):
        await store.submit(put("b"), POISON)
    await store.submit(put("c"))
    assert await scopes(store) == {"c"}


async def test_a_lost_race_undoes_its_rider_and_names_the_statement(store: Store, held: Held) -> None:
    raced, other = await together(store, held, (put("b"), GONE), (put("c"),))
    assert isinstance(raced, LostRace) and "UPDATE counters" in raced.sentence
    assert other is None
    assert await scopes(store) == {"first", "c"}


async def test_the_first_thing_that_is_wrong_with_a_rider_is_what_it_is_told(store: Store, held: Held) -> None:
    raced, refused = await together(store, held, (put("b"), GONE, POISON), (put("c"), POISON, GONE))
    assert (type(raced), type(refused)) == (LostRace, WriteRefused)


async def test_a_rider_sees_the_rows_of_those_before_it(store: Store, held: Held) -> None:
    claim = Op("UPDATE counters SET count = count + 1 WHERE scope = 'first' AND count = 1", expect=1)
    won, lost = await together(store, held, (claim,), (claim,))
    assert won is None
    assert isinstance(lost, LostRace)


async def test_a_row_may_rest_on_one_that_rides_before_it(store: Store, held: Held) -> None:
    flow = Op(
        "INSERT INTO workflows (id, name, state, version, created_at, changed_at) VALUES ('w', 'W', 'on', 1, :now, :now)",
        {"now": 1.5},
    )
    version = Op(
        "INSERT INTO workflow_versions (workflow_id, version, text, sha256, \"by\", at) VALUES (:w, 1, '', '', '', 0)"
    )
    orphan, child = version._replace(params={"w": "x"}), version._replace(params={"w": "w"})
    assert [type(one) for one in await together(store, held, (flow,), (orphan,), (child,))] == [
        type(None),
        WriteRefused,
        type(None),
    ]


async def test_those_who_lost_lately_cost_no_second_try_of_the_others(store: Store, held: Held) -> None:
    await together(store, held, (put("a"),), (put("b"), GONE))
    begun = held.reached.count("commit.begin")
    tried = [store.send(put("c")), store.send(put("d"), GONE), store.send(put("e"))]
    outcomes = await asyncio.gather(*tried, return_exceptions=True)
    assert isinstance(outcomes[1], LostRace)
    assert held.reached.count("commit.begin") == begun + 1
    assert await scopes(store) == {"first", "a", "c", "e"}


async def test_whoever_rides_together_has_the_outcome_of_riding_alone(store: Store, held: Held) -> None:
    """Random riders, some of which lose or are refused, with rows that several of them want: in groups, and one after the other."""
    held.go.set()
    chance = Random(7)
    for turn in range(30):
        riders = [_random_rider(chance) for _ in range(chance.randrange(1, 40))]
        grouped = await asyncio.gather(
            *[store.send(*_of("g", turn, rider)) for rider in riders], return_exceptions=True
        )
        alone: list[object] = []
        for rider in riders:
            alone += await asyncio.gather(store.send(*_of("a", turn, rider)), return_exceptions=True)
        assert [type(one) for one in grouped] == [type(one) for one in alone]
        assert await _rows_of(store, f"g{turn}.") == await _rows_of(store, f"a{turn}.")
    assert store.writer.commits < store.writer.riders


def _random_rider(chance: Random) -> list[tuple[str, str]]:
    kinds = ("put", "put", "put", "raise", "raise", "upsert", "remove", "poison")
    return [(chance.choice(kinds), str(chance.randrange(6))) for _ in range(chance.randrange(1, 4))]


def _of(who: str, turn: int, rider: list[tuple[str, str]]) -> list[Op]:
    insert = "INSERT INTO counters (scope, name, bucket, count) VALUES (:s, 'n', 'b', 1)"
    texts = {
        "put": (insert, 1),
        "raise": ("UPDATE counters SET count = count + 1 WHERE scope = :s AND count < 3", 1),
        "upsert": (f"{insert} ON CONFLICT (scope, name, bucket) DO UPDATE SET count = counters.count * 2", None),
        "remove": ("DELETE FROM counters WHERE scope = :s", None),
        "poison": ("UPDATE counters SET count = NULL WHERE scope = :s", None),
    }
    return [Op(texts[kind][0], {"s": f"{who}{turn}.{key}"}, texts[kind][1]) for kind, key in rider]


async def _rows_of(store: Store, prefix: str) -> list[tuple[str, int]]:
    rows = await store.fetch(
        "SELECT scope, count FROM counters WHERE scope LIKE :p ORDER BY scope", {"p": f"{prefix}%"}
    )
    return [(row["scope"].partition(".")[2], row["count"]) for row in rows]


async def test_a_cancelled_submitter_does_not_disturb_the_others(store: Store, held: Held) -> None:
    first = asyncio.create_task(store.submit(put("first")))
    await asyncio.to_thread(held.begun.wait)
    gone = asyncio.create_task(store.submit(put("a")))
    stays = asyncio.create_task(store.submit(put("b")))
    await asyncio.sleep(0)
    gone.cancel()
    held.go.set()
    await first
    await stays
    assert await scopes(store) == {"first", "a", "b"}


async def test_closing_writes_what_was_submitted_and_refuses_the_rest(store: Store, held: Held) -> None:
    held.go.set()
    waiting = [asyncio.create_task(store.submit(put(f"s{n}"))) for n in range(5)]
    await asyncio.sleep(0)
    await store.writer.close()
    await asyncio.gather(*waiting)
    with pytest.raises(StoreClosed):
        await store.submit(put("late"))


async def test_more_than_one_transaction_takes_keep_their_order(store: Store, held: Held) -> None:
    held.go.set()
    up = Op("UPDATE counters SET count = :to WHERE scope = 'a' AND count = :of", expect=1)
    await store.submit(put("a", 0))
    await asyncio.gather(*[store.send(up._replace(params={"of": n, "to": n + 1})) for n in range(1200)])
    assert await store.fetch("SELECT count FROM counters") == [{"count": 1200}]


async def test_readers_cannot_write(store: Store, held: Held) -> None:
    held.go.set()
    with pytest.raises(ReadFailed, match=r"read-?only"):
        await store.read(counters.insert().values(scope="x", name="n", bucket="b", count=1))
    with pytest.raises(ReadFailed, match=r"read-?only"):
        await store.fetch("DELETE FROM counters")


@pytest.mark.parametrize(
    "params",
    [{"v": "\ud800"}, {"v": 2**70}, {"v": object()}, {"v": {"s": 1}}, {}],
    ids=["half a pair", "70 bits", "no type", "a mapping", "none given"],
)
async def test_a_value_that_no_column_holds_fails_alone_and_the_writer_lives(
    store: Store, held: Held, params: dict[str, object]
) -> None:
    bad = Op("INSERT INTO counters (scope, name, bucket, count) VALUES ('bad', 'n', 'b', :v)", params)
    good, refused, other = await together(store, held, (put("a"),), (bad,), (put("b"),))
    assert isinstance(refused, WriteRefused)
    assert (good, other) == (None, None)
    await store.submit(put("after"))


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


async def test_what_is_sent_keeps_its_place_though_nobody_waits_for_it(store: Store, held: Held) -> None:
    held.go.set()
    unwatched = store.send(put("a"))
    await store.send(Op("UPDATE counters SET count = 2 WHERE scope = 'a' AND count = 1", expect=1))
    assert unwatched.done()


async def test_a_plain_read_has_named_parameters_and_gives_rows_by_name(store: Store, held: Held) -> None:
    held.go.set()
    await store.submit(put("a", 3), put("b", 4))
    sql = "SELECT scope, count FROM counters WHERE count >= :least AND bucket <> ':least' ORDER BY scope"
    assert await store.fetch(sql, {"least": 4}) == [{"scope": "b", "count": 4}]
    assert await asyncio.gather(*[store.fetch(sql, {"least": 9}) for _ in range(20)]) == [[]] * 20


async def test_a_plain_read_says_what_is_wrong(store: Store) -> None:
    with pytest.raises(ReadFailed, match="nowhere"):
        await store.fetch("SELECT 1 FROM nowhere")
    with pytest.raises(ReadFailed, match="scope"):
        await store.fetch("SELECT 1 FROM counters WHERE scope = :scope")


async def test_values_come_back_as_they_were_given(store: Store, held: Held) -> None:
    held.go.set()
    picture = {"id": "p", "type": "image/jpeg", "at": 1_732_991_234.123456, "data": bytes(range(256)) * 40}
    text = "Fünf € für 'Ümit' \\ %s :name $1 ?\n\N{BLACK CHESS KNIGHT}"
    await store.submit(
        Op("INSERT INTO media (id, content_type, at, data) VALUES (:id, :type, :at, :data)", picture, 1),
        put(text, 2_000_000_000),
        Op(
            "INSERT INTO workflow_approvals (id, run_id, path, workflow_id, who, message, replies, shown, rehearsal, state, asked_at, due_at) "
            "VALUES (:id, '', '', '', '', '', '', '', :rehearsal, 'open', 0, :due)",
            {"id": "x", "rehearsal": True, "due": None},
        ),
    )
    for rows in (await store.fetch("SELECT * FROM media"), await store.read(select(media))):
        assert (rows[0]["at"], bytes(rows[0]["data"]), rows[0]["camera"]) == (picture["at"], picture["data"], None)
    assert await store.fetch("SELECT scope, count FROM counters") == [{"scope": text, "count": 2_000_000_000}]
    (asked,) = await store.read(select(workflow_approvals))
    assert (asked["rehearsal"], asked["due_at"]) == (True, None)
    (asked,) = await store.fetch("SELECT * FROM workflow_approvals WHERE rehearsal")
    assert asked["rehearsal"] and asked["due_at"] is None


async def test_live_updates_are_numbered_in_the_order_of_their_commits(store: Store, held: Held) -> None:
    held.go.set()
    told = Op("INSERT INTO outbox (topic, payload, at) VALUES (:topic, '{}', 0)")
    await asyncio.gather(*[store.send(told._replace(params={"topic": str(n)})) for n in range(300)])
    rows = await store.fetch("SELECT topic FROM outbox ORDER BY id")
    assert [int(row["topic"]) for row in rows] == list(range(300))


async def test_who_listens_hears_what_is_poked_and_nothing_else(store: Store, held: Held, url: str) -> None:
    held.go.set()
    heard = asyncio.Queue[str]()
    stop = store.listen(["runs"], heard.put_nowait)
    async with asyncio.timeout(30):
        if url.startswith("postgresql"):
            assert await heard.get() == "runs"  # from now on it hears; what was before may have been missed
        store.notify("waits")
        store.notify("runs")
        assert await heard.get() == "runs"
    assert heard.empty()
    await asyncio.to_thread(stop)
