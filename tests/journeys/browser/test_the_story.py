"""The main job as a new user lives it: set up, turn the template on, a vehicle comes, let it in, see every step."""

from __future__ import annotations

from playwright.async_api import Page, expect

from .conftest import Demo, Watched

PASSWORD = "a long enough password"
SLOW = 60_000
"""Milliseconds in which the built-in perception has looked, also on a busy machine."""


async def set_up(demo: Demo, seen: Watched, name: str = "anna") -> None:
    code = await demo.host.site.people.open_code()
    await seen.page.goto(f"{demo.address}/#/setup?code={code}")
    await expect(seen.page.get_by_label("One-time code")).to_have_value(str(code))
    await seen.page.get_by_label("Name", exact=True).fill(name)
    await seen.page.get_by_label("Password", exact=True).fill(PASSWORD)
    await seen.page.get_by_label("The same password again").fill(PASSWORD)
    await seen.shot("1-setup")
    await seen.page.get_by_role("button", name="Make the admin account").click()
    await expect(seen.page.get_by_role("heading", name="Workflows")).to_be_visible()


async def log_in(demo: Demo, seen: Watched) -> None:
    await seen.page.goto(demo.address)
    await seen.page.get_by_label("Name").fill("anna")
    await seen.page.get_by_label("Password").fill(PASSWORD)
    await seen.page.get_by_role("button", name="Log in").click()
    await expect(seen.page.get_by_role("heading", name="Workflows")).to_be_visible()


async def turn_on(seen: Watched) -> None:
    await seen.page.get_by_role("group", name="State of").get_by_role("button", name="On").first.click()
    dialog = seen.page.get_by_role("dialog")
    await expect(dialog.get_by_role("heading", name="It can move")).to_be_visible()
    await seen.shot("2-go-live")
    await dialog.get_by_role("button", name="Turn on").click()
    await expect(seen.page.get_by_role("button", name="On", exact=True).first).to_have_attribute("aria-pressed", "true")


async def question(page: Page) -> None:
    """Play vehicles until one leads to a question."""
    await page.get_by_role("button", name="Play next").click()
    await page.get_by_role("link", name="Inbox").click()
    await expect(page.get_by_role("button", name="Let in")).to_be_visible(timeout=SLOW)


async def test_a_vehicle_comes_and_a_person_lets_it_in(demo: Demo) -> None:
    async with demo.visitor() as seen, demo.visitor(dark=True, phone=True) as other:
        await set_up(demo, seen)
        await turn_on(seen)
        await log_in(demo, other)
        await seen.page.get_by_role("link", name="Gates").click()
        gate = seen.page.locator("[data-gate=main_gate]")
        await expect(gate).to_have_attribute("data-state", "closed")
        await question(seen.page)
        await expect(seen.page.locator(".sw-ask .sw-shot img")).to_be_visible()
        await seen.shot("3-inbox")
        await other.page.get_by_role("link", name="Inbox").click()
        theirs = other.page.get_by_role("button", name="Let in")
        await expect(theirs).to_be_visible()
        await other.shot("3-inbox-phone-dark")
        await seen.page.get_by_role("button", name="Let in").click()
        await expect(theirs).to_have_count(0)
        await other.page.get_by_text("Earlier questions").click()
        await expect(other.page.get_by_text("anna answered").first).to_be_visible()
        await seen.page.get_by_role("link", name="Gates").click()
        await expect(gate).to_have_attribute("data-state", "open", timeout=SLOW)
        await expect(seen.page.get_by_role("link", name="Open gate main_gate")).to_be_visible()
        await seen.shot("4-gate")
        await seen.page.get_by_role("link", name="Open gate main_gate").click()
        await expect(seen.page.get_by_text("The model says").first).to_be_visible()
        await expect(seen.page.get_by_role("heading", name="Ask a person Let in")).to_be_visible()
        await expect(seen.page.get_by_role("heading", name="Open gate")).to_be_visible()
        await expect(seen.page.locator("h1 .sw-pill")).to_have_text("Done", timeout=SLOW)
        await seen.shot("5-run")
        await other.page.get_by_role("link", name="Runs").click()
        await other.page.locator(".sw-run-row a").first.click()
        await expect(other.page.get_by_text("The model says").first).to_be_visible()
        await other.shot("5-run-phone-dark")
        await other.page.get_by_role("link", name="Gates").click()
        await expect(other.page.locator("[data-gate=main_gate]")).to_be_visible()
        await other.shot("4-gate-phone-dark")
        await other.page.get_by_role("link", name="Workflows").click()
        await expect(other.page.locator(".sw-workflow")).to_have_count(1)
        await other.shot("6-workflows-phone-dark")
        await seen.page.get_by_role("link", name="Workflows").click()
        await expect(seen.page.locator(".sw-workflow").get_by_text("1 run today")).to_be_visible()
        await seen.shot("6-workflows")
        await seen.page.locator(".sw-workflow h2 a").click()
        await expect(seen.page.get_by_role("heading", name="Try it")).to_be_visible()
        await expect(seen.page.get_by_role("heading", name="Gate concierge")).to_be_visible()
        await seen.page.get_by_text("What it does").click()
        await expect(seen.page.locator(".sw-run-row")).to_have_count(1)
        await seen.shot("7-workflow")
        await seen.page.get_by_role("button", name="Log out").click()
        await expect(seen.page.get_by_role("heading", name="Log in")).to_be_visible()


async def test_trying_on_past_events_shows_what_would_have_been_done(demo: Demo) -> None:
    async with demo.visitor() as seen:
        await set_up(demo, seen)
        await seen.page.locator(".sw-workflow h2 a").click()
        await seen.page.get_by_role("button", name="Try on the last 20 events").click()
        rows = seen.page.locator(".sw-table tbody tr")
        await expect(rows.first).to_be_visible(timeout=4 * SLOW)
        assert await rows.count() >= 10
        await expect(rows.filter(has_text="Running")).to_have_count(0)
        await expect(seen.page.get_by_text("The model says").first).to_be_visible()
        await seen.shot("9-try")
        await seen.page.get_by_role("link", name="Inbox").click()
        await expect(seen.page.get_by_text("No question waits")).to_be_visible()


async def test_nothing_scrolls_sideways_on_a_small_phone(demo: Demo) -> None:
    async with demo.visitor(phone=True) as seen:
        await seen.page.set_viewport_size({"width": 320, "height": 640})
        await set_up(demo, seen)
        for page in ("Workflows", "Inbox", "Runs", "Gates"):
            await seen.page.get_by_role("link", name=page).click()
            await expect(seen.page.get_by_role("heading", level=1, name=page)).to_be_visible()
            wide = await seen.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert wide <= 0, page
        await seen.shot("8-small-phone")
