"""Whether a database is sound: its file, its references, and what must always hold between its rows.

Every question is one statement, so that it sees one instant of a database that a host writes meanwhile. Nothing is written.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from siteward.core.store.errors import ReadFailed
from siteward.core.store.sqlite import Sqlite
from siteward.core.store.store import Store

SHOWN: Final = 5
"""Ids of a finding that are named; the rest are counted."""
LATE_SECONDS: Final = 120.0
"""What is due for longer than this, a running host should have done."""
_ALIVE: Final = "('running', 'waiting')"


class Grade(StrEnum):
    """How bad a finding is. `note`: worth knowing. `warning`: will be a trouble. `wrong`: is one."""

    NOTE = "note"
    WARNING = "warning"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, and what to do about it."""

    code: str
    grade: Grade
    what: str
    do: str

    def as_dict(self) -> dict[str, Any]:
        """The finding for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Rule:
    """A query that must find no row. `{n}` in `what` is how many it found."""

    code: str
    grade: Grade
    sql: str
    what: str
    do: str


_REPORT: Final = "This should not happen: keep a backup, and report it with the output of `siteward check --json`."
_RULES: Final = (
    _Rule(
        "run.waits_for_nothing",
        Grade.WRONG,
        "SELECT id FROM workflow_runs r WHERE state = 'waiting' AND NOT EXISTS (SELECT 1 FROM waits w WHERE w.run_id = r.id AND w.state = 'open') "
        "AND NOT EXISTS (SELECT 1 FROM workflow_approvals a WHERE a.run_id = r.id AND a.state IN ('open', 'answered'))",
        "{n} waiting runs wait for nothing, and never go on",
        "Cancel them on their pages. " + _REPORT,
    ),
    _Rule(
        "step.intent_of_ended_run",
        Grade.WRONG,
        "SELECT s.run_id AS id FROM workflow_run_steps s JOIN workflow_runs r ON r.id = s.run_id "
        f"WHERE s.status IN ('intent', 'waiting') AND r.state NOT IN {_ALIVE}",
        "{n} steps of runs that ended say that they still act or wait",
        "Look at what they act on yourself: whether it acted is not known. " + _REPORT,
    ),
    _Rule(
        "approval.of_ended_run",
        Grade.WRONG,
        "SELECT a.id FROM workflow_approvals a LEFT JOIN workflow_runs r ON r.id = a.run_id "
        f"WHERE a.state = 'open' AND NOT a.rehearsal AND (r.id IS NULL OR r.state NOT IN {_ALIVE})",
        "{n} open questions belong to runs that ended",
        "Nobody need answer them: an answer changes nothing. " + _REPORT,
    ),
    _Rule(
        "wait.of_ended_run",
        Grade.WRONG,
        "SELECT w.id FROM waits w LEFT JOIN workflow_runs r ON r.id = w.run_id WHERE w.state = 'open' AND w.run_id IS NOT NULL "
        f"AND w.kind <> 'rehearsal' AND (r.id IS NULL OR r.state NOT IN {_ALIVE})",
        "{n} open waits belong to runs that ended",
        "They wake nobody. " + _REPORT,
    ),
    _Rule(
        "row.without_run",
        Grade.WRONG,
        "SELECT run_id AS id FROM workflow_tool_calls c WHERE NOT EXISTS (SELECT 1 FROM workflow_runs r WHERE r.id = c.run_id) UNION ALL "
        "SELECT run_id AS id FROM workflow_approvals a WHERE NOT EXISTS (SELECT 1 FROM workflow_runs r WHERE r.id = a.run_id)",
        "{n} rows belong to runs that are gone",
        "They only take room. " + _REPORT,
    ),
    _Rule(
        "workflow.version_gone",
        Grade.WRONG,
        "SELECT id FROM workflows w WHERE NOT EXISTS (SELECT 1 FROM workflow_versions v WHERE v.workflow_id = w.id AND v.version = w.version)",
        "{n} workflows have lost the text of their newest version",
        "Save them again from their files, or restore a backup.",
    ),
    _Rule(
        "workflow.on_version_gone",
        Grade.WRONG,
        "SELECT id FROM workflows w WHERE on_version IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM workflow_versions v WHERE v.workflow_id = w.id AND v.version = w.on_version)",
        "{n} workflows have lost the text of the version that is On",
        "Turn their newest version On, or restore a backup.",
    ),
    _Rule(
        "run.version_gone",
        Grade.WRONG,
        f"SELECT id FROM workflow_runs r WHERE state IN {_ALIVE} AND NOT EXISTS (SELECT 1 FROM workflow_versions v WHERE v.workflow_id = "
        "r.workflow_id AND v.version = r.version)",
        "{n} runs that are not over have lost the version of their workflow",
        "They stand still: cancel them on their pages.",
    ),
    _Rule(
        "picture.gone",
        Grade.WARNING,
        "SELECT picture AS id FROM events e WHERE picture IS NOT NULL AND NOT EXISTS (SELECT 1 FROM media m WHERE m.id = e.picture) UNION "
        "SELECT picture AS id FROM workflow_approvals a WHERE picture IS NOT NULL AND NOT EXISTS (SELECT 1 FROM media m WHERE m.id = a.picture)",
        "{n} pictures that events or questions show are gone",
        "Their pages show none, and a `try` of those events cannot look. Nothing else depends on them.",
    ),
    _Rule(
        "time.ahead",
        Grade.WARNING,
        "SELECT id FROM workflow_runs WHERE started_at > :ahead UNION ALL SELECT id FROM events WHERE accepted_at > :ahead",
        "{n} runs and events carry times that are more than an hour in the future",
        "The clock of this machine is wrong now, or was then. Set it (a time server does); retention keeps these until their time.",
    ),
)


async def check_rows(store: Store, now: float) -> list[Finding]:
    """What does not hold between the rows. Raises `ReadFailed`."""
    found = []
    for rule in _RULES:
        params = {"ahead": now + 3600.0} if ":ahead" in rule.sql else {}
        rows = await store.fetch(rule.sql, params)
        if rows:
            found.append(Finding(rule.code, rule.grade, f"{rule.what.format(n=len(rows))} ({_named(rows)}).", rule.do))
    return found


async def check_file(store: Store, *, quick: bool) -> list[Finding]:
    """What is damaged in the file itself, and references that lead nowhere. PostgreSQL looks after its own files and references."""
    if not isinstance(store.backend, Sqlite):
        return []
    pragma = "quick_check" if quick else "integrity_check"
    try:
        said = [next(iter(row.values())) for row in await store.fetch(f"PRAGMA {pragma}({SHOWN})")]
    except ReadFailed as error:
        said = [error.sentence]
    found = []
    if said != ["ok"]:
        told = "; ".join(" ".join(str(line).split()) for line in said)
        found.append(
            Finding(
                "database.damaged",
                Grade.WRONG,
                f"The database is damaged: {told}.",
                "Stop the host, keep a copy of the folder, and `siteward restore` the newest backup. Check the disk and the memory.",
            )
        )
        return found
    rows = await store.fetch("PRAGMA foreign_key_check")
    if rows:
        tables = ", ".join(sorted({str(row["table"]) for row in rows}))
        found.append(
            Finding(
                "database.references",
                Grade.WRONG,
                f"{len(rows)} rows refer to rows that are gone (in {tables}).",
                "Somebody changed the database by hand, or it is damaged: restore the newest backup.",
            )
        )
    return found


def _named(rows: list[dict[str, Any]]) -> str:
    ids = [str(row["id"]) for row in rows[:SHOWN]]
    return ", ".join(ids) + (f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else "")
