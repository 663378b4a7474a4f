"""A real browser at a real demo site. A journey fails on any console error, any failed request and any foreign origin."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, BrowserContext, Page, ViewportSize, async_playwright

from siteward.core.demo_site import write_demo_site
from siteward.core.host import Host, open_host
from siteward.core.web import serving

SHOTS = Path(__file__).parents[3] / "screenshots"
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
WIDE: ViewportSize = {"width": 1280, "height": 860}
PHONE: ViewportSize = {"width": 390, "height": 844}


@dataclass
class Watched:
    """A page, and everything that went wrong on it."""

    page: Page
    address: str
    wrong: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.on(
            "console", lambda message: self.wrong.append(message.text) if message.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("requestfailed", lambda request: self.wrong.append(f"failed: {request.url}"))
        self.page.on(
            "response",
            lambda answer: self.wrong.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None,
        )
        self.page.on("request", lambda request: self._own(request.url))

    def _own(self, url: str) -> None:
        if urlsplit(url).netloc != urlsplit(self.address).netloc:
            self.wrong.append(f"foreign: {url}")

    async def shot(self, name: str) -> None:
        """A picture of the whole page, for people to look at."""
        SHOTS.mkdir(exist_ok=True)
        await self.page.screenshot(path=SHOTS / f"{name}.png", full_page=True)


@dataclass
class Demo:
    """A served demo site."""

    host: Host
    address: str
    browser: Browser
    watched: list[Watched] = field(default_factory=list)

    @asynccontextmanager
    async def visitor(self, *, dark: bool = False, phone: bool = False) -> AsyncIterator[Watched]:
        """Someone with a browser of their own."""
        context: BrowserContext = await self.browser.new_context(
            viewport=PHONE if phone else WIDE, color_scheme="dark" if dark else "light", reduced_motion="reduce"
        )
        seen = Watched(await context.new_page(), self.address)
        seen.watch()
        try:
            yield seen
            assert seen.wrong == []
        finally:
            await context.close()


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[Demo]:
    assert CHROMIUM is not None, "These journeys need Chromium: apt-get install chromium."
    write_demo_site(tmp_path)
    async with open_host(tmp_path) as host:
        await host.start()
        async with serving(host, "127.0.0.1", 0) as address, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            try:
                yield Demo(host, address, browser)
            finally:
                await browser.close()
