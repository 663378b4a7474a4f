"""The group-commit writer against the same rows written raw: what is left of the disk's speed, at 1, 10 and 100 writers at once.

Both write one row of about 330 bytes per rider to a SQLite file with WAL and `synchronous=FULL`. Raw is one thread that commits as many rows
at once as there are writers. Printed are medians of seven pairs, run in turn, and the range of the ratio.
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from siteward.core.store.sqlite import Sqlite
from siteward.core.store.writer import Op, Writer

ROWS = 3000
PAIRS = 7
TABLE = "CREATE TABLE bench (id INTEGER PRIMARY KEY, text TEXT NOT NULL)"
INSERT = "INSERT INTO bench (text) VALUES (:text)"
TEXT = "x" * 300


def prepared(folder: Path, name: str) -> Path:
    file = folder / name
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(TABLE)
    return file


def raw(file: Path, at_once: int) -> float:
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA synchronous=FULL")
    begun = time.perf_counter()
    for _ in range(ROWS // at_once):
        connection.execute("BEGIN IMMEDIATE")
        for _ in range(at_once):
            connection.execute(INSERT, {"text": TEXT})
        connection.execute("COMMIT")
    spent = time.perf_counter() - begun
    connection.close()
    return ROWS / spent


async def grouped(file: Path, at_once: int) -> float:
    writer = Writer(Sqlite(str(file)))
    writer.start()

    async def one() -> None:
        for _ in range(ROWS // at_once):
            await writer.submit(Op(INSERT, {"text": TEXT}, 1))

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(one())
    spent = time.perf_counter() - begun
    await writer.close()
    return ROWS / spent


def main() -> None:
    print(f"{'at once':>8} {'writer rows/s':>14} {'raw rows/s':>12} {'ratio':>7} {'range':>14}")
    for at_once in (1, 10, 100):
        ours, theirs = [], []
        for number in range(PAIRS):
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch)
                ours.append(asyncio.run(grouped(prepared(folder, f"a{number}.db"), at_once)))
                theirs.append(raw(prepared(folder, f"b{number}.db"), at_once))
        ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
        print(
            f"{at_once:>8} {statistics.median(ours):>14,.0f} {statistics.median(theirs):>12,.0f} "
            f"{statistics.median(ratios):>7.2f} {ratios[0]:>6.2f}-{ratios[-1]:.2f}"
        )


if __name__ == "__main__":
    main()
