"""What must be true of a demo whose story has ended, read from outside: the log of the gate, and the database with a connection of its own."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

FRESH_SECONDS = 60.0
ENDS = ("done", "unknown", "expired")
Rows = Callable[[str], list[tuple[Any, ...]]]


def violations(place: Path) -> list[str]:
    """Everything that is wrong, in words."""
    database = sqlite3.connect(f"file:{place}/site/siteward.db?mode=ro", uri=True)
    try:
        return list(_violations(place, lambda query: database.execute(query).fetchall()))
    finally:
        database.close()


def gate_log(place: Path) -> list[dict[str, Any]]:
    """What the gate did."""
    file = place / "site" / "demo" / "gate.log"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def demo_as_made(place: Path) -> list[str]:
    """What is wrong with a demo to which no vehicle has come yet."""
    database = sqlite3.connect(f"file:{place}/site/siteward.db?mode=ro", uri=True)
    wanted = {
        "PRAGMA integrity_check": [("ok",)],
        "SELECT count(*), count(DISTINCT picture) > 1 FROM events WHERE id LIKE 'demo:past:%'": [(20, 1)],
        "SELECT count(*) FROM events WHERE matched IS NULL": [(0,)],
        "SELECT count(*) FROM workflows": [(1,)],
        "SELECT count(*) FROM workflow_versions": [(1,)],
        "SELECT count(*) FROM workflow_runs": [(0,)],
    }
    try:
        told = {query: database.execute(query).fetchall() for query in wanted}
    finally:
        database.close()
    return [f"{query}: {told[query]}, not {right}" for query, right in wanted.items() if told[query] != right]


def _violations(place: Path, rows: Rows) -> Iterator[str]:
    if rows("PRAGMA integrity_check") != [("ok",)] or rows("PRAGMA foreign_key_check"):
        yield "the database is damaged"
    runs = rows("SELECT id, state, ended_at FROM workflow_runs")
    if len(runs) != 1 or runs[0][1] not in ENDS or runs[0][2] is None:
        yield f"one vehicle came, and there are the runs {runs}"
        return
    state = runs[0][1]
    yield from _gate(place, state, rows)
    yield from _records(state, rows)
    yield from _nothing_left(rows)


def _gate(place: Path, state: str, rows: Rows) -> Iterator[str]:
    log = gate_log(place)
    opened = [datetime.fromisoformat(line["at"]).timestamp() for line in log if line["did"] == "open"]
    if len(opened) > 1 or any(line["did"] == "repeat" for line in log):
        yield f"the gate was told to open more than once: {log}"
    answers = rows("SELECT state, reply, answered_at FROM workflow_approvals")
    if len(answers) != 1:
        yield f"the guard was asked {len(answers)} times"
        return
    ((how, reply, answered_at),) = answers
    for at in opened:
        if how != "answered" or reply != "Let in" or not 0 <= at - answered_at <= FRESH_SECONDS:
            yield f"the gate opened at {at} on {answers}"
    if state == "done" and reply == "Let in" and not opened:
        yield "the guard let it in, the run is done, and the gate did not open"
    if state == "expired" and opened:
        yield "the run is expired, and the gate opened"


def _records(state: str, rows: Rows) -> Iterator[str]:
    if twice := rows("SELECT path, count(*) FROM workflow_run_steps GROUP BY run_id, path HAVING count(*) > 1"):
        yield f"steps stand twice: {twice}"
    if twice := rows("SELECT path, count(*) FROM logs GROUP BY run_id, path HAVING count(*) > 1"):
        yield f"records stand twice: {twice}"
    if (always := rows("SELECT count(*) FROM logs WHERE message LIKE '%was dealt with%'")) != [(1,)]:
        yield f"`always` was written {always} times"
    if (ended := rows("SELECT count(*) FROM outbox WHERE topic = 'run.ended'")) != [(1,)]:
        yield f"the end was told {ended} times"
    said = rows("SELECT title FROM alerts WHERE kind = 'engine'")
    if len(said) != (state in ("unknown", "expired")):
        yield f"the run ended {state}, and the engine's alerts are {said}"


def _nothing_left(rows: Rows) -> Iterator[str]:
    for what, query in {
        "steps without an end": "SELECT path, status FROM workflow_run_steps WHERE status IN ('intent', 'waiting')",
        "open waits": "SELECT kind FROM waits WHERE state = 'open'",
        "open questions": "SELECT id FROM workflow_approvals WHERE state = 'open'",
        "events without a match": "SELECT id FROM events WHERE matched IS NULL",
    }.items():
        if found := rows(query):
            yield f"{what}: {found}"
