"""Which statements get slower as a site's past grows: every statement that the tests make run, with SQLite's plan for it.

    python -m benchmarks.query_plans [tests ...]     (tests/engine tests/api by default)

The tests run once (in memory and on SQLite); the texts of all reads and writes are collected as they are prepared, with their parameters unbound, since a
partial index serves a query only by its text. Told are those that go over a whole growing table or a whole index of it that is not partial, sort what they found,
or sort by a temporary tree. A plan says nothing of how often a statement runs: read the list with the code.
"""

from __future__ import annotations

import re
import sqlite3 as sqlite_library
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import Engine, event

from siteward.core.store import sqlite
from siteward.core.store.migrate import migrate
from siteward.core.store.statements import question_marks

GROWING: Final = frozenset(
    {
        *("events", "workflow_runs", "workflow_run_steps", "workflow_tool_calls", "waits", "workflow_approvals"),
        *("alerts", "logs", "outbox", "counters", "audit", "media"),
    }
)
_SCAN: Final = re.compile(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?")


def collected(tests: list[str]) -> set[str]:
    """The texts of all statements that these tests run."""
    texts: set[str] = set()

    def noting(sql: str) -> Any:
        statement = question_marks(sql)
        texts.add(statement.text)
        return statement

    def before(_: Any, __: Any, statement: str, *___: Any) -> None:
        texts.add(statement)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "question_marks", noting)
        event.listen(Engine, "before_cursor_execute", before)
        try:
            pytest.main([*tests, "-q", "-k", "not postgresql and not always-suspend", "-p", "no:warnings"])
        finally:
            event.remove(Engine, "before_cursor_execute", before)
    return {
        text for text in texts if text.lstrip().split(" ", 1)[0] in ("SELECT", "UPDATE", "DELETE", "INSERT", "WITH")
    }


def suspicious(connection: sqlite_library.Connection, sql: str, partial: frozenset[str]) -> list[str]:
    """The lines of its plan that grow with the past."""
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * sql.count("?"))]
    found = [
        line
        for line in plan
        if (scan := _SCAN.match(line)) and scan[1] in GROWING and not (scan[2] is not None and scan[2] in partial)
    ]
    return found + ([line for line in plan if "TEMP B-TREE" in line] if found else [])


def main() -> None:
    texts = collected(sys.argv[1:] or ["tests/engine", "tests/api"])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "site.db"
        migrate(str(file))
        with sqlite_library.connect(file) as connection:
            indexes = connection.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '% WHERE %'")
            partial = frozenset(name for (name,) in indexes)
            told = 0
            for sql in sorted(texts):
                try:
                    lines = suspicious(connection, sql, partial)
                except sqlite_library.OperationalError:  # it names a table of another database
                    continue
                if lines:
                    told += 1
                    print(f"\n{' '.join(sql.split())}\n    " + "\n    ".join(lines))
        connection.close()
    print(f"\n{len(texts)} statements, {told} to look at")


if __name__ == "__main__":
    main()
