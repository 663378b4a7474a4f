"""Ours as the peers' benchmark runs it: a process of its own that speaks what they speak (`benchmarks.peers.worker`).

The unit and the house are those of `benchmarks.ours`; the event loop is asyncio's own, as the host uses it.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from benchmarks.ours import done_runs, new_id, one_run, unit_house
from benchmarks.peers.worker import Told, serve


async def run(folder: Path, url: str | None) -> None:
    told = Told()
    async with unit_house(folder, url) as house:

        async def one(number: int) -> None:
            await one_run(house.engine, house.vehicle(track=f"t{number}", id=new_id(number)))

        async def recorded() -> int:
            return await done_runs(house)

        database = "sqlite, WAL, synchronous=FULL" if url is None else "postgresql, synchronous_commit=on"
        await serve(told, {"database": database}, one, recorded)


def main() -> None:
    reads = argparse.ArgumentParser()
    reads.add_argument("--database", help="a migrated PostgreSQL database; SQLite without")
    reads.add_argument("--folder", type=Path, help="of a SQLite database with a past; a new one without")
    asked = reads.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(run(asked.folder or Path(scratch), asked.database))


if __name__ == "__main__":
    main()
