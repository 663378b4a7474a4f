"""Whole runs against the bare commits of the same rows: event, `if`, one recorded action, done; a hundred at once.

Ours is the engine on SQLite (WAL, `synchronous=FULL`): from `accept` to the end of the last run. Raw is the same statements with the same
parameters, kept from a run of ours, written by one thread in as many transactions as the engine's group commit made of them. So the ratio is what is
left of the disk's speed once matching, conditions, plans, live updates and Python have had their share. Printed are medians of seven pairs, run
in turn, and the range.
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from siteward.core.store.schema import workflow_runs
from siteward.core.store.sqlite import connect
from siteward.core.store.writer import Op
from tests.engine.house import House

PAIRS = 7
EVENTS = 100
WORKFLOW = """
contract: workflow.v1
name: Count
limits: { cooldown: 0s, one_at_a_time: track, per_hour: 100000 }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
if:
  - site_mode: [disarmed]
then:
  - log: "seen"
"""


async def ours(folder: Path) -> tuple[float, int, list[tuple[Op, ...]], bytes]:
    """Seconds for all runs, the commits that they took, what was written, and the database from before."""
    house = House(folder)
    await house.open()
    await house.save(WORKFLOW)
    before = _copy(folder / "site.db")
    written: list[tuple[Op, ...]] = []
    submit = house.store.submit

    async def noted(*ops: Op) -> Any:
        written.append(ops)
        return await submit(*ops)

    house.store.submit = noted  # type: ignore[method-assign]
    events = [house.vehicle(track=f"t{number}") for number in range(EVENTS)]
    commits, begun = house.store.writer.commits, time.perf_counter()
    await asyncio.gather(*(house.engine.accept(event) for event in events))
    await house.engine._drivers.idle()
    spent, commits = time.perf_counter() - begun, house.store.writer.commits - commits
    states = [row["state"] for row in await house.rows(workflow_runs)]
    assert states == ["done"] * EVENTS, states
    await house.close()
    return spent, commits, written, before


def _copy(file: Path) -> bytes:
    with sqlite3.connect(file) as connection:
        copied = connection.serialize()
    connection.close()
    return copied


def raw(file: Path, written: list[tuple[Op, ...]], commits: int) -> float:
    """Seconds for the same statements in as many transactions."""
    connection = connect(str(file))
    each = -(-len(written) // commits)
    begun = time.perf_counter()
    for start in range(0, len(written), each):
        connection.execute("BEGIN IMMEDIATE")
        for ops in written[start : start + each]:
            for op in ops:
                connection.execute(op.sql, dict(op.params))
        connection.execute("COMMIT")
    spent = time.perf_counter() - begun
    connection.close()
    return spent


def main() -> None:
    mine, theirs, commits = [], [], 0
    for _ in range(PAIRS):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            spent, commits, written, before = asyncio.run(ours(folder))
            (folder / "raw.db").write_bytes(before)
            mine.append(EVENTS / spent)
            theirs.append(EVENTS / raw(folder / "raw.db", written, commits))
    ratios = sorted(a / b for a, b in zip(mine, theirs, strict=True))
    print(f"{EVENTS} runs at once, {commits} commits, {PAIRS} pairs")
    print(f"{'engine runs/s':>14} {'raw runs/s':>12} {'ratio':>7} {'range':>14}")
    print(
        f"{statistics.median(mine):>14,.0f} {statistics.median(theirs):>12,.0f} {statistics.median(ratios):>7.3f} "
        f"{ratios[0]:>7.3f}-{ratios[-1]:.3f}"
    )


if __name__ == "__main__":
    main()
