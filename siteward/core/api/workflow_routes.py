"""Workflows: the list, saving, turning on, trying."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

from siteward.core.contract import to_json_schema
from siteward.core.contract.document import Document, State
from siteward.core.contract.problems import Report
from siteward.core.engine.versions import Saved
from siteward.core.errors import Conflict, NotFound
from siteward.core.site.permissions import Permission

from . import workflow_rows
from .judging import JUDGED, as_judged, judge, refuse_unless_ok, require_admin_where_needed
from .problems import Refused
from .routes import Answer, Call, Route
from .shapes import choice, free, integer, listing, moment, nullable, record, text
from .times import stamp

FILE: Final = text(least=1, most=131_072, about="The workflow file, as YAML text.")
_OWN: Final = {
    "id": text(),
    "name": text(),
    "state": choice(list(State)),
    "version": integer(),
    "on_version": nullable(integer()),
    "attention": nullable(text()),
    "source": text(),
    "changed_at": moment(),
}
LAST_RUN: Final = record({"id": text(), "state": text(), "outcome": nullable(text()), "started_at": moment()})
LISTED: Final = record({**_OWN, "last_run": nullable(LAST_RUN), "runs_today": integer(), "asks": integer()})
WHOLE: Final = record(
    {
        **_OWN,
        "text": text(most=131_072, about="The file of the newest version."),
        "on_text": nullable(
            text(most=131_072, about="The file of `on_version`, which is On while the newest runs in Test beside it.")
        ),
        "saved_by": text(),
        "saved_at": moment(),
        "judged": JUDGED,
    }
)
SAVED: Final = record(
    {"id": text(), "version": integer(), "on_version": nullable(integer())}, {"problems": listing(free())}
)
"""`on_version`: what stays On while the saved version runs in Test beside it; null where the saved one holds at once."""
MOST_TRIED: Final = 50
TRY_SECONDS: Final = 300.0
"""A model looks at each event anew: fifty pictures take a small machine minutes."""


async def listed(call: Call) -> Answer:
    """Every workflow."""
    return Answer({"workflows": await workflow_rows.listed(call.host.site, call.person)})


async def whole(call: Call) -> Answer:
    """A workflow with its text and what it would do."""
    row = await workflow_rows.get(call.host.site, call.path["id"])
    report = await judge(call.host, row["text"], call.person)
    more = {"text": row["text"], "on_text": row["on_text"], "saved_by": row["by"], "saved_at": stamp(row["at"])}
    return Answer({**workflow_rows.as_workflow(row), **more, "judged": await as_judged(call.host, report)})


async def create(call: Call) -> Answer:
    """Save a new workflow, in Test."""
    report = await judge(call.host, call.body["text"], call.person)
    refuse_unless_ok(report)
    saved = await call.host.engine.save_workflow(
        call.body["text"], call.person.who, also=call.audited("workflow.save", version=1)
    )
    return Answer(_as_saved(saved, report), status=201)


async def change(call: Call) -> Answer:
    """Save a new version. What stands On and needs an admin is changed by one only, also where the newest version runs in Test beside it."""
    row = await workflow_rows.get(call.host.site, call.path["id"])
    base = call.body["base_version"]
    if base != row["version"]:
        raise _changed_meanwhile(base, row["version"], row["text"], call.body["text"])
    report = await judge(call.host, call.body["text"], call.person)
    refuse_unless_ok(report)
    if row["state"] == State.ON:
        require_admin_where_needed(call.person, report)
        for file in {row["text"], row["on_text"] or row["text"]}:
            require_admin_where_needed(call.person, await judge(call.host, file, call.person))
    try:
        saved = await call.host.engine.save_workflow(
            call.body["text"],
            call.person.who,
            row["id"],
            base,
            also=call.audited("workflow.save", version=base + 1),
            base_state=State(row["state"]),
        )
    except Conflict as error:
        newest = await workflow_rows.get(call.host.site, row["id"])
        raise _changed_meanwhile(base, newest["version"], newest["text"], call.body["text"]) from error
    return Answer(_as_saved(saved, report))


def _as_saved(saved: Saved, report: Report) -> dict[str, Any]:
    return {
        "id": saved.workflow_id,
        "version": saved.version,
        "on_version": saved.beside,
        "problems": [problem.as_dict() for problem in report.problems],
    }


def _changed_meanwhile(base: int, newest: int, theirs: str, mine: str) -> Refused:
    lines = difflib.unified_diff(
        theirs.splitlines(), mine.splitlines(), f"version {newest}", "what you sent", lineterm="", n=2
    )
    return Refused(
        409,
        f"Somebody saved version {newest} while you worked on version {base}. Look at the difference and save again from the newest.",
        code="conflict",
        more={"difference": "\n".join(lines)},
    )


async def set_state(call: Call) -> Answer:
    """Turn a workflow off, to Test, or on. On goes by the version that the person looked at."""
    row = await workflow_rows.get(call.host.site, call.path["id"])
    wanted = State(call.body["state"])
    if call.body["base_version"] != row["version"]:
        raise _changed_meanwhile(call.body["base_version"], row["version"], row["text"], row["text"])
    if wanted is State.ON:
        report = await judge(call.host, row["text"], call.person)
        refuse_unless_ok(report)
        require_admin_where_needed(call.person, report)
    await call.host.engine.set_state(
        row["id"],
        wanted,
        call.person.who,
        call.audited("workflow.state", state=wanted.value, version=row["version"]),
        base_version=row["version"],
    )
    return Answer({"state": wanted.value, "version": row["version"]})


async def try_it(call: Call) -> Answer:
    """Decide past events on their stored pictures, without effects."""
    row = await workflow_rows.get(call.host.site, call.path["id"])
    site, person = call.host.site, call.person
    chosen: list[str] = call.body.get("event_ids", [])
    if chosen:
        await _require_sight(call, chosen)
    # Also for chosen events: what the file looks at beside them must be what this person sees.
    report = await judge(call.host, row["text"], person)
    refuse_unless_ok(report)
    if not chosen:
        types, cameras = _wanted_events(call, report.document)
        chosen = await workflow_rows.recent_events(site, person, types, cameras, call.body.get("last", 20))
    return Answer({"rows": [_tried(entry) for entry in await call.host.engine.try_workflow(row["id"], chosen)]})


def _tried(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {**entry, "at": stamp(entry["at"])}


def _wanted_events(call: Call, document: Document | None) -> tuple[list[str], list[str]]:
    if document is None:
        return [], []
    types: list[str] = []
    cameras: list[str] = []
    for trigger in document.triggers:
        types.append(str(trigger.settings["type"]) if trigger.name == "event" else trigger.name)
        roles = trigger.settings.get("cameras", ())
        for role in (roles,) if isinstance(roles, str) else roles if isinstance(roles, tuple) else ():
            cameras += sorted(call.host.services.cameras_of(str(role)))
    return types, cameras


async def _require_sight(call: Call, event_ids: list[str]) -> None:
    seen = await workflow_rows.seen_events(call.host.site, call.person, event_ids)
    for event_id in event_ids:
        if event_id not in seen:
            raise NotFound(f"There is no event {event_id}, or you do not see its camera.")


async def validate(call: Call) -> Answer:
    """Judge a file without saving it."""
    report = await judge(call.host, call.body["text"], call.person)
    return Answer(await as_judged(call.host, report))


async def registry(call: Call) -> Answer:
    """What can stand in a workflow file on this site."""
    known = call.host.registry
    return Answer(
        {
            "triggers": [_skill(spec) for spec in known.triggers.values()],
            "conditions": [_skill(spec) for spec in known.conditions.values()],
            "actions": [{**_skill(spec), "moves": spec.moves.value} for spec in known.actions.values()],
            "step_kinds": [_skill(spec) for spec in known.step_kinds.values()],
            "ai_modes": sorted(known.ai_modes),
            "tools": [
                {"name": t.name, "provider": t.provider, "description": t.description} for t in known.tools.values()
            ],
        }
    )


def _skill(spec: Any) -> dict[str, Any]:
    fields = [
        {
            "name": f.name,
            "type": f.type.value,
            "required": f.required,
            "description": f.description,
            "options": list(f.options),
        }
        for f in spec.fields
    ]
    return {"name": spec.name, "provider": spec.provider, "description": spec.description, "fields": fields}


async def schema(call: Call) -> Answer:
    """The JSON schema of workflow files."""
    return Answer(to_json_schema(call.host.registry))


_SKILLS: Final = listing(free())
ROUTES: Final = (
    Route("GET", "/workflows", Permission.VIEW, "Every workflow", listed, record({"workflows": listing(LISTED)})),
    Route(
        "POST",
        "/workflows",
        Permission.MANAGE,
        "Save a new workflow (it starts in Test)",
        create,
        SAVED,
        record({"text": FILE}),
        refuses=(422,),
        status=201,
    ),
    Route(
        "GET",
        "/workflows/registry",
        Permission.VIEW,
        "What can stand in a workflow file",
        registry,
        record(
            {
                "triggers": _SKILLS,
                "conditions": _SKILLS,
                "actions": _SKILLS,
                "step_kinds": _SKILLS,
                "ai_modes": listing(text()),
                "tools": _SKILLS,
            }
        ),
    ),
    Route("GET", "/workflows/schema", Permission.VIEW, "The JSON schema of workflow files", schema, free()),
    Route(
        "POST",
        "/workflows/validate",
        Permission.VIEW,
        "Judge a file without saving it",
        validate,
        JUDGED,
        record({"text": FILE}),
    ),
    Route("GET", "/workflows/{id}", Permission.VIEW, "A workflow with its text", whole, WHOLE, refuses=(404,)),
    Route(
        "PUT",
        "/workflows/{id}",
        Permission.MANAGE,
        "Save a new version",
        change,
        SAVED,
        record({"text": FILE, "base_version": integer(1)}),
        refuses=(404, 409, 422),
    ),
    Route(
        "POST",
        "/workflows/{id}/state",
        Permission.MANAGE,
        "Turn a workflow off, to Test, or on",
        set_state,
        record({"state": choice(list(State)), "version": integer()}),
        record({"state": choice(list(State)), "base_version": integer(1)}),
        refuses=(404, 409, 422),
    ),
    Route(
        "POST",
        "/workflows/{id}/try",
        Permission.MANAGE,
        "Decide past events without effects",
        try_it,
        record({"rows": listing(free())}),
        record({}, {"event_ids": listing(text(least=1, most=64), most=MOST_TRIED), "last": integer(1, MOST_TRIED)}),
        refuses=(404, 422),
        seconds=TRY_SECONDS,
    ),
)
