"""SQLite's plans of the statements that a test runs: which of them go over a whole table that grows with a site's past."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import Engine, event

from siteward.core.store import sqlite
from siteward.core.store.statements import question_marks

GROWING: Final = frozenset(
    {
        *("events", "workflow_runs", "workflow_run_steps", "workflow_tool_calls", "waits", "workflow_approvals"),
        *("alerts", "logs", "outbox", "counters", "audit", "media"),
    }
)
_READS_AND_WRITES: Final = ("SELECT", "UPDATE", "DELETE", "INSERT", "WITH")
_SCAN: Final = re.compile(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?")


@contextmanager
def collected() -> Iterator[set[str]]:
    """The texts of all statements that run in the block, their parameters unbound: a partial index serves a query only by its text."""
    texts: set[str] = set()

    def note(text: str) -> None:
        if text.split(maxsplit=1)[0] in _READS_AND_WRITES:
            texts.add(text)

    def noting(sql: str) -> Any:
        statement = question_marks(sql)
        note(statement.text)
        return statement

    def before(_: Any, __: Any, statement: str, *___: Any) -> None:
        note(statement)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "question_marks", noting)
        event.listen(Engine, "before_cursor_execute", before)
        try:
            yield texts
        finally:
            event.remove(Engine, "before_cursor_execute", before)


def growing(file: Path, texts: Iterable[str]) -> dict[str, list[str]]:
    """Those statements whose plan goes over a whole growing table, or over a whole index of one that is not partial; with these lines of the plan."""
    found: dict[str, list[str]] = {}
    with sqlite3.connect(file) as connection:
        indexes = connection.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '% WHERE %'")
        partial = frozenset(name for (name,) in indexes)
        for sql in sorted(texts):
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * sql.count("?"))]
            lines = [line for line in plan if _grows(line, partial)]
            if lines:
                found[" ".join(sql.split())] = lines + [line for line in plan if "TEMP B-TREE" in line]
    connection.close()
    return found


def _grows(line: str, partial: frozenset[str]) -> bool:
    scan = _SCAN.match(line)
    return scan is not None and scan[1] in GROWING and scan[2] not in partial
