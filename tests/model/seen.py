"""What can be seen of a site from outside its engine: the same picture from the reference and from a real database, to be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from tests.engine.house import House

from .language import render
from .reference import Reference
from .things import Key


@dataclass(frozen=True, slots=True)
class OfRun:
    """One run: how it stands and what it did."""

    mode: str
    state: str
    cancelled_for: str | None
    seen_again: int
    picture: str | None
    questions: tuple[tuple[str, str | None, tuple[str, ...]], ...]
    waits: tuple[tuple[str, float], ...]
    logs: tuple[str, ...]
    told: tuple[str, ...]
    opened: int


@dataclass(frozen=True, slots=True)
class Seen:
    """The workflows (state and file) by their places, all runs, and what the counters say of each workflow."""

    workflows: tuple[tuple[str, str], ...]
    runs: Mapping[Key, OfRun]
    refused: Mapping[tuple[int, str], int]
    capped: Mapping[int, int]
    attention: frozenset[int]

    def differences(self, other: Seen) -> list[str]:
        """In words, where two pictures differ; this one is the engine's."""
        found = [
            f"run {key}:\n  engine    {self.runs.get(key)}\n  reference {other.runs.get(key)}"
            for key in sorted({*self.runs, *other.runs})
            if self.runs.get(key) != other.runs.get(key)
        ]
        for name in ("workflows", "refused", "capped", "attention"):
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours != theirs:
                found.append(f"{name}: engine {ours}, reference {theirs}")
        return found


def of_reference(reference: Reference) -> Seen:
    """The picture of a reference."""
    runs = {
        key: OfRun(
            run.mode,
            run.state,
            run.reason if run.state == "cancelled" else None,
            run.seen_again,
            run.picture,
            tuple((question.state, question.reply, question.who) for question in run.questions),
            tuple(sorted((wait.kind, wait.due) for wait in run.waits)),
            run.logs,
            run.told,
            run.opened,
        )
        for key, run in reference.runs.items()
    }
    capped = Counter(place for place, _ in reference.capped)
    workflows = tuple((workflow.state, render(workflow.program)) for workflow in reference.workflows)
    return Seen(workflows, runs, dict(reference.refused), dict(capped), reference.attention)


async def of_house(house: House, workflow_ids: Sequence[str]) -> Seen:
    """The picture of a database and of the world outside it. `workflow_ids` by place."""
    places = {workflow_id: place for place, workflow_id in enumerate(workflow_ids)}
    found = await house.store.fetch("SELECT * FROM workflow_runs")
    inbox = await in_order(house, "alerts")
    names = _names(found, inbox, places)
    questions = _by_run(await in_order(house, "workflow_approvals", "NOT rehearsal"))
    open_waits = _by_run(await in_order(house, "waits", "t.state = 'open' AND t.kind <> 'rehearsal'"))
    said = _by_run(await in_order(house, "logs"))
    runs = {
        names[row["id"]]: OfRun(
            row["mode"],
            row["state"],
            row["state_reason"] if row["state"] == "cancelled" else None,
            row["seen_again"],
            row["newest_picture"],
            tuple(
                (one["state"], one["reply"], tuple(orjson.loads(one["who"]))) for one in questions.get(row["id"], ())
            ),
            tuple(sorted((one["kind"], one["due_at"]) for one in open_waits.get(row["id"], ()))),
            tuple(one["message"] for one in said.get(row["id"], ())),
            tuple(text for run_id, text in _told(house).values() if run_id == row["id"]),
            sum(1 for call in house.outside.named("gate.open") if call.run_id == row["id"]),
        )
        for row in found
    }
    counted = await house.store.fetch("SELECT scope, name, count FROM counters WHERE name LIKE 'refused.%'")
    refused: Counter[tuple[int, str]] = Counter()
    for row in counted:
        refused[places[row["scope"]], row["name"].removeprefix("refused.")] += row["count"]
    capped = Counter(
        places[row["workflow_id"]] for row in inbox if row["kind"] == "engine" and " has used its " in row["title"]
    )
    files = {
        row["id"]: row
        for row in await house.store.fetch(
            "SELECT w.id, w.state, w.attention, v.text FROM workflows w "
            "JOIN workflow_versions v ON v.workflow_id = w.id AND v.version = w.version"
        )
    }
    attention = frozenset(places[workflow_id] for workflow_id, row in files.items() if row["attention"] is not None)
    workflows = tuple((files[workflow_id]["state"], files[workflow_id]["text"]) for workflow_id in workflow_ids)
    return Seen(workflows, runs, dict(refused), dict(capped), attention)


def _names(
    runs: Sequence[Mapping[str, Any]], inbox: Sequence[Mapping[str, Any]], places: Mapping[str, int]
) -> dict[str, Key]:
    """The reference's name of each run: by its event, which for an alert is said by the run that raised it."""
    raised: Counter[str] = Counter()
    origin: dict[str, tuple[str, int]] = {}
    for alert in inbox:
        if alert["kind"] == "alert":
            raised[alert["run_id"]] += 1
            origin[f"alert:{alert['id']}"] = (alert["run_id"], raised[alert["run_id"]])
    names: dict[str, Key] = {}
    # Who raised an alert has fewer before it than whom it started.
    for row in sorted(runs, key=lambda row: row["chain"]):
        event_id = row["event_id"]
        if event_id in origin:
            raiser, number = origin[event_id]
            event_id = f"{names[raiser][0]}/{names[raiser][1]}#{number}"
        names[row["id"]] = (event_id, places[row["workflow_id"]])
    return names


def _told(house: House) -> dict[str | None, tuple[str | None, str]]:
    """What the receiver keeps: each message once by its key."""
    return {call.key: (call.run_id, call.arguments["body"]["text"]) for call in house.outside.named("webhook")}


async def in_order(house: House, table: str, where: str = "1 = 1") -> list[dict[str, Any]]:
    """What runs left in a table (`t`), in the order of their steps: the clock stands still here, and a new process counts its ids anew."""
    return await house.store.fetch(
        f"SELECT t.* FROM {table} t LEFT JOIN workflow_run_steps s ON s.run_id = t.run_id AND s.path = t.path "
        f"WHERE {where} ORDER BY s.seq, t.id"
    )


def _by_run(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["run_id"], []).append(row)
    return found
