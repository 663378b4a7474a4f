"""Judging a file for a person: its problems, what it would do, and whether only an admin turns it on."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from siteward.core.contract import explain
from siteward.core.contract.document import Document
from siteward.core.contract.problems import Report
from siteward.core.errors import NotAllowed
from siteward.core.site.permissions import Permission, Person

from .host import ApiHost
from .problems import Refused
from .shapes import boolean, free, listing, nullable, record, text

ADMIN_CODE: Final = "scope.admin"
JUDGED: Final = record(
    {
        "ok": boolean(),
        "problems": listing(free()),
        "explain": nullable(record({"text": text(most=100_000), "moves": listing(text())})),
        "needs_admin": boolean(),
    }
)


async def judge(host: ApiHost, file: str, person: Person | None) -> Report:
    """The report on a file as this person sees the site; made in a thread, since a large file takes a while."""
    return await asyncio.to_thread(host.validate, file, None if person is None else person.who)


def needs_admin(report: Report) -> bool:
    """Whether the file moves things or reads faces or plates."""
    return any(problem.code == ADMIN_CODE for problem in report.problems)


async def as_judged(host: ApiHost, report: Report) -> dict[str, Any]:
    """A report as the pages get it. What a large file does is said in a thread as well: it takes as long as judging it."""
    explained = None
    if report.ok and report.document is not None:
        explained = await asyncio.to_thread(_explained, host, report.document)
    return {
        "ok": report.ok,
        "problems": [problem.as_dict() for problem in report.problems],
        "explain": explained,
        "needs_admin": needs_admin(report),
    }


def _explained(host: ApiHost, document: Document) -> dict[str, Any]:
    found = explain(document, host.registry, host.services.view(None))
    moves = [f"{move.action} {move.target}".strip() + ": " + "; or ".join(move.authorised_by) for move in found.moves]
    return {"text": found.text(), "moves": moves}


def refuse_unless_ok(report: Report) -> None:
    """Raise `Refused` with all problems where the file cannot be accepted. The text stays with who wrote it."""
    if report.ok:
        return
    found = [problem.as_dict() for problem in report.problems]
    first = next(problem for problem in report.problems if problem.severity == "error")
    raise Refused(
        422,
        f"The workflow has errors. Line {first.place.line}: {first.message}",
        code="workflow.invalid",
        where=f"line {first.place.line}, column {first.place.column}",
        more={"problems": found},
    )


def require_admin_where_needed(person: Person, report: Report) -> None:
    """Raise `NotAllowed` where the file needs an admin and the person is none."""
    if needs_admin(report) and not person.may(Permission.ADMIN):
        raise NotAllowed(
            "This workflow moves things or reads faces or plates, so only an admin turns it on.",
            code="workflow.needs_admin",
        )
