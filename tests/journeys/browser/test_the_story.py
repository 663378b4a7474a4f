"""The main job as a new user lives it: set up, turn the template on, a vehicle comes, let it in, see every step."""

from __future__ import annotations

from playwright.async_api import expect

from .conftest import Demo
from .steps import SLOW, go, log_in, question, set_up, turn_on

FIRST_LOAD = 120_000
"""The most bytes, packed, that the list of workflows may take to load for the first time."""


async def test_a_vehicle_comes_and_a_person_lets_it_in(demo: Demo) -> None:
    async with demo.visitor() as seen, demo.visitor(dark=True, phone=True) as other:
        await set_up(demo, seen)
        await turn_on(seen)
        await log_in(demo, other)
        assert 0 < await other.weight() < FIRST_LOAD
        await go(seen.page, "Gates")
        gate = seen.page.locator("[data-gate=main_gate]")
        await expect(gate).to_have_attribute("data-state", "closed")
        await question(seen.page)
        await expect(seen.page.locator(".sw-ask .sw-shot img")).to_be_visible()
        # Wherever the other one is, the page says that a question waits.
        await expect(other.page.get_by_text("A question waits for you.")).to_be_visible()
        await expect(other.page).to_have_title("(1) Demo site")
        await other.page.get_by_role("link", name="Answer in the inbox").click()
        theirs = other.page.get_by_role("button", name="Let in")
        await expect(theirs).to_be_visible()
        await seen.page.get_by_role("button", name="Let in").click()
        await expect(theirs).to_have_count(0)
        await other.page.get_by_text("Earlier questions").click()
        await expect(other.page.get_by_text("anna answered").first).to_be_visible()
        await expect(other.page).to_have_title("Demo site")
        await expect(seen.page.get_by_role("link", name="See what it does")).to_be_visible()
        await go(seen.page, "Gates")
        await expect(gate).to_have_attribute("data-state", "open", timeout=SLOW)
        await expect(other.page.get_by_role("link", name="Open gate main_gate")).to_have_count(0)
        await seen.shot("gates-opened")
        await seen.page.get_by_role("link", name="Open gate main_gate").click()
        await expect(seen.page.get_by_text("The model says").first).to_be_visible()
        await expect(seen.page.get_by_role("heading", name="Ask a person Let in")).to_be_visible()
        await expect(seen.page.get_by_text("anna answered “Let in”")).to_be_visible()
        await expect(seen.page.get_by_role("heading", name="Open gate")).to_be_visible()
        await expect(seen.page.get_by_text("was closed, read back as open")).to_be_visible()
        await expect(seen.page.locator("h1 .sw-pill")).to_have_text("Done", timeout=SLOW)
        await seen.shot("run-done")
        await go(seen.page, "Workflows")
        await expect(seen.page.locator(".sw-workflow").get_by_text("1 run today")).to_be_visible()
        await seen.page.locator(".sw-workflow h2 a").click()
        await expect(seen.page.get_by_role("heading", name="Gate concierge")).to_be_visible()
        await expect(seen.page.locator(".sw-run-row")).to_have_count(1)
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
        await expect(rows.filter(has_text="asked:").first).to_be_visible()
        await expect(seen.page.get_by_text("The model says").first).to_be_visible()
        await expect(seen.page.locator(".sw-tally strong").first).to_be_visible()
        await seen.shot("try")
        await go(seen.page, "Inbox")
        await expect(seen.page.get_by_text("No question waits")).to_be_visible()
