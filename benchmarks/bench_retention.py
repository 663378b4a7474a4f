"""Does pruning a large past hold up a new commit? The 99th percentile of one commit while a pass runs, against the same without it.

A database with N ended runs (the first argument, 50,000 by default; 1,000,000 is the full measure and takes some minutes to make): each run with its
event, three steps, a log line and four live updates. A writer commits one row every 5 ms, as one event after the other would; first alone, then while
everything is pruned (for 30 seconds at most). Printed are both percentiles, their ratio, and how many runs a second left; the rounds run in turn, over copies of the same file.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

from siteward.core.ids import first_at
from siteward.core.store.migrate import migrate
from siteward.core.store.retention import DAY, Ages, prune
from siteward.core.store.store import Store
from siteward.core.store.writer import Op

ROUNDS = 5
EVERY = 0.005
ALONE = 400
LONGEST = 30.0
"""Seconds of one pass; a longer one is cut off and its rate stands for the rest."""
NOW = 1_800_000_000.0
COUNT = Op(
    "INSERT INTO counters (scope, name, bucket, count) VALUES ('bench', 'bench', 'now', 1) "
    "ON CONFLICT (scope, name, bucket) DO UPDATE SET count = counters.count + 1"
)


def make(file: Path, runs: int) -> None:
    """A site with a past: `runs` that ended between 60 and 40 days ago."""
    migrate(str(file))
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous=OFF")
        database.execute("BEGIN")
        database.execute(
            "INSERT INTO workflows (id, name, state, version, created_at, changed_at) VALUES ('w', 'W', 'on', 1, 0, 0)"
        )
        for number in range(runs):
            at = NOW - 60 * DAY + number * 20 * DAY / runs
            run, event = first_at(at)[:10] + f"{number:016d}", f"event-{number}"
            database.execute(
                "INSERT INTO events (id, type, source, provenance, camera, at, accepted_at, correlation_id, payload, matched) "
                "VALUES (?, 'detect.vehicle_in_zone', 'bench', 'sensor', 'cam-1', ?, ?, ?, ?, 1)",
                (event, at, at, event, "x" * 200),
            )
            database.execute(
                "INSERT INTO workflow_runs (id, workflow_id, version, mode, state, event_id, correlation_id, chain, position, started_at, "
                "ended_at) VALUES (?, 'w', 1, 'on', 'done', ?, ?, 0, ?, ?, ?)",
                (run, event, event, "x" * 300, at, at + 1),
            )
            database.executemany(
                "INSERT INTO workflow_run_steps (run_id, path, seq, kind, status, inputs, result, started_at) "
                "VALUES (?, ?, ?, 'log', 'done', ?, ?, ?)",
                [(run, f"then.{step}", step, "x" * 100, "x" * 100, at) for step in range(3)],
            )
            database.execute(
                "INSERT INTO logs (id, run_id, path, message, at) VALUES (?, ?, 'then.0', 'seen', ?)", (run, run, at)
            )
            database.executemany(
                "INSERT INTO outbox (topic, payload, at) VALUES ('run.step', ?, ?)", [("x" * 100, at)] * 4
            )
        database.execute("COMMIT")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


async def commits(store: Store, over: asyncio.Event, most: int | None = None) -> list[float]:
    """Seconds of one commit after the other, until it is over."""
    took: list[float] = []
    while not over.is_set() and (most is None or len(took) < most):
        begun = time.perf_counter()
        await store.submit(COUNT)
        took.append(time.perf_counter() - begun)
        await asyncio.sleep(EVERY)
    return took


def percentile(took: list[float]) -> float:
    return sorted(took)[int(len(took) * 0.99)]


async def measure(file: Path, runs: int) -> tuple[float, float, float]:
    """The percentile alone, while pruning, and runs pruned a second."""
    store = await Store.open(f"sqlite:///{file}")
    over = asyncio.Event()
    alone = await commits(store, over, ALONE)
    writing = asyncio.create_task(commits(store, over))
    begun = time.perf_counter()
    with suppress(TimeoutError):
        async with asyncio.timeout(LONGEST):
            await prune(store, Ages.of(NOW))
    spent = time.perf_counter() - begun
    over.set()
    beside = await writing
    left = (await store.fetch("SELECT count(*) AS found FROM workflow_runs"))[0]["found"]
    await store.close()
    return percentile(alone), percentile(beside), (runs - left) / spent


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as scratch:
        first = Path(scratch, "first.db")
        make(first, runs)
        print(f"{runs:,} ended runs, {first.stat().st_size / 1e6:,.0f} MB")
        ratios, rates = [], []
        for number in range(ROUNDS):
            file = Path(scratch, f"{number}.db")
            shutil.copyfile(first, file)
            alone, beside, rate = asyncio.run(measure(file, runs))
            file.unlink()
            ratios.append(beside / alone)
            rates.append(rate)
            print(
                f"p99 of a commit: alone {alone * 1e3:6.2f} ms, while pruning {beside * 1e3:6.2f} ms, ratio {beside / alone:.2f}"
            )
        ratios.sort()
        print(
            f"ratio, median of {ROUNDS}: {statistics.median(ratios):.2f} (range {ratios[0]:.2f}-{ratios[-1]:.2f}); "
            f"{statistics.median(rates):,.0f} runs a second left"
        )


if __name__ == "__main__":
    main()
