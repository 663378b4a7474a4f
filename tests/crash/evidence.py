"""What a story left, read from outside: the files of the world, and the database by a connection of the reader's own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table

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
from tests.crash.databases import reader
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
        engine = reader((place / "url").read_text())
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
        """The live updates of a topic in their order, with their times."""
        own = sorted((row for row in self["outbox"] if row["topic"] == topic), key=lambda row: int(row["id"]))
        return [{**json.loads(row["payload"]), "at": row["at"]} for row in own]

    def lasted(self, since: float, until: float, seconds: float) -> bool:
        """Whether so many true seconds passed between two moments of rows; or, where nobody lived to end them then, as many as it took until somebody did."""
        for began in self._true(since):
            for moment in self._true(until):
                if abs(moment - began - seconds) < NEAR:
                    return True
                if moment > began + seconds and self.at_a_start(moment):
                    return True
        return False

    def _true(self, moment: float) -> Iterator[float]:
        """The true seconds of the story at which the wall clock showed a moment: one for each life in which it did."""
        shown = moment - START.timestamp()
        ends = [life["was"] for life in self.lives[1:]] + [float("inf")]
        for life, end in zip(self.lives, ends, strict=True):
            if life["wall"] - NEAR <= shown <= end + NEAR:
                yield shown - life["wall"] + life["true"]

    def at_a_start(self, true: float) -> bool:
        """Whether a life began at this true second of the story."""
        return any(abs(true - life["true"]) < NEAR for life in self.lives)

    def by_the_wall(self, moment: float, due: float) -> bool:
        """Whether something happened when the wall clock said so; or, where nobody lived then, as soon as somebody did."""
        return abs(moment - due) < NEAR or (moment > due and any(abs(moment - begin) < NEAR for begin in self.begins))

    def nobody_lived_at(self, second: float) -> bool:
        """Whether the wall clock showed this second between two lives, or as one ended."""
        return any(life["was"] - NEAR < second <= life["wall"] for life in self.lives)


def _rows(connection: Connection, table: Table) -> list[dict[str, Any]]:
    return [dict(row) for row in connection.exec_driver_sql(f"SELECT * FROM {table.name}").mappings()]
