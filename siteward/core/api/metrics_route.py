"""`/metrics` for Prometheus: with the site's metrics token, or for an admin who is logged in.

Not by address: behind a proxy on the same machine everybody comes from there.
"""

from __future__ import annotations

import hmac
from typing import Final

from aiohttp import web

from siteward.core.errors import AuthFailed
from siteward.core.site.permissions import Permission, require

from .host import ApiHost
from .serving import AiohttpHandler, session_of

PATH: Final = "/metrics"
_BEARER: Final = "Bearer "


def metrics_route(host: ApiHost) -> AiohttpHandler:
    """The handler."""

    async def handle(request: web.Request) -> web.StreamResponse:
        if not _has_token(request, host.site.configuration.metrics_token):
            session = await session_of(request, host)
            if session is None:
                raise AuthFailed(
                    "Send the site's metrics token (`Authorization: Bearer …`, web.metrics_token in configuration.yaml), or log in as an "
                    "admin.",
                    code="session.missing",
                )
            require(session.person, Permission.ADMIN)
        answer = web.Response(body=await host.metrics(), content_type="text/plain", charset="utf-8")
        answer.headers["Cache-Control"] = "no-store"
        return answer

    return handle


def _has_token(request: web.Request, token: str) -> bool:
    given = request.headers.get("Authorization", "")
    if not token or not given.startswith(_BEARER):
        return False
    sent = given.removeprefix(_BEARER).encode("utf-8", "surrogateescape")
    return hmac.compare_digest(sent, token.encode())
