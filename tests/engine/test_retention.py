"""What is old leaves, what is open or unseen stays, and a wrong clock empties nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import Table

from siteward.core.plugins.objects import Picture
from siteward.core.site.media import Media
from siteward.core.store import retention
from siteward.core.store.retention import Pruned, Retention, prune
from siteward.core.store.schema import (
    alerts,
    events,
    logs,
    media,
    outbox,
    workflow_approvals,
    workflow_run_steps,
    workflow_runs,
)

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


async def count(house: House, table: Table) -> int:
    return len(await house.rows(table))


async def test_runs_that_ended_leave_with_all_that_is_theirs(house: House) -> None:
    await house.save(LOGS)
    kept = await Media(house.store, house.engine._parts.ids.new).keep(
        Picture(b"\xff\xd8\xff", "image/jpeg", house.clock.now(), "cam-2")
    )
    for _ in range(retention.BATCH + 5):
        await house.happens(house.vehicle(camera="cam-2", picture=kept))
    done = await prune(house.store, house.clock.now().timestamp() + 1)
    assert done == Pruned(retention.BATCH + 5, retention.BATCH + 5, 1)
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
    await prune(house.store, house.clock.now().timestamp() + 1)
    assert await house.states() == ["waiting"]
    assert [row["state"] for row in await house.rows(workflow_approvals)] == ["open"]
    assert (await count(house, events), await count(house, alerts)) == (1, 1)
    await house.reply("Let in")
    await house.passes(61)
    assert await house.states() == ["expired"]


async def test_each_batch_is_small_and_a_commit_of_its_own(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    await house.save(LOGS)
    for _ in range(6):
        await house.happens(house.vehicle(camera="cam-2"))
    submit, sizes = house.store.submit, []

    async def noted(*ops: object) -> object:
        sizes.append(max((len(getattr(op, "params", {})) for op in ops), default=0))
        return await submit(*ops)  # type: ignore[arg-type]

    monkeypatch.setattr(house.store, "submit", noted)
    await prune(house.store, house.clock.now().timestamp() + 1)
    assert len(sizes) > 6
    assert max(sizes) == 2


async def test_it_happens_once_a_day_and_not_at_once(house: House) -> None:
    keeping = Retention(house.store, house.clock)
    assert await keeping.tick() is None
    await house.clock.advance(retention.TRUSTED_AFTER)
    assert await keeping.tick() == Pruned(0, 0, 0)
    await house.clock.advance(DAY - 1)
    assert await keeping.tick() is None
    await house.clock.advance(1)
    assert await keeping.tick() == Pruned(0, 0, 0)


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
