"""What the commands read of a site's past: runs, and the events that a workflow would take."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select

from siteward.core.engine.catalog import Workflow
from siteward.core.engine.limits import BESIDE_SCOPE
from siteward.core.engine.matcher import fits
from siteward.core.engine.rows import event_from_row
from siteward.core.host import Host
from siteward.core.store.schema import counters, events, workflow_runs, workflows
from siteward.core.store.store import Store

_PAGE = 200


def shown(moment: float) -> str:
    """A row's time for a person: UTC, to the second."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S")


async def run_rows(store: Store, last: int) -> list[dict[str, Any]]:
    """The newest live and Test runs."""
    query = (
        select(workflow_runs, workflows.c.name.label("workflow"))
        .join(workflows, workflows.c.id == workflow_runs.c.workflow_id)
        .where(workflow_runs.c.mode.in_(("on", "test")))
        .order_by(workflow_runs.c.started_at.desc())
        .limit(last)
    )
    return [
        {
            "run": row["id"],
            "workflow": row["workflow"],
            "mode": row["mode"],
            "state": row["state"],
            "why": row["state_reason"],
            "started_at": shown(row["started_at"]),
        }
        for row in await store.read(query)
    ]


async def refusals(store: Store) -> list[str]:
    """What events started nothing, and why: one line for each workflow and reason of the newest hour that has one."""
    query = (
        select(counters, workflows.c.name.label("workflow"))
        .join(workflows, counters.c.scope.in_((workflows.c.id, workflows.c.id + BESIDE_SCOPE)))
        .where(counters.c.name.startswith("refused."), counters.c.sample.is_not(None))
        .order_by(counters.c.bucket.desc(), workflows.c.name, counters.c.name)
    )
    rows = await store.read(query)
    return [
        f"{row['workflow']}: {row['count']} in the hour of {row['bucket']} UTC. {json.loads(row['sample'])['why']}"
        for row in rows
        if row["bucket"] == rows[0]["bucket"]
    ]


async def newest_events(host: Host, workflow: Workflow, last: int) -> list[str]:
    """The ids of the newest events that one of the workflow's triggers fits, oldest first; read in pages, so that a large past is
    never read whole."""
    if workflow.newest is None:
        return []
    uses, found, before = workflow.newest.document.triggers, list[str](), None
    while len(found) < last:
        query = select(events).order_by(events.c.at.desc(), events.c.id.desc()).limit(_PAGE)
        if before is not None:
            query = query.where((events.c.at < before[0]) | ((events.c.at == before[0]) & (events.c.id < before[1])))
        page = await host.site.store.read(query)
        for row in page:
            event = event_from_row(row)
            if any(fits(use, event, host.skills.triggers, host.services.cameras_of, workflow.id) for use in uses):
                found.append(event.id)
        if len(page) < _PAGE:
            break
        before = (page[-1]["at"], page[-1]["id"])
    return found[:last][::-1]
