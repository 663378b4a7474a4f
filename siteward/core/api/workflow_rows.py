"""Reads workflows for the pages: the list with what each did last, its text, its past events."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import and_, func, select

from siteward.core.errors import NotFound
from siteward.core.site.permissions import Person
from siteward.core.site.site import Site
from siteward.core.store.schema import (
    events,
    workflow_approvals,
    workflow_run_steps,
    workflow_runs,
    workflow_versions,
    workflows,
)

from .sight import seen_by
from .times import stamp

LIVE = ("on", "test")
"""Runs that count: what was tried or replayed does not."""


async def listed(site: Site, person: Person) -> list[dict[str, Any]]:
    """Every workflow by name, with its last run, the runs of today and its open questions as far as the person sees them."""
    rows = await site.store.read(select(workflows).order_by(workflows.c.name, workflows.c.id))
    last = await _last_runs(site, person)
    today = await _runs_since(site, person, start_of_day(site))
    asks = await _open_questions(site, person)
    return [
        {
            **as_workflow(row),
            "last_run": last.get(row["id"]),
            "runs_today": today.get(row["id"], 0),
            "asks": asks.get(row["id"], 0),
        }
        for row in rows
    ]


def as_workflow(row: Mapping[str, Any]) -> dict[str, Any]:
    """A workflow's own columns."""
    return {
        "id": row["id"],
        "name": row["name"],
        "state": row["state"],
        "version": row["version"],
        "on_version": row["on_version"],
        "attention": _attention(row["attention"]),
        "source": row["source"],
        "changed_at": stamp(row["changed_at"]),
    }


def _attention(raw: str | None) -> str | None:
    """Why it needs attention, as a sentence."""
    if raw is None:
        return None
    value = json.loads(raw)
    if isinstance(value, Mapping):
        return str(value.get("sentence") or value.get("why") or value.get("code") or "It needs attention.")
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


async def get(site: Site, workflow_id: str) -> Mapping[str, Any]:
    """A workflow with the text of its newest version, and of the one that is On while that runs in Test beside it (`on_text`, else None).
    Raises `NotFound`."""
    on = workflow_versions.alias("on_versions")
    query = (
        select(
            workflows,
            workflow_versions.c.text,
            workflow_versions.c.by,
            workflow_versions.c.at,
            on.c.text.label("on_text"),
        )
        .join(
            workflow_versions,
            and_(workflow_versions.c.workflow_id == workflows.c.id, workflow_versions.c.version == workflows.c.version),
        )
        .outerjoin(on, and_(on.c.workflow_id == workflows.c.id, on.c.version == workflows.c.on_version))
        .where(workflows.c.id == workflow_id)
    )
    rows = await site.store.read(query)
    if not rows:
        raise NotFound("There is no such workflow.")
    return rows[0]


async def recent_events(
    site: Site, person: Person, types: Sequence[str], cameras: Sequence[str], count: int
) -> list[str]:
    """The ids of the newest events of some types (and cameras, if any are named) that the person sees, oldest first."""
    query = select(events.c.id).where(events.c.type.in_(types), seen_by(person, events.c.camera))
    if cameras:
        query = query.where(events.c.camera.in_(cameras))
    rows = await site.store.read(query.order_by(events.c.at.desc(), events.c.id.desc()).limit(count))
    return [row["id"] for row in reversed(rows)]


async def seen_events(site: Site, person: Person, event_ids: Sequence[str]) -> frozenset[str]:
    """Those of some events that there are and that the person sees."""
    query = select(events.c.id).where(events.c.id.in_(event_ids), seen_by(person, events.c.camera))
    return frozenset(row["id"] for row in await site.store.read(query))


def start_of_day(site: Site) -> float:
    """The last midnight of the site's zone, as rows carry times."""
    zone = ZoneInfo(site.configuration.zone)
    here = site.clock.now().astimezone(zone)
    return datetime.combine(here.date(), time(), zone).timestamp()


async def _last_runs(site: Site, person: Person) -> dict[str, dict[str, Any]]:
    newest = (
        select(workflow_runs.c.workflow_id, func.max(workflow_runs.c.id).label("id"))
        .join(events, events.c.id == workflow_runs.c.event_id)
        .where(workflow_runs.c.mode.in_(LIVE), seen_by(person, events.c.camera))
        .group_by(workflow_runs.c.workflow_id)
        .subquery()
    )
    rows = await site.store.read(
        select(workflow_runs.c.id, workflow_runs.c.workflow_id, workflow_runs.c.state, workflow_runs.c.started_at).join(
            newest, newest.c.id == workflow_runs.c.id
        )
    )
    outcomes = await last_outcomes(site, [row["id"] for row in rows])
    return {
        row["workflow_id"]: {
            "id": row["id"],
            "state": row["state"],
            "outcome": outcomes.get(row["id"]),
            "started_at": stamp(row["started_at"]),
        }
        for row in rows
    }


async def last_outcomes(site: Site, run_ids: Sequence[str]) -> dict[str, str]:
    """The last lane that each run took, as its name."""
    steps = workflow_run_steps
    last = (
        select(steps.c.run_id, func.max(steps.c.seq).label("seq"))
        .where(steps.c.run_id.in_(run_ids), steps.c.outcome.is_not(None))
        .group_by(steps.c.run_id)
        .subquery()
    )
    query = select(steps.c.run_id, steps.c.outcome).join(
        last, and_(last.c.run_id == steps.c.run_id, last.c.seq == steps.c.seq)
    )
    return {row["run_id"]: row["outcome"] for row in await site.store.read(query)}


async def _runs_since(site: Site, person: Person, since: float) -> dict[str, int]:
    query = (
        select(workflow_runs.c.workflow_id, func.count().label("runs"))
        .join(events, events.c.id == workflow_runs.c.event_id)
        .where(workflow_runs.c.mode.in_(LIVE), workflow_runs.c.started_at >= since, seen_by(person, events.c.camera))
        .group_by(workflow_runs.c.workflow_id)
    )
    return {row["workflow_id"]: row["runs"] for row in await site.store.read(query)}


async def _open_questions(site: Site, person: Person) -> dict[str, int]:
    asks = workflow_approvals
    query = (
        select(asks.c.workflow_id, func.count().label("asks"))
        .where(asks.c.state == "open", seen_by(person, asks.c.camera))
        .group_by(asks.c.workflow_id)
    )
    return {row["workflow_id"]: row["asks"] for row in await site.store.read(query)}
