"""The web application of a host: routes, pages and the live stream behind one set of checks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from aiohttp import web

import siteward.frontend
from siteward.core.site.permissions import Permission

from . import account_routes, alert_routes, approval_routes, run_routes, site_routes, workflow_routes
from .host import ApiHost
from .idempotency import Idempotency
from .live import Live
from .metrics_route import PATH, metrics_route
from .openapi import describe
from .pages import Pages
from .routes import Answer, Call, Route
from .serving import PREFIX, add_headers, problems, serve
from .shapes import free

MAXIMUM_BODY: Final = 1024 * 1024
"""A request may hold a workflow file (128 KiB) as JSON, in which every character may take six."""


async def _openapi(_call: Call) -> Answer:
    return Answer(describe(ROUTES))


ROUTES: Final[tuple[Route, ...]] = (
    *account_routes.ROUTES,
    *workflow_routes.ROUTES,
    *run_routes.ROUTES,
    *approval_routes.ROUTES,
    *alert_routes.ROUTES,
    *site_routes.ROUTES,
    Route("GET", "/openapi.json", Permission.SIGNED_IN, "This description", _openapi, free()),
)


def make_app(host: ApiHost) -> web.Application:
    """The application of `host`; whoever runs it owns its runner."""
    app = web.Application(middlewares=[problems], client_max_size=MAXIMUM_BODY)
    app.on_response_prepare.append(add_headers)
    keys = Idempotency(host.site.store, host.site.clock)
    for route in ROUTES:
        app.router.add_route(route.method, PREFIX + route.path, serve(route, host, keys))
    live = Live(host)
    app.router.add_get(PREFIX + "/live", live.handle)
    app.router.add_get(PATH, metrics_route(host))
    pages = Pages(Path(siteward.frontend.__file__).parent)
    app.router.add_get("/", pages.index)
    app.router.add_get("/ui/{version}/{name:.+}", pages.file)

    async def feed(_app: web.Application) -> AsyncIterator[None]:
        async with live.running():
            yield

    async def close(_app: web.Application) -> None:
        await live.close()

    app.cleanup_ctx.append(feed)
    app.on_shutdown.append(close)
    return app
