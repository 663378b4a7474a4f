"""A past for a database: finished runs of the unit, by the million, as rows.

One real run is played; its rows in every table are the pattern. Each finished run is a copy with ids and times of its own, spread over the 29 days before now
(retention takes nothing). What is measured afterwards is the engine beside this past, not how it came.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.ours import WORKFLOW, one_run, unit_house
from siteward.core.ids import TimedIds
from siteward.sdk.simulated_clock import SimulatedClock
from tests.engine.house import migrated

DAYS = 29.0
WORKFLOW_ID = "past"
TABLES = ("events", "workflow_runs", "workflow_run_steps", "logs", "outbox")
_TIMES = frozenset({"at", "accepted_at", "started_at", "ended_at"})
_EVENT, _RUN, _LOG = "event", "run", "log"
"""What stands for a run's own ids in its pattern."""

Row = dict[str, Any]


async def _played() -> dict[str, list[Row]]:
    """The rows of one real run, its ids replaced by names and its times by the seconds since it began."""
    with tempfile.TemporaryDirectory() as folder:
        async with unit_house(Path(folder)) as house:
            event = house.vehicle(track="past")
            await one_run(house.engine, event)
        with sqlite3.connect(Path(folder, "site.db")) as connection:
            connection.row_factory = sqlite3.Row
            found = {table: [dict(row) for row in connection.execute(f"SELECT * FROM {table}")] for table in TABLES}
        connection.close()
    run, began = found["workflow_runs"][0], found["events"][0]["accepted_at"]
    found["outbox"] = [row for row in found["outbox"] if row["topic"].startswith("run.")]
    names = {event.id: _EVENT, run["id"]: _RUN, run["workflow_id"]: WORKFLOW_ID}
    names |= {row["id"]: _LOG for row in found["logs"]}
    return {table: [_pattern(row, names, began) for row in rows] for table, rows in found.items()}


def _pattern(row: Row, names: dict[str, str], began: float) -> Row:
    pattern = {}
    for column, value in row.items():
        if column in _TIMES and value is not None:
            pattern[column] = value - began
        elif isinstance(value, str):
            for real, name in names.items():
                value = value.replace(real, name if name == WORKFLOW_ID else f"<{name}>")
            pattern[column] = value
        else:
            pattern[column] = value
    return pattern


def _copies(rows: list[Row], ids: list[dict[str, str]], times: list[float]) -> Iterator[tuple[Any, ...]]:
    for own, began in zip(ids, times, strict=True):
        for row in rows:
            yield tuple(_filled(column, value, own, began) for column, value in row.items())


def _filled(column: str, value: Any, own: dict[str, str], began: float) -> Any:
    if column in _TIMES and value is not None:
        return began + value
    if isinstance(value, str) and "<" in value:
        for name, real in own.items():
            value = value.replace(name, real)
    return value


def add_past(folder: Path, runs: int, batch: int = 20_000) -> None:
    """Put so many finished runs into the folder's database, made where there is none."""
    database = folder / "site.db"
    if not database.exists():
        database.write_bytes(migrated())
    pattern = asyncio.run(_played())
    first = datetime.now(UTC) - timedelta(days=DAYS)
    clock = SimulatedClock(first)
    ids = TimedIds(clock, random.Random(1))
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA synchronous=OFF")  # nobody acts on it before it is whole
        connection.execute(
            "INSERT INTO workflows (id, name, state, version, source, created_at, changed_at) VALUES (?, 'Past', 'off', 1, 'site', 0, 0)",
            (WORKFLOW_ID,),
        )
        connection.execute(
            'INSERT INTO workflow_versions (workflow_id, version, text, sha256, "by", at) VALUES (?, 1, ?, ?, ?, 0)',
            (WORKFLOW_ID, WORKFLOW, "", "user:admin"),
        )
        for begin in range(0, runs, batch):
            own, times = [], []
            for number in range(begin, min(runs, begin + batch)):
                clock._now = first + timedelta(days=DAYS * number / runs)
                times.append(clock.now().timestamp())
                own.append({f"<{name}>": ids.new() for name in (_EVENT, _RUN, _LOG)})
            for table, rows in pattern.items():
                columns = [column for column in rows[0] if not (table == "outbox" and column == "id")]
                kept = [{column: row[column] for column in columns} for row in rows]
                names, marks = ", ".join(f'"{name}"' for name in columns), ", ".join("?" * len(columns))
                connection.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", _copies(kept, own, times))
            connection.commit()
    connection.close()
