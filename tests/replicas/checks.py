"""What must be true once all runs of several killed engines have ended: read from outside, from the world's own logs and the rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg


def violations(folder: Path, url: str, events: int) -> list[str]:
    """Everything that is wrong, in words; empty where all promises were kept."""
    with psycopg.connect(url, autocommit=True) as connection:
        return list(_violations(folder, connection, events))


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def _violations(folder: Path, database: psycopg.Connection[Any], events: int) -> Iterator[str]:
    def rows(query: Any) -> list[tuple[Any, ...]]:
        return database.execute(query).fetchall()

    accepted = rows("SELECT count(*) FROM events WHERE type = 'plate.recognized.v1'")
    if accepted != [(events,)]:
        yield f"{accepted} events are kept of {events}"
    made = Counter(event for (event,) in rows("SELECT event_id FROM workflow_runs"))
    if len(made) != events or set(made.values()) != {1}:
        yield f"{len(made)} events of {events} made runs, of them more than one: {[e for e in made if made[e] > 1]}"
    states = dict(rows("SELECT id, state FROM workflow_runs"))
    if odd := {run: state for run, state in states.items() if state not in ("done", "unknown", "expired")}:
        yield f"runs did not end well: {odd}"
    yield from _moves(folder, states)
    logged = Counter(message for (message,) in rows("SELECT message FROM logs"))
    if twice := [message for message, times in logged.items() if times > 1]:
        yield f"records were written more than once: {twice}"
    if (over := sum(times for message, times in logged.items() if message.startswith("over"))) != events:
        yield f"`always` ran {over} times for {events} events"
    unsaid = rows(
        "SELECT id FROM workflow_runs r WHERE state IN ('unknown', 'expired') "
        "AND (SELECT count(*) FROM alerts a WHERE a.run_id = r.id AND a.kind = 'engine') <> 1"
    )
    if unsaid:
        yield f"runs that ended unknown or expired have not one alert: {unsaid}"
    told = rows("SELECT payload, count(*) FROM outbox WHERE topic = 'run.ended' GROUP BY payload HAVING count(*) > 1")
    if told:
        yield f"ends were told more than once: {told}"
    for what, query in {
        "steps without an end": "SELECT path, status FROM workflow_run_steps WHERE status IN ('intent', 'waiting')",
        "open waits": "SELECT kind FROM waits WHERE state = 'open'",
        "open questions": "SELECT id FROM workflow_approvals WHERE state = 'open'",
        "events without a match": "SELECT id FROM events WHERE matched IS NULL",
    }.items():
        if found := rows(query):
            yield f"{what}: {found}"


def _moves(folder: Path, states: dict[str, str]) -> Iterator[str]:
    opened = _lines(folder / "relay.log")
    if twice := [run for run, times in Counter(line["run"] for line in opened).items() if times > 1]:
        yield f"the gate was opened more than once for {twice}"
    if late := [line for line in opened if line["late"]]:
        yield f"the gate was opened late: {late}"
    moved = {line["run"] for line in opened}
    if unmoved := [run for run, state in states.items() if state == "done" and run not in moved]:
        yield f"runs are done and the gate was not opened: {unmoved}"
    if wrong := {run: states.get(run) for run in moved if states.get(run) not in ("done", "unknown")}:
        yield f"the gate was opened for runs that say otherwise: {wrong}"
    keys = Counter((line["run"], line["key"]) for line in _lines(folder / "receiver.log"))
    if len(keys) != len({run for run, _ in keys}):
        yield "a receiver saw two keys of one run"
