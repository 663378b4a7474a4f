"""The web server of a host: pages, API and live stream on one address."""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from siteward.core.api.app import make_app
from siteward.core.api.host import ApiHost
from siteward.core.errors import SitewardError

SHUTDOWN_SECONDS = 5.0


class PortInUse(SitewardError):
    """The address cannot be listened on."""

    code = "web.port_in_use"


@asynccontextmanager
async def serving(host: ApiHost, address: str, port: int) -> AsyncIterator[str]:
    """Serve until the block ends; gives the address to open. Port 0 takes a free one. Raises `PortInUse`."""
    runner = web.AppRunner(make_app(host), shutdown_timeout=SHUTDOWN_SECONDS, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, address, port)
        try:
            await site.start()
        except OSError as error:
            raise PortInUse(f"{address}:{port} cannot be used: {_reason(error)}", where=f"{address}:{port}") from error
        bound = runner.addresses[0][1]
        shown = "127.0.0.1" if address in ("0.0.0.0", "::") else address
        yield f"http://{shown}:{bound}"
    finally:
        await runner.cleanup()


def _reason(error: OSError) -> str:
    """What is wrong with the address, and what to do."""
    match error.errno:
        case errno.EADDRINUSE | errno.EACCES:
            what = (
                f"{os.strerror(error.errno)}. Stop what uses it, or give another port: `siteward run --port 8788`, or"
            )
            return f"{what} web.port in configuration.yaml."
        case _:
            return f"{error.strerror or error}. Correct web.host in configuration.yaml: an address of this machine."
