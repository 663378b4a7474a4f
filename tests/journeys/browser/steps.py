"""What visitors do on the pages, in their own words."""

from __future__ import annotations

from playwright.async_api import Page, expect

from .conftest import Demo, Watched

PASSWORD = "a long enough password"
SLOW = 60_000
"""Milliseconds in which the built-in perception has looked, also on a busy machine."""


async def open_setup(demo: Demo, seen: Watched) -> None:
    code = await demo.host.site.people.open_code()
    await seen.page.goto(f"{demo.address}/#/setup?code={code}")
    await expect(seen.page.get_by_label("One-time code")).to_have_value(str(code))


async def set_up(demo: Demo, seen: Watched, name: str = "anna") -> None:
    await open_setup(demo, seen)
    await seen.page.get_by_label("Name", exact=True).fill(name)
    await seen.page.get_by_label("Password", exact=True).fill(PASSWORD)
    await seen.page.get_by_label("The same password again").fill(PASSWORD)
    await seen.page.get_by_role("button", name="Make the admin account").click()
    await expect(seen.page.get_by_role("heading", name="Workflows")).to_be_visible()


async def log_in(demo: Demo, seen: Watched) -> None:
    await seen.page.goto(demo.address)
    await seen.page.get_by_label("Name").fill("anna")
    await seen.page.get_by_label("Password").fill(PASSWORD)
    await seen.page.get_by_role("button", name="Log in").click()
    await expect(seen.page.get_by_role("heading", name="Workflows")).to_be_visible()
    await expect(seen.page.locator(".sw-workflow")).to_have_count(1)


async def ask_to_turn_on(seen: Watched) -> None:
    await seen.page.get_by_role("group", name="State of").get_by_role("button", name="On").first.click()
    await expect(seen.page.get_by_role("dialog").get_by_role("heading", name="It can move")).to_be_visible()


async def turn_on(seen: Watched) -> None:
    await ask_to_turn_on(seen)
    await seen.page.get_by_role("dialog").get_by_role("button", name="Turn on").click()
    await is_on(seen)


async def is_on(seen: Watched) -> None:
    switch = seen.page.get_by_role("button", name="On", exact=True)
    await expect(switch.first).to_have_attribute("aria-pressed", "true")


async def go(page: Page, name: str) -> None:
    await page.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()
    await expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()


async def question(page: Page) -> None:
    """Play a vehicle, and wait until its question stands in the inbox."""
    await page.get_by_role("button", name="Play next").click()
    await go(page, "Inbox")
    await expect(page.get_by_role("button", name="Let in")).to_be_visible(timeout=SLOW)
