"""A site with runs that wait for a person, in a process of its own: made with `--make`, else taken up from its folder.

When the engine takes events it says `{"ready": {...}}` with the resident memory and the seconds that opening and starting took. Each line in
answers one question, and the line out says how long it took until that run was done.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import time
from pathlib import Path
from typing import Any

from sqlalchemy import select

from benchmarks.ours import new_id
from benchmarks.peers.worker import Told, closed_loop
from siteward.core.clock import SystemClock
from siteward.core.store.schema import workflow_approvals
from tests.engine.house import GUARD, House

WORKFLOW = """
contract: workflow.v1
name: Ask
limits: { cooldown: 0s, one_at_a_time: track, per_hour: 100000 }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
if:
  - site_mode: [disarmed]
then:
  - ask_person: { who: role:guard, message: "Let in?", timeout: 24h, replies: ["Let in", "Leave"], default: "Leave" }
    "Let in":
      - log: "let in"
"""
AT_ONCE = 100


def resident_mb() -> float:
    """Resident memory of this process now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the kernel does not tell the resident memory")


async def make(house: House, runs: int) -> None:
    """So many runs that wait, through the engine."""
    await house.open()
    await house.save(WORKFLOW)

    async def one(number: int) -> None:
        for run_id in await house.engine.accept(house.vehicle(track=f"t{number}", id=new_id(number))):
            await house.engine.ended(run_id)

    await closed_loop(one, 0, runs, AT_ONCE)
    found = await house.rows(select(workflow_approvals.c.id).where(workflow_approvals.c.state == "open"))
    assert len(found) == runs, f"{len(found)} of {runs} runs wait"
    await house.close()


async def take_up(house: House) -> None:
    """Start over what is there, and answer questions."""
    told, begun = Told(), time.perf_counter()
    await house.open()
    started = time.perf_counter() - begun
    query = select(workflow_approvals.c.id, workflow_approvals.c.run_id).where(workflow_approvals.c.state == "open")
    gc.collect()
    ready: dict[str, Any] = {"resident_mb": resident_mb(), "started_s": started}
    told.say({"ready": ready})
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        asked = await house.rows(query.order_by(workflow_approvals.c.id).limit(1))
        begun = time.perf_counter()
        for row in asked:
            await house.engine.answer(row["id"], "Let in", GUARD)
            await house.engine.ended(row["run_id"])
        told.say({"answered": len(asked), "answer_ms": (time.perf_counter() - begun) * 1000})
    await house.close()


def main() -> None:
    reads = argparse.ArgumentParser()
    reads.add_argument("--folder", type=Path, required=True)
    reads.add_argument("--make", type=int, help="make so many waiting runs, and end")
    asked = reads.parse_args()
    house = House(asked.folder)
    house.clock = SystemClock()  # type: ignore[assignment]
    asyncio.run(take_up(house) if asked.make is None else make(house, asked.make))


if __name__ == "__main__":
    main()
