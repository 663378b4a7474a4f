"""An open page lives through a lost network and a restart of the host: it says that it is away, comes back by itself, and missed nothing."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Browser, expect

from .conftest import Demo, free_port, running, visiting
from .steps import SLOW, go, log_in, question, set_up, turn_on

AWAY = "Not connected"


async def test_a_restart_of_the_host_under_an_open_page_loses_nothing(folder: Path, browser: Browser) -> None:
    port = free_port()
    async with visiting(browser, f"http://127.0.0.1:{port}") as seen:
        async with running(folder, browser, port) as demo:
            await set_up(demo, seen)
            await turn_on(seen)
            await go(seen.page, "Inbox")
            seen.reachable = False
        await expect(seen.page.get_by_text(AWAY)).to_be_visible()
        await seen.shot("away")
        async with running(folder, browser, port) as demo:
            player = demo.host.demo
            assert player is not None
            await player.play_next()
            await expect(seen.page.get_by_text(AWAY)).to_have_count(0, timeout=SLOW)
            seen.reachable = True
            # Nobody reloaded and nobody logged in again: the question of the vehicle that came meanwhile is there.
            await seen.page.get_by_role("button", name="Let in").click(timeout=SLOW)
            await go(seen.page, "Gates")
            await expect(seen.page.locator("[data-gate=main_gate]")).to_have_attribute(
                "data-state", "open", timeout=SLOW
            )
            await seen.page.goto("about:blank")


async def test_a_page_without_a_network_learns_afterwards_what_another_person_answered(demo: Demo) -> None:
    async with demo.visitor() as seen, demo.visitor(phone=True) as other:
        await set_up(demo, seen)
        await turn_on(seen)
        await log_in(demo, other)
        await question(seen.page)
        await go(other.page, "Inbox")
        await expect(other.page.get_by_role("button", name="Let in")).to_be_visible()
        other.reachable = False
        await other.page.context.set_offline(True)
        await expect(other.page.get_by_text(AWAY)).to_be_visible()
        await seen.page.get_by_role("button", name="Send away").click()
        await expect(seen.page.get_by_text("No question waits")).to_be_visible()
        await expect(other.page.get_by_role("button", name="Let in")).to_be_visible()
        await other.page.context.set_offline(False)
        await expect(other.page.get_by_text(AWAY)).to_have_count(0, timeout=SLOW)
        other.reachable = True
        await expect(other.page.get_by_text("No question waits")).to_be_visible()
        await other.page.get_by_text("Earlier questions").click()
        await expect(other.page.get_by_text("anna answered").first).to_be_visible()
