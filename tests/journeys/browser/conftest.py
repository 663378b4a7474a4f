"""A real browser at a real demo site. A journey fails on any console error, any failed request and any foreign origin."""

from __future__ import annotations

import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, Request, ViewportSize, async_playwright

from siteward.core.demo_site import write_demo_site
from siteward.core.host import Host, open_host
from siteward.core.web import serving

SHOTS = Path(__file__).parents[3] / "screenshots"
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
WIDE: ViewportSize = {"width": 1280, "height": 860}
PHONE: ViewportSize = {"width": 390, "height": 844}
LEFT = "net::ERR_ABORTED"
"""How Chromium says that nobody waits for an answer any more, since its page was left or loaded again: no fault of the page."""


@dataclass
class Watched:
    """A page, and everything that went wrong on it."""

    page: Page
    address: str
    wrong: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    reachable: bool = True
    """Whether the host can be reached: where not, requests that fail are no fault of the page."""

    def watch(self) -> None:
        self.page.on(
            "console", lambda message: self._noted(message.text) if message.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("requestfailed", self._failed)
        self.page.on(
            "response",
            lambda answer: self._noted(f"{answer.status} {answer.url}") if answer.status >= 400 else None,
        )
        self.page.on("request", self._sent)

    def _failed(self, request: Request) -> None:
        if request.failure != LEFT:
            self._noted(f"failed: {request.url}: {request.failure}")

    def _noted(self, what: str) -> None:
        if self.reachable:
            self.wrong.append(what)

    def _sent(self, request: Request) -> None:
        self.requests.append(request)
        if urlsplit(request.url).netloc != urlsplit(self.address).netloc:
            self.wrong.append(f"foreign: {request.url}")

    async def weight(self) -> int:
        """The bytes that came over the wire so far, as they were packed."""
        sizes = [await request.sizes() for request in self.requests]
        return sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes)

    async def scrolls_sideways(self) -> bool:
        page = "document.documentElement"
        return bool(await self.page.evaluate(f"{page}.scrollWidth > {page}.clientWidth"))

    async def shot(self, name: str) -> None:
        """A picture of the whole page, for people to look at."""
        SHOTS.mkdir(exist_ok=True)
        await self.page.screenshot(path=SHOTS / f"{name}.png", full_page=True)


@asynccontextmanager
async def visiting(
    browser: Browser, address: str, *, dark: bool = False, phone: bool = False
) -> AsyncIterator[Watched]:
    """Someone with a browser of their own."""
    context = await browser.new_context(
        viewport=PHONE if phone else WIDE, color_scheme="dark" if dark else "light", reduced_motion="reduce"
    )
    seen = Watched(await context.new_page(), address)
    seen.watch()
    try:
        yield seen
        assert seen.wrong == []
    finally:
        await context.close()


@dataclass(frozen=True)
class Demo:
    """A served demo site."""

    host: Host
    address: str
    browser: Browser

    @asynccontextmanager
    async def visitor(self, *, dark: bool = False, phone: bool = False) -> AsyncIterator[Watched]:
        async with visiting(self.browser, self.address, dark=dark, phone=phone) as seen:
            yield seen


@asynccontextmanager
async def running(folder: Path, browser: Browser, port: int = 0) -> AsyncIterator[Demo]:
    """The site of a folder, from start to stop."""
    async with open_host(folder) as host:
        await host.start()
        async with serving(host, "127.0.0.1", port) as address:
            yield Demo(host, address, browser)


def free_port() -> int:
    """A port for a host that stops and starts again under an open page."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    assert CHROMIUM is not None, "These journeys need Chromium: apt-get install chromium."
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield launched
        finally:
            await launched.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a new demo site."""
    write_demo_site(tmp_path)
    return tmp_path


@pytest.fixture
async def demo(folder: Path, browser: Browser) -> AsyncIterator[Demo]:
    async with running(folder, browser) as started:
        yield started
