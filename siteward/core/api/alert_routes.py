"""Alerts and notifications: reading them, and saying that one has seen them. Questions are apart: acknowledging never answers one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import or_, select

from siteward.core.errors import NotFound
from siteward.core.site.permissions import Permission, Person
from siteward.core.site.rows import update
from siteward.core.store.errors import LostRace
from siteward.core.store.schema import alerts, workflows

from .routes import NOTHING, Answer, Call, Route
from .shapes import boolean, integer, listing, moment, nullable, record, text
from .sight import seen_by
from .times import stamp, stamp_or_none

ALERT: Final = record(
    {
        "id": text(),
        "kind": text(),
        "run_id": nullable(text()),
        "workflow": nullable(text()),
        "camera": nullable(text()),
        "severity": text(),
        "asked_severity": nullable(text()),
        "clamped_why": nullable(text()),
        "title": text(most=100_000),
        "message": nullable(text(most=100_000)),
        "pictures": listing(text()),
        "at": moment(),
        "acknowledged_by": nullable(text()),
        "acknowledged_at": nullable(moment()),
    }
)


def _alert(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "kind": row["kind"],
        "run_id": row["run_id"],
        "workflow": row["workflow"],
        "camera": row["camera"],
        "severity": row["severity"],
        "asked_severity": row["asked_severity"],
        "clamped_why": row["clamped_why"],
        "title": row["title"],
        "message": row["message"],
        "pictures": [item for item in json.loads(row["attach"]) if isinstance(item, str)],
        "at": stamp(row["at"]),
        "acknowledged_by": row["acknowledged_by"],
        "acknowledged_at": stamp_or_none(row["acknowledged_at"]),
    }


def _for(person: Person) -> Any:
    """Alerts of cameras that the person sees; notifications only where they are meant (an admin sees all)."""
    query = select(alerts, workflows.c.name.label("workflow")).outerjoin(
        workflows, workflows.c.id == alerts.c.workflow_id
    )
    query = query.where(seen_by(person, alerts.c.camera))
    if not person.may(Permission.ADMIN):
        names = sorted(person.addresses)
        meant = [alerts.c.who.contains(f'"{name}"') for name in names] + [alerts.c.who.in_(names)]
        query = query.where(or_(alerts.c.who.is_(None), *meant))
    return query


async def listed(call: Call) -> Answer:
    """Alerts and notifications, newest first."""
    query = _for(call.person).order_by(alerts.c.at.desc(), alerts.c.id.desc()).limit(int(call.query.get("limit", "50")))
    if call.query.get("open") == "true":
        query = query.where(alerts.c.acknowledged_at.is_(None))
    return Answer({"alerts": [_alert(row) for row in await call.host.site.store.read(query)]})


async def acknowledge(call: Call) -> Answer:
    """Say that one alert was seen."""
    rows = await call.host.site.store.read(_for(call.person).where(alerts.c.id == call.path["id"]))
    if not rows:
        raise NotFound("There is no such alert, or you do not see its camera.")
    if rows[0]["acknowledged_at"] is None:
        await _acknowledge(call, [rows[0]["id"]])
    return Answer({})


async def acknowledge_all(call: Call) -> Answer:
    """Say that all alerts were seen. Questions stay open."""
    rows = await call.host.site.store.read(_for(call.person).where(alerts.c.acknowledged_at.is_(None)))
    return Answer({"acknowledged": await _acknowledge(call, [row["id"] for row in rows])})


async def _acknowledge(call: Call, ids: list[str]) -> int:
    site = call.host.site
    seen = {"acknowledged_by": call.person.who, "acknowledged_at": site.clock.now().timestamp()}
    done = 0
    for alert_id in ids:
        change = update(alerts, seen, {"id": alert_id, "acknowledged_at": None})
        try:
            await site.store.submit(change, site.audit.row(call.actor, "alert.acknowledge", alert_id))
        except LostRace:  # somebody else acknowledged it in this moment: it is seen, as asked
            continue
        done += 1
    return done


ROUTES: Final = (
    Route(
        "GET",
        "/alerts",
        Permission.VIEW,
        "Alerts and notifications",
        listed,
        record({"alerts": listing(ALERT)}),
        query={"open": boolean(), "limit": integer(1, 200)},
    ),
    Route(
        "POST",
        "/alerts/acknowledge",
        Permission.APPROVE,
        "Acknowledge all alerts",
        acknowledge_all,
        record({"acknowledged": integer()}),
    ),
    Route(
        "POST",
        "/alerts/{id}/acknowledge",
        Permission.APPROVE,
        "Acknowledge an alert",
        acknowledge,
        NOTHING,
        refuses=(404,),
    ),
)
