"""What must be true of a story that has ended, however often its process was killed. Read from outside: the files of the world, and the
database with a connection of its own."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

FRESH_SECONDS = 60.0
FULL = {"item a": 1, "item b": 1, "gate is open": 1, "always": 1}
ENDS = ("done", "unknown", "expired")


def violations(folder: Path) -> list[str]:
    """Everything that is wrong, in words; empty where all promises were kept."""
    database = sqlite3.connect(f"file:{folder}/site.db?mode=ro", uri=True)
    try:
        return list(_violations(folder, database))
    finally:
        database.close()


def _lines(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def _violations(folder: Path, database: sqlite3.Connection) -> Iterator[str]:
    def rows(query: str) -> list[tuple[object, ...]]:
        return database.execute(query).fetchall()

    if (integrity := rows("PRAGMA integrity_check")) != [("ok",)] or rows("PRAGMA foreign_key_check"):
        yield f"the database is damaged: {integrity}"
    runs = rows("SELECT id, state FROM workflow_runs")
    if len(runs) != 1 or runs[0][1] not in ENDS:
        yield f"the event made {runs} instead of one run that ended"
        return
    state = runs[0][1]
    yield from _records(state, rows)
    yield from _moves(folder, state, rows)
    keys = {line["key"] for line in _lines(folder / "receiver.log")}
    if len(keys) != 1:
        yield f"the receiver saw the keys {keys} instead of one"
    yield from _nothing_left(rows)


def _records(state: object, rows: object) -> Iterator[str]:
    assert callable(rows)
    logged = Counter(message for (message,) in rows("SELECT message FROM logs"))
    twice = {message: times for message, times in logged.items() if times > 1}
    if twice or logged["always"] != 1:
        yield f"records were not written exactly once: {dict(logged)}"
    if state == "done" and logged["nobody answered"] == 0 and logged != FULL:
        yield f"a run that is done left {dict(logged)}"
    alerts = rows("SELECT title FROM alerts WHERE kind = 'alert'")
    if alerts != [("Delivery",)]:
        yield f"the alert was raised {len(alerts)} times"


def _moves(folder: Path, state: object, rows: object) -> Iterator[str]:
    assert callable(rows)
    opened = _lines(folder / "relay.log")
    if len(opened) > 1:
        yield f"the gate was opened {len(opened)} times"
    answered = rows("SELECT answered_at, state FROM workflow_approvals")
    if len(answered) != 1:
        yield f"the guard was asked {len(answered)} times"
    for line in opened:
        if not answered or answered[0][0] is None or float(str(line["at"])) - answered[0][0] > FRESH_SECONDS:
            yield f"the gate was opened at {line['at']} on the answer {answered}"
    step = rows("SELECT status FROM workflow_run_steps WHERE kind = 'gate.open'")
    if opened and step not in ([("done",)], [("unknown",)]):
        yield f"the gate was opened and its step says {step}"
    if state == "done" and answered and answered[0][1] == "answered" and len(opened) != 1:
        yield "the run is done and the gate was not opened"
    said = rows("SELECT title FROM alerts WHERE kind = 'engine'")
    if state in ("unknown", "expired") and len(said) != 1:
        yield f"the run ended {state} and {len(said)} alerts say so"
    if state == "unknown" and step != [("unknown",)]:
        yield f"the run ended unknown and the step that moved says {step}"


def _nothing_left(rows: object) -> Iterator[str]:
    assert callable(rows)
    for what, query in {
        "steps without an end": "SELECT path, status FROM workflow_run_steps WHERE status IN ('intent', 'waiting')",
        "open waits": "SELECT kind FROM waits WHERE state = 'open'",
        "open questions": "SELECT id FROM workflow_approvals WHERE state = 'open'",
        "events without a match": "SELECT id FROM events WHERE matched IS NULL",
    }.items():
        if found := rows(query):
            yield f"{what}: {found}"
    if (told := rows("SELECT count(*) FROM outbox WHERE topic = 'run.ended'")) != [(1,)]:
        yield f"the end of the run was told {told} times"
