"""The site: mode, cameras, gates with their log, pictures, buttons, the demo's player, health."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

from sqlalchemy import select

from siteward.core.errors import NotFound
from siteward.core.site.mode import SiteMode
from siteward.core.site.permissions import Permission, Person
from siteward.core.site.site import Site
from siteward.core.store.schema import events, workflow_run_steps, workflow_runs, workflows

from .routes import Answer, Call, Route
from .run_rows import plain
from .shapes import boolean, choice, free, listing, moment, nullable, record, text
from .sight import seen_by
from .times import stamp, stamp_or_none

GATE_ACTIONS: Final = ("gate.open", "gate.close")
LOG_LENGTH: Final = 30
MODE: Final = record({"mode": choice(list(SiteMode))})
GATE: Final = record({"role": text(), "name": text(), "state": choice(("open", "closed", "unknown"))})
MOVE: Final = record(
    {
        "run_id": text(),
        "workflow": text(),
        "action": text(),
        "gate": text(),
        "status": text(),
        "started_at": moment(),
        "ended_at": nullable(moment()),
        "result": {},
        "mode": text(),
    }
)


async def read_mode(call: Call) -> Answer:
    """The site mode."""
    return Answer({"mode": (await call.host.site.mode.read()).value})


async def set_mode(call: Call) -> Answer:
    """Set the site mode."""
    return Answer({"mode": (await call.host.site.mode.set(call.actor, call.body["mode"])).value})


async def cameras(call: Call) -> Answer:
    """The cameras that the person sees."""
    own = [camera for camera in call.host.site.configuration.cameras if call.person.sees(camera.id)]
    return Answer({"cameras": [{"id": camera.id, "name": camera.name, "roles": list(camera.roles)} for camera in own]})


async def gates(call: Call) -> Answer:
    """Every gate with its state, read now, and the log of what workflows did to them."""
    configured = list(call.host.site.configuration.gates.values())
    states = await asyncio.gather(*(call.host.gate_state(gate.role) for gate in configured))
    shown = [{"role": g.role, "name": g.name, "state": state} for g, state in zip(configured, states, strict=True)]
    return Answer({"gates": shown, "log": await _moves(call.host.site, call.person)})


async def _moves(site: Site, person: Person) -> list[dict[str, Any]]:
    steps = workflow_run_steps
    query = (
        select(steps, workflows.c.name.label("workflow"), workflow_runs.c.mode)
        .join(workflow_runs, workflow_runs.c.id == steps.c.run_id)
        .join(events, events.c.id == workflow_runs.c.event_id)
        .outerjoin(workflows, workflows.c.id == workflow_runs.c.workflow_id)
        .where(steps.c.kind.in_(GATE_ACTIONS), workflow_runs.c.mode == "on", seen_by(person, events.c.camera))
        .order_by(steps.c.started_at.desc())
        .limit(LOG_LENGTH)
    )
    return [
        {
            "run_id": row["run_id"],
            "workflow": row["workflow"] or "",
            "action": row["kind"],
            "gate": str(plain(json.loads(row["inputs"]).get("gate"))["value"]),
            "status": row["status"],
            "started_at": stamp(row["started_at"]),
            "ended_at": stamp_or_none(row["ended_at"]),
            "result": None if row["result"] is None else json.loads(row["result"]),
            "mode": row["mode"],
        }
        for row in await site.store.read(query)
    ]


async def picture(call: Call) -> Answer:
    """A kept picture. It never changes, so the person's own browser may keep it for an hour."""
    found = await call.host.site.media.shown_to(call.person, call.path["id"])
    return Answer(data=found.data, content_type=found.content_type, cache="private, max-age=3600, immutable")


async def press(call: Call) -> Answer:
    """Press a button."""
    runs = await call.host.engine.press(call.path["name"], call.person.who)
    return Answer({"runs": list(runs)})


async def play_next(call: Call) -> Answer:
    """Play the next vehicle of the demo."""
    if call.host.demo is None:
        raise NotFound("This is not the demo site: its events come from its own cameras.")
    return Answer({"scene": await call.host.demo.play_next()})


async def health(call: Call) -> Answer:
    """What works on this site and what does not."""
    return Answer(await call.host.health())


async def alive(_call: Call) -> Answer:
    """Whether the host answers at all (for watchdogs)."""
    return Answer({"ok": True})


ROUTES: Final = (
    Route("GET", "/alive", None, "Whether the host answers", alive, record({"ok": boolean()})),
    Route("GET", "/health", Permission.VIEW, "What works and what does not", health, free()),
    Route("GET", "/site/mode", Permission.VIEW, "The site mode", read_mode, MODE),
    Route("PUT", "/site/mode", Permission.SITE_MODE, "Set the site mode", set_mode, MODE, MODE),
    Route(
        "GET",
        "/cameras",
        Permission.VIEW,
        "The cameras that you see",
        cameras,
        record({"cameras": listing(record({"id": text(), "name": text(), "roles": listing(text())}))}),
    ),
    Route(
        "GET",
        "/gates",
        Permission.VIEW,
        "Gates, and what workflows did to them",
        gates,
        record({"gates": listing(GATE), "log": listing(MOVE)}),
    ),
    Route(
        "GET",
        "/media/{id}",
        Permission.VIEW,
        "A kept picture",
        picture,
        {"contentMediaType": "image/*"},
        refuses=(404,),
    ),
    Route(
        "POST",
        "/buttons/{name}",
        Permission.MANAGE,
        "Press a button",
        press,
        record({"runs": listing(text())}),
        refuses=(404, 422),
    ),
    Route(
        "POST",
        "/demo/next",
        Permission.MANAGE,
        "Play the next vehicle of the demo",
        play_next,
        record({"scene": text()}),
        refuses=(404,),
    ),
)
