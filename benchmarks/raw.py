"""The disk's own speed for what a run writes: the statements of real runs, with their parameters, by one thread and nothing around it."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.ours import runs_at_once, unit_house
from siteward.core.store.sqlite import connect
from siteward.core.store.statements import Op

WARM_UP = 200

Riders = Sequence[tuple[Op, ...]]


@dataclass(frozen=True, slots=True)
class Played:
    """A round of ours: seconds for all runs, the seconds of each, the commits that they took, what was written, and the database from before."""

    spent: float
    took: tuple[float, ...]
    commits: int
    written: Riders
    before: bytes


async def play(folder: Path, runs: int, at_once: int) -> Played:
    """So many units by the engine, after a warm-up."""
    async with unit_house(folder) as house:
        await runs_at_once(house, WARM_UP, at_once)
        before = _copy(folder / "site.db")
        written: list[tuple[Op, ...]] = []
        send = house.store.send

        def noted(*ops: Op) -> Any:
            written.append(ops)
            return send(*ops)

        house.store.send = noted  # type: ignore[method-assign]
        commits, took = house.store.writer.commits, list[float]()
        spent = await runs_at_once(house, runs, at_once, took.append)
        commits = house.store.writer.commits - commits
        return Played(spent, tuple(took), commits, written, before)


def played(runs: int, at_once: int) -> Played:
    """`play` in a folder and a loop of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        return asyncio.run(play(Path(scratch), runs, at_once))


def raw_commits(of: Played) -> list[float]:
    """The seconds of each transaction, where the same statements are written in as many transactions as the engine's group commit made of them."""
    each = -(-len(of.written) // of.commits)
    spent = []
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "raw.db"
        file.write_bytes(of.before)
        connection = connect(str(file))
        for start in range(0, len(of.written), each):
            begun = time.perf_counter()
            connection.execute("BEGIN IMMEDIATE")
            for ops in of.written[start : start + each]:
                for op in ops:
                    connection.execute(op.sql, dict(op.params))
            connection.execute("COMMIT")
            spent.append(time.perf_counter() - begun)
        connection.close()
    return spent


def _copy(file: Path) -> bytes:
    with sqlite3.connect(file) as connection:
        copied = connection.serialize()
    connection.close()
    return copied
