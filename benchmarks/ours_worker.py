"""Ours as the peers' benchmark runs it: a process of its own that speaks what they speak (`benchmarks.peers.worker`).

The unit and the house are those of `benchmarks.ours`; the event loop is asyncio's own, as the host uses it.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from benchmarks.ours import done_runs, one_run, unit_house
from benchmarks.peers.worker import Told, serve


async def run(folder: Path) -> None:
    told = Told()
    async with unit_house(folder) as house:

        async def one(number: int) -> None:
            await one_run(house.engine, house.vehicle(track=f"t{number}"))

        async def recorded() -> int:
            return await done_runs(house)

        await serve(told, {"database": "sqlite, WAL, synchronous=FULL"}, one, recorded)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))


if __name__ == "__main__":
    main()
