"""Two engines write one run at the same moment: what PostgreSQL's own view of rows under a lock would let slip."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psycopg
import pytest

from siteward.core.engine import rows
from siteward.core.engine.admission import end_run_ops
from siteward.core.engine.seam import RunState, StepStatus
from siteward.core.store.errors import LostRace

from .house import House

ASKS = """
contract: workflow.v1
name: Asks
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - ask_person: { who: role:guard, message: "Open?", replies: [Let in], timeout: 10m }
    Let in: [gate.open: { gate: main_gate }]
"""


@pytest.mark.parametrize("how", ["end", "give up the key"])
async def test_a_run_whose_intent_is_just_being_committed_is_seen_as_acting(
    tmp_path: Path, postgres_url: str, how: str
) -> None:
    house = House(tmp_path, url=postgres_url)
    await house.open()
    try:
        await house.save(ASKS)
        run = await house.run(await house.happens(house.vehicle()))
        with psycopg.connect(postgres_url) as other:
            # Another engine: its intent is written, and the row of the run is locked until it commits.
            other.execute("UPDATE workflow_runs SET state = 'running' WHERE id = %s", (run["id"],))
            other.execute("UPDATE workflow_run_steps SET status = 'intent' WHERE run_id = %s", (run["id"],))
            ours = asyncio.ensure_future(_write(house, run, how))
            await asyncio.sleep(0.3)
            assert not ours.done()
            other.commit()
        if how == "end":
            with pytest.raises(LostRace):
                await ours
            assert (await house.run(run["id"]))["state"] == "running"
        else:
            await ours
            assert (await house.run(run["id"]))["one_key"] is None
        await house.store.submit(rows.end_waiting_step(run["id"], StepStatus.DONE, 0.0))
    finally:
        await house.close()


async def _write(house: House, run: dict[str, object], how: str) -> None:
    if how == "end":
        await house.store.submit(*end_run_ops(run, RunState.CANCELLED, "cancelled", 0.0))
        return
    run_id, fence = str(run["id"]), int(str(run["fence"]))
    await house.store.submit(rows.lock_run(run_id, fence), rows.give_key_up(run_id, fence))
