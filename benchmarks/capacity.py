"""What a site's database holds: bytes for each event, run and step, measured on a real database, for the capacity model of docs/large-site.md.

A database is filled with events that nobody wants, then with runs of the unit (`benchmarks.ours`: a run of two steps) and of a longer workflow, and its size is
read after each: with its indexes, after a checkpoint. Prints the bytes, and with the numbers of a site what it needs a day:

    python -m benchmarks.capacity [--postgres] [--events-per-second 10] [--runs-per-day 2000] [--steps-per-run 6]
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sqlite3
import tempfile
from contextlib import ExitStack
from pathlib import Path

import psycopg

from benchmarks.ours import WORKFLOW, new_id, one_run
from siteward.core.contract.document import State
from tests.engine.house import House
from tests.postgres import server

COUNT = 2000
STEPS = 8
DAYS = 30
SECONDS = 24 * 3600
LONGER = WORKFLOW.replace("name: Count", "name: Longer").replace('  - log: "seen"\n', '  - log: "seen"\n' * STEPS)


async def measured(folder: Path, url: str | None) -> dict[str, float]:
    """Bytes for each event that starts nothing, for each run with its event and one step, and for each further step."""
    house = House(folder, url=url)
    await house.open()
    sizes, numbers = [await _size(folder, url)], itertools.count()

    async def some(track: str) -> None:
        for number in range(COUNT):
            event = house.vehicle(track=f"{track}{number}", id=new_id(next(numbers)))
            await one_run(house.engine, event)
        sizes.append(await _size(folder, url))

    await some("nobody")
    short = await house.save(WORKFLOW)
    await some("short")
    await house.engine.set_state(short, State.OFF, "user:admin")
    await house.save(LONGER)
    await some("long")
    await house.close()
    event, run, longer = ((after - before) / COUNT for before, after in itertools.pairwise(sizes))
    return {"event": event, "run": run - event, "step": (longer - run) / (STEPS - 1)}


async def _size(folder: Path, url: str | None) -> int:
    if url is not None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        assert row is not None
        return int(row[0])
    with sqlite3.connect(folder / "site.db") as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (pages,), (free,) = (
            database.execute("PRAGMA page_count").fetchone(),
            database.execute("PRAGMA freelist_count").fetchone(),
        )
        (page,) = database.execute("PRAGMA page_size").fetchone()
    database.close()
    return int((pages - free) * page)


def main() -> None:
    reads = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    reads.add_argument("--postgres", action="store_true", help="on PostgreSQL; SQLite without")
    reads.add_argument("--events-per-second", type=float, default=10.0)
    reads.add_argument("--runs-per-day", type=float, default=2000.0)
    reads.add_argument("--steps-per-run", type=float, default=6.0)
    asked = reads.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(server()).database() if asked.postgres else None
        bytes_of = asyncio.run(measured(folder, url))
    for name, size in bytes_of.items():
        print(f"bytes per {name:<6} {size:8.0f}")
    events = asked.events_per_second * SECONDS * bytes_of["event"]
    runs = asked.runs_per_day * (bytes_of["run"] + (asked.steps_per_run - 1) * bytes_of["step"])
    day = (events + runs) / 2**20
    print(
        f"{asked.events_per_second:g} events a second and {asked.runs_per_day:g} runs of {asked.steps_per_run:g} steps a day: "
        f"{day:,.0f} MiB a day, {day * DAYS / 1024:,.1f} GiB in the {DAYS} days that are kept"
    )


if __name__ == "__main__":
    main()
