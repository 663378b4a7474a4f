"""One engine of several on a PostgreSQL, pinned to a core, whose steps do work: a process that is sampled by lines of JSON (`benchmarks.processes`).

The unit is event -> `if` -> a condition that computes for `--work` milliseconds -> one recorded action -> done. It speaks as the peers do: `{"runs": n,
"at_once": m}` makes so many units.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import func, select, true

from benchmarks.ours import new_id, one_run
from benchmarks.peers.worker import Told, serve
from siteward.core.clock import SystemClock
from siteward.core.collecting import settle_collector
from siteward.core.shared_clock import SharedClock
from siteward.core.store.schema import workflow_runs, workflows
from tests.engine.house import House, Site

CAMERAS = 32
WORKFLOW = """
contract: workflow.v1
name: Work
limits: { cooldown: 0s, one_at_a_time: track, per_hour: 100000 }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
if:
  - site_mode: [disarmed]
then:
  - if:
      - in_list: { value: "{camera}", list: residents }
    true:
      - log: "seen"
"""


@dataclass
class WorkingSite(Site):
    """Many cameras at the gate, and a list that takes its time: the processor's, not the database's."""

    work: float = 0.0

    def cameras_of(self, role: str) -> frozenset[str]:
        return frozenset(f"cam-{number}" for number in range(CAMERAS))

    async def in_list(self, name: str, value: str, *, confirmed_only: bool) -> bool:
        ends = time.thread_time() + self.work
        while time.thread_time() < ends:
            sum(range(200))
        return True


async def run(name: str, url: str, work: float) -> None:
    told = Told()
    with TemporaryDirectory() as scratch:
        house = House(Path(scratch), url=url, replica=name)
        house.site = WorkingSite(work=work)
        store = await house.open_store()
        house.clock = await SharedClock.agreed(SystemClock(), store)  # type: ignore[assignment]
        await store.close()
        await house.open()
        if not await house.rows(workflows):
            await house.save(WORKFLOW)
        settle_collector()

        async def one(number: int) -> None:
            await one_run(
                house.engine,
                house.vehicle(camera=f"cam-{number % CAMERAS}", track=f"{name}{number}", id=new_id(number)),
            )

        async def recorded() -> int:
            query = select(func.count().label("done")).select_from(workflow_runs)
            mine = workflow_runs.c.lease_owner == house.engine.leases.owner if house.engine.leases else true()
            return int((await house.rows(query.where(workflow_runs.c.state == "done", mine)))[0]["done"])

        await serve(told, {"database": "postgresql, synchronous_commit=on"}, one, recorded)
        await house.close()


def main() -> None:
    reads = argparse.ArgumentParser()
    reads.add_argument("name")
    reads.add_argument("url")
    reads.add_argument("core", type=int)
    reads.add_argument("work", type=float, help="milliseconds of computing in each run")
    asked = reads.parse_args()
    os.sched_setaffinity(0, {asked.core})
    asyncio.run(run(asked.name, asked.url, asked.work / 1000))


if __name__ == "__main__":
    main()
