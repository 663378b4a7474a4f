"""What the engine asks all day never goes over a table that grows with the site's past (the daily walk of retention is another thing)."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select

from siteward.core.contract.document import State
from siteward.core.engine import rows
from siteward.core.store.schema import workflow_approvals
from siteward.core.store.statements import question_marks
from tests.store.plans import collected, growing

from .house import GUARD, House

ASKS = """
contract: workflow.v1
name: Gate
limits: { cooldown: 5s, one_at_a_time: track }
when:
  any:
    - detect.vehicle_in_zone: { cameras: [gate], zone: apron }
    - schedule: { at: "10:30" }
if:
  - site_mode: [disarmed]
then:
  - ask_person: { who: role:guard, message: "Let in?", timeout: 60s, replies: ["Let in", "Leave"], default: "Leave" }
    "Let in":
      - log: "let in"
  - wait_for: { doorbell: { cameras: [gate] }, timeout: 30s }
"""


async def test_no_statement_of_a_day_goes_over_a_whole_table(tmp_path: Path) -> None:
    house = House(tmp_path)
    await house.open()
    try:
        workflow = await house.save(ASKS)
        with collected() as texts:
            run = await house.happens(house.vehicle(track="1"))
            await house.happens(house.vehicle(track="1"))
            asked = await house.rows(select(workflow_approvals.c.id).where(workflow_approvals.c.run_id == run))
            await house.engine.answer(asked[0]["id"], "Let in", GUARD)
            await house.engine.drain()
            await house.happens(house.event("doorbell"))
            await house.happens(house.vehicle(track="2"))
            await house.passes(2000)
            await house.clock.jump(600)
            await house.engine.drain()
            await house.engine.set_state(workflow, State.OFF, "user:admin")
            await house.restart()
        assert len(texts) > 30
        assert growing(tmp_path / "site.db", texts) == {}
    finally:
        await house.close()


async def test_a_line_that_joins_its_runs_message_reads_no_other_alert(tmp_path: Path) -> None:
    """The statements of `update_with`, by themselves: only a run with an AI step has them."""
    house = House(tmp_path)
    await house.open()
    try:
        texts = {question_marks(rows.update_records("run", "look", "a delivery").sql).text}
        assert growing(tmp_path / "site.db", texts) == {}
    finally:
        await house.close()
