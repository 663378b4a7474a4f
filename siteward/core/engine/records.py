"""What runs leave in the inbox and the log, and the engine's own alerts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from siteward.core.contract.registry import Provenance
from siteward.core.engine import rows
from siteward.core.engine.effects import clamp_severity
from siteward.core.engine.parts import Parts
from siteward.core.engine.seam import JSON, Trail
from siteward.core.engine.views import Run
from siteward.core.events.event import Event
from siteward.core.plugins.objects import Record
from siteward.core.store.writer import Op

SEVERITY = "medium"
"""Of the engine's own alerts: a person should look, and nothing burns."""


@dataclass(frozen=True, slots=True)
class Left:
    """What a step leaves: the writes, and the events in them that are to be matched once they are committed."""

    ops: tuple[Op, ...] = ()
    events: tuple[Event, ...] = ()


def record_ops(parts: Parts, run: Run, path: str, trail: Trail, records: Sequence[Record]) -> Left:
    """The rows that a step leaves, in the step's own transaction. An alert's severity is what its path has earned."""
    if not records:
        return Left()
    now = parts.now()
    about: dict[str, JSON] = {
        "run_id": run.id,
        "path": path,
        "workflow_id": run.plan.workflow_id,
        "camera": run.event.camera,
        "correlation_id": run.event.correlation_id or run.event.id,
        "chain": run.chain,
        "severity": "low",
        "title": run.plan.name,
        "at": now,
    }
    ops: list[Op] = []
    raised: list[Event] = []
    for record in records:
        if record.kind == "update":
            ops.append(rows.update_records(run.id, str(record.values["update_with"]), str(record.values["message"])))
            continue
        values = {**about, **record.values}
        if record.kind != "log":
            asked = str(values["severity"])
            values["severity"], values["clamped_why"] = clamp_severity(asked, trail)
            values["asked_severity"] = asked
        new_id = parts.ids.new()
        ops.append(rows.new_record(new_id, Record(record.kind, values), {}))
        if record.kind != "log":
            if record.kind == "alert":
                raised.append(_alert_event(run, new_id, values, trail, parts.clock.now()))
                ops.append(rows.new_event(raised[-1], now))
            ops.append(
                rows.publish("alert.raised", {"id": new_id, "kind": record.kind, "run": run.id}, run.event.camera, now)
            )
    return Left(tuple(ops), tuple(raised))


def _alert_event(run: Run, alert_id: str, values: Mapping[str, JSON], trail: Trail, at: datetime) -> Event:
    """The event of a raised alert, for workflows that alerts start. It is as trusted as the path that raised it."""
    payload = {
        "title": values["title"],
        "severity": values["severity"],
        "type": values.get("type", "workflow"),
        "source": f"workflow:{run.plan.name}",
        "description": values.get("message"),
    }
    return Event(
        id=f"alert:{alert_id}",
        type="alert",
        source=f"workflow:{run.plan.name}",
        provenance=Provenance.AI if trail.ai_before else run.event.provenance,
        at=at,
        camera=run.event.camera,
        correlation_id=run.event.correlation_id or run.event.id,
        chain=run.chain,
        caused_by=run.plan.workflow_id,
        payload=payload,
        picture=run.event.picture,
    )


def engine_alert(
    parts: Parts,
    title: str,
    message: str,
    *,
    workflow_id: str,
    event: Event,
    run_id: str | None = None,
    path: str | None = None,
) -> tuple[Op, ...]:
    """An alert of the engine's own, to the site's owner."""
    new_id, now = parts.ids.new(), parts.now()
    values = {
        "run_id": run_id,
        "path": path,
        "workflow_id": workflow_id,
        "camera": event.camera,
        "who": [parts.site.owner],
        "severity": SEVERITY,
        "title": title,
        "message": message,
        "correlation_id": event.correlation_id or event.id,
        "chain": event.chain,
        "at": now,
    }
    told = {"id": new_id, "kind": "engine", "run": run_id}
    return rows.new_record(new_id, Record("engine", values), {}), rows.publish("alert.raised", told, event.camera, now)


def site_alert(parts: Parts, title: str, message: str) -> tuple[Op, ...]:
    """An alert of the engine's own about the site and not about a run, to the site's owner."""
    new_id, now = parts.ids.new(), parts.now()
    values = {
        "who": [parts.site.owner],
        "severity": SEVERITY,
        "title": title,
        "message": message,
        "correlation_id": new_id,
        "chain": 0,
        "at": now,
    }
    told = {"id": new_id, "kind": "engine", "run": None}
    return rows.new_record(new_id, Record("engine", values), {}), rows.publish("alert.raised", told, None, now)
