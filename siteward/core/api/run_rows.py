"""Reads runs for the pages: the list of a workflow, and one run with every step as it was recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Select, select

from siteward.core.errors import NotFound
from siteward.core.site.permissions import Person
from siteward.core.site.site import Site
from siteward.core.store.schema import events, media, workflow_run_steps, workflow_runs, workflow_tool_calls, workflows

from .sight import seen_by
from .times import stamp, stamp_or_none
from .workflow_rows import last_outcomes


def _runs() -> Select[Any]:
    return (
        select(
            workflow_runs,
            workflows.c.name.label("workflow"),
            events.c.type.label("event_type"),
            events.c.source.label("event_source"),
            events.c.provenance.label("event_provenance"),
            events.c.camera.label("camera"),
            events.c.at.label("event_at"),
            events.c.payload.label("event_payload"),
            events.c.picture.label("event_picture"),
        )
        .join(events, events.c.id == workflow_runs.c.event_id)
        .outerjoin(workflows, workflows.c.id == workflow_runs.c.workflow_id)
    )


async def of_workflow(
    site: Site, person: Person, workflow_id: str, limit: int, before: str | None
) -> list[dict[str, Any]]:
    """The runs of a workflow, newest first, before the run `before` if one is named."""
    query = _runs().where(workflow_runs.c.workflow_id == workflow_id, seen_by(person, events.c.camera))
    if before is not None:
        query = query.where(workflow_runs.c.id < before)
    rows = await site.store.read(query.order_by(workflow_runs.c.id.desc()).limit(limit))
    outcomes = await last_outcomes(site, [row["id"] for row in rows])
    return [_summary(row) | {"outcome": outcomes.get(row["id"])} for row in rows]


async def recent(site: Site, person: Person, limit: int) -> list[dict[str, Any]]:
    """The newest runs of all workflows."""
    query = _runs().where(seen_by(person, events.c.camera)).order_by(workflow_runs.c.id.desc()).limit(limit)
    rows = await site.store.read(query)
    outcomes = await last_outcomes(site, [row["id"] for row in rows])
    return [_summary(row) | {"outcome": outcomes.get(row["id"])} for row in rows]


async def row_of(site: Site, person: Person, run_id: str) -> Mapping[str, Any]:
    """A run's row with its event. Raises `NotFound`, also where the person does not see its camera."""
    rows = await site.store.read(_runs().where(workflow_runs.c.id == run_id))
    if not rows or not person.sees(rows[0]["camera"]):
        raise NotFound("There is no such run, or you do not see its camera.")
    return rows[0]


def summary(row: Mapping[str, Any]) -> dict[str, Any]:
    """A run with its event."""
    shown = _summary(row)
    shown["event"] |= {
        "source": row["event_source"],
        "provenance": row["event_provenance"],
        "payload": json.loads(row["event_payload"]),
    }
    return shown


def _summary(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "workflow_id": row["workflow_id"],
        "workflow": row["workflow"] or "",
        "version": row["version"],
        "mode": row["mode"],
        "state": row["state"],
        "state_reason": row["state_reason"],
        "started_at": stamp(row["started_at"]),
        "ended_at": stamp_or_none(row["ended_at"]),
        "seen_again": row["seen_again"],
        "newest_picture": row["newest_picture"],
        "correlation_id": row["correlation_id"],
        "event": {
            "id": row["event_id"],
            "type": row["event_type"],
            "camera": row["camera"],
            "at": stamp(row["event_at"]),
            "picture": row["event_picture"],
        },
    }


async def steps_of(site: Site, person: Person, run_id: str) -> list[dict[str, Any]]:
    """Every step of a run in the order that they ran, with what an AI step was asked and answered."""
    rows = await site.store.read(
        select(workflow_run_steps).where(workflow_run_steps.c.run_id == run_id).order_by(workflow_run_steps.c.seq)
    )
    calls = await _calls_of(site, run_id)
    hidden = await _hidden_pictures(site, person, [row["result"] or "" for row in rows])
    return [_step(row, calls.get(row["path"], []), hidden) for row in rows]


async def _calls_of(site: Site, run_id: str) -> dict[str, list[Any]]:
    rows = await site.store.read(
        select(workflow_tool_calls).where(workflow_tool_calls.c.run_id == run_id).order_by(workflow_tool_calls.c.seq)
    )
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row["path"], []).append(json.loads(row["row"]))
    return found


async def _hidden_pictures(site: Site, person: Person, results: list[str]) -> frozenset[str]:
    """Pictures of other cameras that the steps name and this person does not see (a Look may read several cameras)."""
    named = {picture for result in results if result for picture in _pictures(json.loads(result))}
    if not named or person.cameras is None:
        return frozenset()
    rows = await site.store.read(select(media.c.id, media.c.camera).where(media.c.id.in_(sorted(named))))
    return frozenset(row["id"] for row in rows if not person.sees(row["camera"]))


def _pictures(result: Any) -> list[str]:
    """The pictures that a step's result names, under `picture` and `pictures`."""
    if not isinstance(result, Mapping):
        return []
    several = result.get("pictures")
    found = [item for item in several if isinstance(item, str)] if isinstance(several, list) else []
    return [*([result["picture"]] if isinstance(result.get("picture"), str) else []), *found]


def _step(row: Mapping[str, Any], calls: list[Any], hidden: frozenset[str]) -> dict[str, Any]:
    result = None if row["result"] is None else json.loads(row["result"])
    return {
        "path": row["path"],
        "kind": row["kind"],
        "name": row["name"],
        "status": row["status"],
        "outcome": row["outcome"],
        "inputs": {name: plain(value, unlabelled="literal") for name, value in json.loads(row["inputs"]).items()},
        "result": result,
        "pictures": [picture for picture in _pictures(result) if picture not in hidden],
        "started_at": stamp(row["started_at"]),
        "ended_at": stamp_or_none(row["ended_at"]),
        "attempts": row["attempts"],
        "model": _model(row, calls),
    }


def _model(row: Mapping[str, Any], calls: list[Any]) -> dict[str, Any] | None:
    """What a model said, kept apart from what the host knows; None for a step without one."""
    if row["model"] is None and row["reason"] is None and row["unsure_reason"] is None:
        return None
    return {
        "model": row["model"],
        "reason": row["reason"],
        "confidence": row["confidence"],
        "confidence_source": row["confidence_source"],
        "unsure_reason": row["unsure_reason"],
        "rule": row["rule"],
        "calls": calls,
    }


def plain(value: Any, *, unlabelled: str = "ai") -> Any:
    """A labelled value of a row as the pages get it: the value, and where it comes from.

    What lost its label counts as a model's word; the settings of a step that were kept as the file writes them are the author's.
    """
    if isinstance(value, Mapping) and "v" in value and "p" in value:
        return {"value": value["v"], "from": value["p"]}
    return {"value": value, "from": unlabelled}
