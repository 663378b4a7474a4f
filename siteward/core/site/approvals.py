"""Questions to people: who sees one, and the one function that says who may answer it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from siteward.core.errors import NotAllowed, NotFound
from siteward.core.store.schema import workflow_approvals as approvals
from siteward.core.store.schema import workflows
from siteward.core.store.store import Store

from .permissions import Permission, Person, SiteRole, require


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that can be given, and what its lane would move, in words."""

    reply: str
    moves: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Approval:
    """A question as asked. Times are UTC seconds."""

    id: str
    run_id: str
    path: str
    workflow_id: str
    workflow: str
    camera: str | None
    who: tuple[str, ...]
    message: str
    replies: tuple[Reply, ...]
    default: str | None
    picture: str | None
    shown: Mapping[str, Any]
    rehearsal: bool
    state: str
    asked_at: float
    due_at: float | None
    reply: str | None
    answered_by: str | None
    answered_at: float | None
    note: str | None


def check_may_answer(person: Person, who: Sequence[str], camera: str | None) -> None:
    """Whether this person may answer a question put to `who` about `camera`, whichever door the answer comes through. Raises `NotAllowed`.

    It takes the permission, sight of the camera, and being asked (an admin may always answer what they see).
    """
    require(person, Permission.APPROVE)
    if not person.sees(camera):
        raise NotAllowed("You do not see the camera of this question, so you cannot answer it.")
    if person.role is not SiteRole.ADMIN and not person.is_addressed(tuple(who)):
        raise NotAllowed("This question is for others: " + ", ".join(who) + ".")


def may_answer(person: Person, who: Sequence[str], camera: str | None) -> bool:
    """`check_may_answer` as a yes or no."""
    try:
        check_may_answer(person, who, camera)
    except NotAllowed:
        return False
    return True


class Approvals:
    """Reads questions as one person may see them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list(self, person: Person, *, open_only: bool = False, limit: int = 100) -> tuple[Approval, ...]:
        """Newest first, only of cameras that the person sees; open ones first."""
        query = _QUERY.order_by((approvals.c.state != "open"), approvals.c.asked_at.desc())
        if open_only:
            query = query.where(approvals.c.state == "open")
        if person.cameras is not None:
            query = query.where(approvals.c.camera.is_(None) | approvals.c.camera.in_(sorted(person.cameras)))
        return tuple(_approval(row) for row in await self._store.read(query.limit(limit)))

    async def of_run(self, run_id: str) -> tuple[Approval, ...]:
        """The questions of one run, in order."""
        rows = await self._store.read(_QUERY.where(approvals.c.run_id == run_id).order_by(approvals.c.asked_at))
        return tuple(_approval(row) for row in rows)

    async def get(self, person: Person, approval_id: str) -> Approval:
        """One question. Raises `NotFound` also where the person does not see its camera."""
        rows = await self._store.read(_QUERY.where(approvals.c.id == approval_id))
        if not rows or not person.sees(rows[0]["camera"]):
            raise NotFound("There is no such question, or you do not see its camera.")
        return _approval(rows[0])


_QUERY = select(approvals, workflows.c.name.label("workflow_name")).select_from(
    approvals.outerjoin(workflows, workflows.c.id == approvals.c.workflow_id)
)


def _approval(row: Mapping[str, Any]) -> Approval:
    return Approval(
        id=row["id"],
        run_id=row["run_id"],
        path=row["path"],
        workflow_id=row["workflow_id"],
        workflow=row["workflow_name"] or "",
        camera=row["camera"],
        who=tuple(json.loads(row["who"])),
        message=row["message"],
        replies=tuple(_replies(json.loads(row["replies"]))),
        default=row["default"],
        picture=row["picture"],
        shown=json.loads(row["shown"]),
        rehearsal=bool(row["rehearsal"]),
        state=row["state"],
        asked_at=row["asked_at"],
        due_at=row["due_at"],
        reply=row["reply"],
        answered_by=row["answered_by"],
        answered_at=row["answered_at"],
        note=row["note"],
    )


def _replies(raw: Sequence[Mapping[str, Any]]) -> list[Reply]:
    return [Reply(str(entry["reply"]), tuple(str(move) for move in entry.get("moves", ()))) for entry in raw]
