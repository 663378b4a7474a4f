"""Questions to people: the inbox, and answering."""

from __future__ import annotations

from typing import Any, Final

from siteward.core.site.approvals import Approval, check_may_answer, may_answer
from siteward.core.site.permissions import Permission, Person

from .problems import Refused
from .routes import Answer, Call, Route
from .run_rows import plain
from .shapes import boolean, choice, free, integer, listing, moment, nullable, record, text
from .times import stamp, stamp_or_none

REPLY: Final = record({"reply": text(), "moves": listing(text())})
APPROVAL: Final = record(
    {
        "id": text(),
        "run_id": text(),
        "path": text(),
        "workflow_id": text(),
        "workflow": text(),
        "camera": nullable(text()),
        "who": listing(text()),
        "message": text(most=100_000),
        "replies": listing(REPLY),
        "default": nullable(text()),
        "picture": nullable(text()),
        "shown": free(),
        "rehearsal": boolean(),
        "state": choice(("open", "answered", "no_answer", "cancelled")),
        "asked_at": moment(),
        "due_at": nullable(moment()),
        "reply": nullable(text()),
        "answered_by": nullable(text()),
        "answered_at": nullable(moment()),
        "may_answer": boolean(),
    }
)
_REPLY_BODY: Final = record({"reply": text(least=1, most=200)})
ANSWERED: Final = record({"approval": APPROVAL, "run_id": nullable(text())})


def as_approval(person: Person, approval: Approval) -> dict[str, Any]:
    """A question as the pages get it, with whether this person may answer it."""
    return {
        "id": approval.id,
        "run_id": approval.run_id,
        "path": approval.path,
        "workflow_id": approval.workflow_id,
        "workflow": approval.workflow,
        "camera": approval.camera,
        "who": list(approval.who),
        "message": approval.message,
        "replies": [{"reply": reply.reply, "moves": list(reply.moves)} for reply in approval.replies],
        "default": approval.default,
        "picture": approval.picture,
        "shown": {name: plain(value) for name, value in approval.shown.items()},
        "rehearsal": approval.rehearsal,
        "state": approval.state,
        "asked_at": stamp(approval.asked_at),
        "due_at": stamp_or_none(approval.due_at),
        "reply": approval.reply,
        "answered_by": approval.answered_by,
        "answered_at": stamp_or_none(approval.answered_at),
        "may_answer": approval.state == "open" and may_answer(person, approval.who, approval.camera),
    }


async def listed(call: Call) -> Answer:
    """Questions of cameras that the person sees: open ones first, then the newest."""
    found = await call.host.site.approvals.list(
        call.person, open_only=call.query.get("open") == "true", limit=int(call.query.get("limit", "50"))
    )
    return Answer({"approvals": [as_approval(call.person, approval) for approval in found]})


async def one(call: Call) -> Answer:
    """One question."""
    return Answer(as_approval(call.person, await call.host.site.approvals.get(call.person, call.path["id"])))


async def reply(call: Call) -> Answer:
    """Answer a question. The first answer stands; who comes later is told whose it was. A question of a Test run is
    rehearsed: `run_id` is then the run that shows what the reply would have done."""
    approvals = call.host.site.approvals
    approval = await approvals.get(call.person, call.path["id"])
    check_may_answer(call.person, approval.who, approval.camera)
    if approval.state != "open":
        raise _closed(approval)
    if call.body["reply"] not in {entry.reply for entry in approval.replies}:
        known = ", ".join(entry.reply for entry in approval.replies)
        raise Refused(422, f"{call.body['reply']} is none of the replies: {known}.", code="reply.unknown")
    run = await call.host.engine.answer(
        approval.id,
        call.body["reply"],
        call.person.who,
        rehearsal=approval.rehearsal,
        also=call.audited("approval.answer", reply=call.body["reply"]),
    )
    now = as_approval(call.person, await approvals.get(call.person, approval.id))
    return Answer({"approval": now, "run_id": run})


def _closed(approval: Approval) -> Refused:
    if approval.state == "answered":
        by = (approval.answered_by or "somebody").removeprefix("user:")
        sentence = f"Already answered by {by}: {approval.reply}."
    elif approval.state == "no_answer":
        sentence = "The time for this question is over; it counts as not answered."
    else:
        sentence = "This question is no longer asked: its run ended."
    return Refused(409, sentence, code="approval.closed")


ROUTES: Final = (
    Route(
        "GET",
        "/approvals",
        Permission.VIEW,
        "Questions to people",
        listed,
        record({"approvals": listing(APPROVAL)}),
        query={"open": boolean(), "limit": integer(1, 200)},
    ),
    Route("GET", "/approvals/{id}", Permission.VIEW, "One question", one, APPROVAL, refuses=(404,)),
    Route(
        "POST",
        "/approvals/{id}/reply",
        Permission.APPROVE,
        "Answer a question",
        reply,
        ANSWERED,
        _REPLY_BODY,
        refuses=(404, 409, 422),
    ),
)
