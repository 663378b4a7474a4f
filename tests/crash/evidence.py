"""What a story left, read from outside: the files of the world, and the database by a connection of the reader's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, create_engine
from sqlalchemy.pool import NullPool

from siteward.core.store.schema import (
    alerts,
    counters,
    events,
    logs,
    outbox,
    waits,
    workflow_approvals,
    workflow_run_steps,
    workflow_runs,
    workflows,
)
from siteward.sdk.simulated_clock import START
from tests.crash.scenarios import Scenario
from tests.crash.world import lines

Row = Mapping[str, Any]
Rows = Sequence[Row]
TABLES = (
    *(alerts, counters, events, logs, outbox, waits),
    *(workflow_approvals, workflow_run_steps, workflow_runs, workflows),
)
NEAR = 0.01
"""Seconds within which two moments are the same: the clock of a story is simulated and stands still while anything is done."""


@dataclass(frozen=True)
class Evidence:
    """Rows by table, and lines by log."""

    scenario: Scenario
    rows: Mapping[str, Rows]
    outside: Rows
    said: Rows
    lives: Rows
    acknowledged: Sequence[str]
    damage: str | None

    @classmethod
    def read(cls, place: Path, scenario: Scenario) -> Evidence:
        """Everything that a place holds."""
        engine = create_engine((place / "url").read_text(), poolclass=NullPool)
        damage = None
        with engine.connect() as connection:
            if engine.dialect.name == "sqlite":
                found = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check")]
                broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
                damage = None if found == ["ok"] and not broken else f"{found} {broken}"
            rows = {table.name: _rows(connection, table) for table in TABLES}
        acks = place / "acks"
        acknowledged = acks.read_text().splitlines() if acks.exists() else []
        outside, said, lives = (lines(place / f"{name}.log") for name in ("outside", "said", "lives"))
        return cls(scenario, rows, outside, said, lives, acknowledged, damage)

    def __getitem__(self, table: str) -> Rows:
        return self.rows[table]

    @cached_property
    def steps(self) -> Mapping[tuple[str, str], Row]:
        """Steps by run and path."""
        return {(row["run_id"], row["path"]): row for row in self["workflow_run_steps"]}

    @cached_property
    def runs(self) -> Mapping[str, Row]:
        """Runs by id."""
        return {row["id"]: row for row in self["workflow_runs"]}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Names of workflows by id."""
        return {row["id"]: row["name"] for row in self["workflows"]}

    @cached_property
    def begins(self) -> Sequence[float]:
        """When each life began, as rows carry times."""
        return [START.timestamp() + life["wall"] for life in self.lives]

    @cached_property
    def left(self) -> frozenset[str]:
        """The keys of steps that act once, whose intent a life found with no result."""
        return frozenset(one["key"] for life in self.lives for one in life["left"] if one["repeat"] == "once")

    def told(self, topic: str) -> list[Mapping[str, Any]]:
        """The live updates of a topic, with their times."""
        return [{**json.loads(row["payload"]), "at": row["at"]} for row in self["outbox"] if row["topic"] == topic]

    def on_time(self, moment: float, due: float) -> bool:
        """Whether something happened when it was due; or, where nobody lived then to end it, as soon as somebody did."""
        if abs(moment - due) < NEAR:
            return True
        shown = moment - START.timestamp()
        reached = (max(life["wall"], life["was"]) for life in self.lives if abs(life["wall"] - shown) < NEAR)
        return any(START.timestamp() + wall > due - NEAR for wall in reached)

    def nobody_lived_at(self, second: float) -> bool:
        """Whether the wall clock showed this second between two lives, or as one ended."""
        return any(life["was"] - NEAR < second <= life["wall"] for life in self.lives)


def _rows(connection: Connection, table: Table) -> list[dict[str, Any]]:
    return [dict(row) for row in connection.exec_driver_sql(f"SELECT * FROM {table.name}").mappings()]
