"""Runs: those of a workflow, and one with every step."""

from __future__ import annotations

from typing import Any, Final

from siteward.core.site.permissions import Permission

from . import run_rows, workflow_rows
from .approval_routes import APPROVAL, as_approval
from .problems import Refused
from .routes import NOTHING, Answer, Call, Route
from .shapes import choice, free, integer, listing, moment, nullable, number, record, text

_EVENT: Final = {"id": text(), "type": text(), "camera": nullable(text()), "at": moment(), "picture": nullable(text())}
_RUN: Final = {
    "id": text(),
    "workflow_id": text(),
    "workflow": text(),
    "version": integer(),
    "mode": choice(("on", "test", "try", "replay")),
    "state": choice(("running", "waiting", "done", "not_met", "failed", "unknown", "cancelled", "expired")),
    "state_reason": nullable(text(most=20_000)),
    "started_at": moment(),
    "ended_at": nullable(moment()),
    "seen_again": integer(),
    "newest_picture": nullable(text()),
    "correlation_id": text(),
}
SUMMARY: Final = record({**_RUN, "event": record(_EVENT), "outcome": nullable(text())})
MODEL: Final = record(
    {
        "model": nullable(text()),
        "reason": nullable(text(most=100_000)),
        "confidence": nullable(number()),
        "confidence_source": nullable(text()),
        "unsure_reason": nullable(text()),
        "rule": nullable(integer()),
        "calls": listing({}),
    }
)
STEP: Final = record(
    {
        "path": text(),
        "kind": text(),
        "name": nullable(text()),
        "status": text(),
        "outcome": nullable(text()),
        "inputs": free(),
        "result": {},
        "pictures": listing(text()),
        "started_at": moment(),
        "ended_at": nullable(moment()),
        "attempts": integer(),
        "model": nullable(MODEL),
    }
)
WHOLE: Final = record(
    {
        **_RUN,
        "event": record({**_EVENT, "source": text(), "provenance": text(), "payload": {}}),
        "steps": listing(STEP),
        "approvals": listing(APPROVAL),
    }
)
_PAGE: Final = {"limit": integer(1, 200), "before": text(most=64)}


async def of_workflow(call: Call) -> Answer:
    """The runs of a workflow."""
    await workflow_rows.get(call.host.site, call.path["id"])
    limit = int(call.query.get("limit", "50"))
    runs = await run_rows.of_workflow(call.host.site, call.person, call.path["id"], limit, call.query.get("before"))
    return Answer({"runs": runs})


async def recent(call: Call) -> Answer:
    """The newest runs of all workflows."""
    return Answer({"runs": await run_rows.recent(call.host.site, call.person, int(call.query.get("limit", "50")))})


async def whole(call: Call) -> Answer:
    """One run with its steps and questions."""
    site, person = call.host.site, call.person
    shown: dict[str, Any] = run_rows.summary(await run_rows.row_of(site, person, call.path["id"]))
    shown["steps"] = await run_rows.steps_of(site, person, call.path["id"])
    asked = await site.approvals.of_run(call.path["id"])
    shown["approvals"] = [as_approval(person, approval) for approval in asked if person.sees(approval.camera)]
    return Answer(shown)


async def cancel(call: Call) -> Answer:
    """End a run that is not over."""
    row = await run_rows.row_of(call.host.site, call.person, call.path["id"])
    if row["state"] not in ("running", "waiting"):
        raise Refused(409, f"This run is over already: {row['state']}.", code="run.over")
    await call.host.engine.cancel(row["id"], call.person.who, call.audited("run.cancel"))
    return Answer({})


ROUTES: Final = (
    Route(
        "GET",
        "/workflows/{id}/runs",
        Permission.VIEW,
        "The runs of a workflow",
        of_workflow,
        record({"runs": listing(SUMMARY)}),
        query=_PAGE,
        refuses=(404,),
    ),
    Route(
        "GET",
        "/runs",
        Permission.VIEW,
        "The newest runs",
        recent,
        record({"runs": listing(SUMMARY)}),
        query={"limit": integer(1, 200)},
    ),
    Route("GET", "/runs/{id}", Permission.VIEW, "One run with its steps", whole, WHOLE, refuses=(404,)),
    Route("POST", "/runs/{id}/cancel", Permission.MANAGE, "End a run", cancel, NOTHING, refuses=(404, 409)),
)
