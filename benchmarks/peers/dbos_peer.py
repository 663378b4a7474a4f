"""DBOS 3.4.0: a workflow function of two steps, called directly by so many threads, or tasks of one loop, at once.

The unit: the call (an event with its input) -> a step that decides the `if` -> a step that records (its result is the record) -> the workflow's result. Four
durable writes: the workflow's row, two step results, the final status. A call returns when the last is committed. Nothing is batched by DBOS.

Settings: as shipped but for what `--database` says.
  sqlite      as shipped: rollback journal, `synchronous=FULL`
  sqlite-wal  the file is switched to WAL by hand before DBOS opens it; `synchronous=FULL`
  URL         PostgreSQL at that URL; its own defaults, `synchronous_commit` on
`--style threads` calls plain functions from as many threads as are asked for at once; `--style async` awaits coroutines, as DBOS writes them for asyncio.
The log says errors only; no traces, no conductor; the pool of database connections as shipped.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import sqlalchemy
from dbos import DBOS, DBOSConfig

from benchmarks.peers.worker import Told, serve

THREADS = 100


@DBOS.step()
def is_met(event: dict[str, Any]) -> bool:
    return bool(event["zone"] == "apron")


@DBOS.step()
def record(event: dict[str, Any]) -> str:
    return f"seen {event['track']}"


@DBOS.workflow()
def unit(event: dict[str, Any]) -> str:
    if is_met(event):
        return record(event)
    return "not met"


@DBOS.step()
async def is_met_async(event: dict[str, Any]) -> bool:
    return bool(event["zone"] == "apron")


@DBOS.step()
async def record_async(event: dict[str, Any]) -> str:
    return f"seen {event['track']}"


@DBOS.workflow()
async def unit_async(event: dict[str, Any]) -> str:
    if await is_met_async(event):
        return await record_async(event)
    return "not met"


async def run(database: str, style: str, folder: Path) -> None:
    told = Told()
    file = folder / "dbos.sqlite"
    url = database if "://" in database else f"sqlite:///{file}"
    if database == "sqlite-wal":
        with sqlite3.connect(file) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
    config: DBOSConfig = {"name": "bench", "system_database_url": url, "log_level": "ERROR", "enable_otlp": False}
    DBOS(config=config)
    DBOS.launch()
    loop, threads = asyncio.get_running_loop(), ThreadPoolExecutor(THREADS)
    engine = sqlalchemy.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    schema = "" if url.startswith("sqlite") else "dbos."
    recorded_steps = sqlalchemy.text(
        f"SELECT COUNT(*) FROM {schema}workflow_status w JOIN {schema}operation_outputs o ON o.workflow_uuid = w.workflow_uuid "
        "WHERE w.status = 'SUCCESS' AND o.function_name LIKE '%record%' AND o.output IS NOT NULL"
    )

    async def one(number: int) -> None:
        event = {"id": f"e{number}", "camera": "cam-1", "zone": "apron", "seconds": 5, "track": f"t{number}"}
        if style == "async":
            await unit_async(event)
        else:
            await loop.run_in_executor(threads, unit, event)

    async def recorded() -> int:
        with engine.connect() as connection:
            return int(connection.execute(recorded_steps).scalar_one())

    await serve(told, {"database": database, "style": style}, one, recorded)
    DBOS.destroy()


def main() -> None:
    reads = argparse.ArgumentParser()
    reads.add_argument("--database", required=True)
    reads.add_argument("--style", choices=("threads", "async"), default="threads")
    asked = reads.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(asked.database, asked.style, Path(folder)))


if __name__ == "__main__":
    main()
