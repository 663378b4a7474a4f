"""Errors as problem details (RFC 9457): a code that stays the same, a sentence for a person, and a place where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import orjson
from aiohttp import web

from siteward.core.engine.waits import AlreadyAnswered
from siteward.core.errors import (
    AuthFailed,
    ConfigurationInvalid,
    Conflict,
    NotAllowed,
    NotFound,
    NotReady,
    SitewardError,
)
from siteward.core.site.people import SetupClosed
from siteward.core.site.throttle import TooManyAttempts
from siteward.core.store.errors import CommitFailed, ReadFailed, StoreClosed

CONTENT_TYPE: Final = "application/problem+json"
_STATUS: Final[Mapping[type[SitewardError], int]] = {
    AuthFailed: 401,
    NotAllowed: 403,
    SetupClosed: 403,
    NotFound: 404,
    Conflict: 409,
    AlreadyAnswered: 409,
    StoreClosed: 503,
    CommitFailed: 503,
    ReadFailed: 503,
    ConfigurationInvalid: 422,
    TooManyAttempts: 429,
    NotReady: 503,
}


class Refused(SitewardError):
    """A request that is refused with a status of its own, and more to read than one sentence."""

    code = "refused"

    def __init__(
        self, status: int, sentence: str, *, code: str, where: str | None = None, more: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(sentence, code=code, where=where)
        self.status = status
        self.more = dict(more or {})


def status_of(error: SitewardError) -> int:
    """The HTTP status of an error: its own, or that of its kind, or 422 (understood, and not done)."""
    if isinstance(error, Refused):
        return error.status
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 422)


def problem(error: SitewardError) -> web.Response:
    """The error as an answer."""
    status = status_of(error)
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": error.code,
        "detail": error.sentence,
    }
    if error.where:
        body["place"] = error.where
    if isinstance(error, Refused):
        body |= error.more
    headers = {"Retry-After": str(max(1, round(error.retry_after)))} if isinstance(error, TooManyAttempts) else None
    return web.Response(status=status, body=orjson.dumps(body), content_type=CONTENT_TYPE, headers=headers)


def http_problem(error: web.HTTPException) -> web.Response:
    """An error of the web server itself (no such address, too large) in the same form."""
    sentences = {
        404: "There is nothing at this address.",
        405: "This address does not take this method.",
        413: "The request is too large.",
    }
    phrase = HTTPStatus(error.status).phrase
    sentence = sentences.get(error.status, f"The request was refused: {phrase}.")
    code = "http." + phrase.lower().replace(" ", "_")
    answer = problem(Refused(error.status, sentence, code=code))
    if "Allow" in error.headers:
        answer.headers["Allow"] = error.headers["Allow"]
    return answer
