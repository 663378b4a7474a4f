"""What is old leaves, what is open or unseen stays, and a wrong clock empties nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Table

from siteward.core.plugins.objects import Picture
from siteward.core.site.media import Media
from siteward.core.store import retention
from siteward.core.store.retention import Ages, Pruned, Retention, prune, would_prune
from siteward.core.store.schema import (
    alerts,
    audit,
    events,
    logs,
    media,
    outbox,
    workflow_approvals,
    workflow_run_steps,
    workflow_runs,
)
from siteward.core.store.statements import NO_PARAMS, Op

from .house import House
from .test_acting import ASKS

DAY = 24 * 3600.0
LOGS = """
contract: workflow.v1
name: Logs
limits: { cooldown: 0s }
when:
  detect.vehicle_in_zone: { cameras: [yard], zone: apron }
then:
  - log: "seen"
"""


def everything(house: House) -> Ages:
    """All that is over is old."""
    return Ages.of(house.clock.now().timestamp() + 1, kept_days=0)


async def count(house: House, table: Table) -> int:
    return len(await house.rows(table))


async def test_runs_that_ended_leave_with_all_that_is_theirs(house: House) -> None:
    await house.save(LOGS)
    kept = await Media(house.store, house.engine._parts.ids.new).keep(
        Picture(b"\xff\xd8\xff", "image/jpeg", house.clock.now(), "cam-2")
    )
    for _ in range(retention.BATCH + 5):
        await house.happens(house.vehicle(camera="cam-2", picture=kept))
    would = await would_prune(house.store, everything(house))
    done = await prune(house.store, everything(house))
    assert done == would == Pruned(runs=retention.BATCH + 5, events=retention.BATCH + 5, pictures=1)
    for table in (workflow_runs, workflow_run_steps, events, logs, outbox, media):
        assert await count(house, table) == 0, table.name


async def test_a_question_that_is_open_and_an_alert_that_nobody_saw_stay(house: House) -> None:
    house.site.fresh = 5
    await house.save(ASKS % "- wait: 61s")
    await house.happens(house.vehicle())
    await house.reply("Let in")
    await house.passes(61)
    await house.happens(house.vehicle())
    assert await house.states() == ["expired", "waiting"]
    await prune(house.store, everything(house))
    assert await house.states() == ["waiting"]
    assert [row["state"] for row in await house.rows(workflow_approvals)] == ["open"]
    assert (await count(house, events), await count(house, alerts)) == (1, 1)
    await house.reply("Let in")
    await house.passes(61)
    assert await house.states() == ["expired"]


async def test_each_batch_is_small_and_a_commit_of_its_own(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    monkeypatch.setattr(retention, "ROWS", 2)
    await house.save(LOGS)
    for _ in range(6):
        await house.happens(house.vehicle(camera="cam-2"))
    submit, sizes = house.store.submit, []

    async def noted(*ops: object) -> None:
        sizes.append(max((len(getattr(op, "params", {})) for op in ops), default=0))
        await submit(*ops)  # type: ignore[arg-type]

    monkeypatch.setattr(house.store, "submit", noted)
    await prune(house.store, everything(house))
    assert len(sizes) > 6
    assert max(sizes) == 2


async def test_it_happens_once_a_day_and_not_at_once(house: House) -> None:
    keeping = Retention(house.store, house.clock)
    assert await keeping.tick() is None
    await house.clock.advance(retention.TRUSTED_AFTER)
    assert await keeping.tick() == Pruned()
    await house.clock.advance(DAY - 1)
    assert await keeping.tick() is None
    await house.clock.advance(1)
    assert await keeping.tick() == Pruned()


async def test_a_clock_that_jumps_years_ahead_empties_nothing(house: House) -> None:
    await house.save(LOGS)
    await house.happens(house.vehicle(camera="cam-2"))
    keeping = Retention(house.store, house.clock)
    await keeping.tick()
    await house.clock.advance(retention.TRUSTED_AFTER)
    ahead = timedelta(days=700).total_seconds()
    await house.clock.jump(ahead)
    assert await keeping.tick() is None
    await house.clock.jump(-ahead)
    assert await keeping.tick() is None
    assert await count(house, workflow_runs) == 1


@pytest.fixture
async def sqlite_house(tmp_path: Path) -> AsyncIterator[House]:
    """A house on the embedded database: its planner and its free pages are asked."""
    made = House(tmp_path)
    await made.open()
    yield made
    await made.close()


STATEMENTS_OF_A_DAY = ("SELECT DISTINCT", "SELECT attach", "FROM counters")
"""Read whole, once in a pass, and by a reader."""


async def test_nothing_that_repeats_reads_a_whole_table(sqlite_house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house = sqlite_house
    await house.save(LOGS)
    await house.save(ASKS % "")
    for _ in range(3):
        await house.happens(house.vehicle(camera="cam-2"))
    said: dict[str, Mapping[str, Any]] = {}
    submit, fetch = house.store.submit, house.store.fetch

    async def noted_write(*ops: Op) -> None:
        said.update({op.sql: op.params for op in ops})
        await submit(*ops)

    async def noted_read(sql: str, params: Mapping[str, Any] = NO_PARAMS) -> Any:
        said[sql] = params
        return await fetch(sql, params)

    monkeypatch.setattr(house.store, "submit", noted_write)
    monkeypatch.setattr(house.store, "fetch", noted_read)
    await prune(house.store, everything(house))
    monkeypatch.undo()
    assert any("DELETE FROM workflow_run_steps" in sql for sql in said)
    for sql, params in said.items():
        if sql.startswith("PRAGMA") or any(mark in sql for mark in STATEMENTS_OF_A_DAY):
            continue
        plan = [row["detail"] for row in await fetch(f"EXPLAIN QUERY PLAN {sql}", params)]
        scans = [line for line in plan if line.startswith("SCAN") and not line.startswith("SCAN CONSTANT")]
        # In the order of its key and with a limit, a walk is what it takes from there.
        assert [line for line in scans if "outbox" not in line or "ORDER BY id LIMIT" not in sql] == [], (sql, plan)
        few = "run_id IS NULL" in sql  # the schedules' own
        assert few or not any("TEMP B-TREE FOR ORDER BY" in line for line in plan), (sql, plan)


async def test_free_pages_go_back_to_the_disk_a_few_at_a_time(
    sqlite_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = sqlite_house
    await house.save(LOGS)
    picture = Picture(b"\xff\xd8\xff" * 130_000, "image/jpeg", house.clock.now(), "cam-2")
    kept = Media(house.store, house.engine._parts.ids.new)
    for _ in range(8):
        await kept.keep(picture)
    before = (await house.store.fetch("PRAGMA page_count"))[0]["page_count"]
    submit, most = house.store.submit, 0

    async def noted(*ops: Op) -> None:
        nonlocal most
        most = max(most, sum("vacuum" in op.sql for op in ops))
        await submit(*ops)

    monkeypatch.setattr(house.store, "submit", noted)
    await prune(house.store, everything(house))
    pages = (await house.store.fetch("PRAGMA page_count"))[0]["page_count"]
    free = (await house.store.fetch("PRAGMA freelist_count"))[0]["freelist_count"]
    assert pages < before / 2
    assert free <= pages * retention.SPARE * 1.5
    assert 0 < most <= retention.PAGES


async def test_the_audit_stays_longer_than_what_it_speaks_of(house: House) -> None:
    now = house.clock.now().timestamp()
    for days in (399, 401):
        await house.store.submit(
            Op(
                "INSERT INTO audit (id, at, who, what) VALUES (:id, :at, 'user:x', 'done')",
                {"id": f"a{days}", "at": now - days * DAY},
            )
        )
    assert (await prune(house.store, Ages.of(now))).audit == 1
    assert [row["id"] for row in await house.rows(audit)] == ["a399"]


async def test_a_picture_that_something_still_shows_stays(house: House) -> None:
    await house.save(ASKS % "")
    pictures = Media(house.store, house.engine._parts.ids.new)
    shown, _ = [
        await pictures.keep(Picture(b"\xff\xd8\xff", "image/jpeg", house.clock.now(), "cam-1")) for _ in range(2)
    ]
    await house.happens(house.vehicle(picture=shown))
    await house.passes(10)
    await prune(house.store, everything(house))
    assert [row["id"] for row in await house.rows(media)] == [shown]


async def test_a_long_pass_holds_up_no_sweep(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    began, goes_on = asyncio.Event(), asyncio.Event()

    async def endless(_store: object, _ages: Ages) -> Pruned:
        began.set()
        await goes_on.wait()
        return Pruned()

    monkeypatch.setattr(retention, "prune", endless)
    rounds, look = 0, house.engine._look_at_the_clock

    async def counted() -> None:
        nonlocal rounds
        rounds += began.is_set()
        await look()

    monkeypatch.setattr(house.engine, "_look_at_the_clock", counted)
    await house.clock.advance(30)
    await house.clock.advance(retention.TRUSTED_AFTER)
    async with asyncio.timeout(10):
        await began.wait()
    for _ in range(4):
        await house.passes(30)
    assert rounds >= 2
    goes_on.set()
