"""Turns a route into what aiohttp calls: session, permission, forgery and body are checked here, in this order, for every route alike."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

import orjson
from aiohttp import web

from siteward.core.errors import AuthFailed, SitewardError
from siteward.core.site.permissions import require
from siteward.core.site.sessions import LIFETIME_SECONDS, Session

from .host import ApiHost
from .idempotency import HEADER, REPLAYED, Idempotency
from .problems import Refused, http_problem, problem
from .routes import Answer, Call, Route
from .security import COOKIE, HEADERS, check_forgery, check_origin, set_cookie
from .shapes import BadRequest, check

_log = logging.getLogger(__name__)

PREFIX: Final = "/api/v1"
READ_SECONDS: Final = 30.0
"""Who sends a body more slowly than this is let go."""
AiohttpHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def serve(route: Route, host: ApiHost, keys: Idempotency) -> AiohttpHandler:
    """The aiohttp handler of a route."""

    async def handle(request: web.Request) -> web.StreamResponse:
        session = await session_of(request, host)
        if route.permission is not None:
            if session is None:
                raise AuthFailed("Log in first.", code="session.missing")
            require(session.person, route.permission)
        body, raw = None, b""
        if route.writes:
            check_origin(request)
            if session is not None and route.permission is not None:
                check_forgery(request, session)
            async with asyncio.timeout(READ_SECONDS):
                raw = await request.read()
            body = _body(request, raw, route)
        call = Call(host, session, request.remote, request.secure, request.match_info, _query(request, route), body)
        async with asyncio.timeout(route.seconds):
            answer, replayed = await _answer(request, route, call, raw, keys)
        return _response(answer, replayed, request)

    return handle


async def session_of(request: web.Request, host: ApiHost) -> Session | None:
    """Who sent a request."""
    return await host.site.sessions.find(request.cookies.get(COOKIE))


async def _answer(request: web.Request, route: Route, call: Call, raw: bytes, keys: Idempotency) -> tuple[Answer, bool]:
    key = request.headers.get(HEADER)
    if key is None or not route.writes or call.session is None or route.permission is None:
        return await route.answer(call), False
    sent = f"{request.method} {request.path_qs}\n".encode() + raw
    return await keys.once(call.person.id, key, sent, lambda: route.answer(call))


def _query(request: web.Request, route: Route) -> dict[str, str]:
    unknown = set(request.query) - set(route.query)
    if unknown:
        raise BadRequest(f"The query has {', '.join(sorted(unknown))}, which this address does not take.")
    for name, shape in route.query.items():
        if name in request.query:
            _check_query(name, request.query[name], shape)
    return dict(request.query)


def _check_query(name: str, given: str, shape: Any) -> None:
    value: Any = given
    if shape.get("type") == "integer":
        if not given.isascii() or not given.isdigit() or len(given) > 15:
            raise BadRequest(f"{name} is a whole number.", where=name)
        value = int(given)
    elif shape.get("type") == "boolean":
        value = {"true": True, "false": False}.get(given, given)
    check({"type": "object", "properties": {name: shape}}, {name: value})


def _body(request: web.Request, raw: bytes, route: Route) -> Any:
    if route.body is None:
        if raw:
            raise BadRequest("This address takes no body.")
        return None
    if request.content_type != "application/json":
        raise Refused(415, "Send JSON (Content-Type: application/json).", code="request.content_type")
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Refused(400, f"The body is not well-formed JSON: {error}.", code="request.json") from error
    check(route.body, body)
    return body


def _response(answer: Answer, replayed: bool, request: web.Request) -> web.Response:
    data = answer.data if answer.data is not None else orjson.dumps(answer.json if answer.json is not None else {})
    response = web.Response(status=answer.status, body=data, content_type=answer.content_type)
    response.headers["Cache-Control"] = answer.cache
    if replayed:
        response.headers[REPLAYED] = "true"
    if answer.cookie is not None:
        set_cookie(response, answer.cookie, secure=request.secure, seconds=LIFETIME_SECONDS)
    return response


@web.middleware
async def problems(request: web.Request, handler: AiohttpHandler) -> web.StreamResponse:
    """Every error leaves as a problem detail; one that nobody expected is logged with a name that the answer carries."""
    try:
        return await handler(request)
    except BadRequest as error:
        return problem(Refused(400, error.sentence, code=error.code, where=error.where))
    except SitewardError as error:
        return problem(error)
    except web.HTTPException as error:
        if error.status < 400:
            raise
        return http_problem(error)
    except TimeoutError:
        return problem(Refused(503, "The answer took too long. Try again.", code="request.timeout"))
    except Exception:  # noqa: BLE001 (the edge: what nobody expected becomes one sentence, and a log entry with its trace)
        _log.exception("The request %s %s failed.", request.method, request.path)
        return problem(Refused(500, "Something went wrong on the site; its log says what.", code="internal"))


async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Signal `on_response_prepare`: the security headers stand on every answer."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
