"""The pages for everyone: by keyboard alone, with a screen reader's rules held (axe), light and dark, wide and narrow, from right to left."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Locator, Page, ViewportSize, expect

from .conftest import PHONE, WIDE, Demo, Watched
from .steps import PASSWORD, SLOW, ask_to_turn_on, go, is_on, open_setup, question, set_up

AXE = Path(__file__).parents[3] / "node_modules" / "axe-core" / "axe.min.js"
AXE_RUNS = {
    "light": "axe.run({ resultTypes: ['violations'] })",
    "dark": "axe.run({ resultTypes: ['violations'], runOnly: ['color-contrast'] })",
}
"""In the dark a page differs by its colours alone."""
LOOKS: tuple[tuple[Literal["light", "dark"], ViewportSize], ...] = (
    ("light", WIDE),
    ("dark", WIDE),
    ("light", PHONE),
    ("dark", PHONE),
)
SHOWN = (("light", WIDE), ("dark", PHONE))
"""The looks that people get pictures of."""
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Done once the page stands in its new look."""
MOST_TABS = 60
FOCUS_IS_SEEN = """
(() => {
  const at = document.activeElement;
  return at === document.body || (at.matches(":focus-visible") && getComputedStyle(at).outlineStyle !== "none");
})()
"""


async def hold(seen: Watched, name: str) -> None:
    """Nothing on the page, in any look, breaks a rule that axe knows, and nothing scrolls sideways."""
    assert AXE.exists(), "This journey needs axe: script/test-pages installs it (node)."
    if not await seen.page.evaluate("'axe' in window"):
        await seen.page.evaluate(AXE.read_text(encoding="utf-8"))
    for scheme, size in LOOKS:
        look = f"{name}-{'wide' if size is WIDE else 'phone'}-{scheme}"
        await seen.page.set_viewport_size(size)
        await seen.page.emulate_media(color_scheme=scheme)
        await seen.page.evaluate(DRAWN)
        found: list[dict[str, Any]] = (await seen.page.evaluate(AXE_RUNS[scheme]))["violations"]
        told = [f"{one['id']}: {node['html']} {node['failureSummary']}" for one in found for node in one["nodes"]]
        assert told == [], (look, told)
        assert not await seen.scrolls_sideways(), look
        if (scheme, size) in SHOWN:
            await seen.shot(look)
    await seen.page.set_viewport_size(WIDE)
    await seen.page.emulate_media(color_scheme="light")


async def test_no_page_breaks_a_rule_of_accessibility_in_any_look(demo: Demo) -> None:
    async with demo.visitor() as seen:
        await open_setup(demo, seen)
        await hold(seen, "setup")
        await set_up(demo, seen)
        await hold(seen, "workflows")
        await ask_to_turn_on(seen)
        await hold(seen, "go-live")
        await seen.page.get_by_role("dialog").get_by_role("button", name="Turn on").click()
        await is_on(seen)
        await question(seen.page)
        await hold(seen, "inbox")
        await go(seen.page, "Runs")
        await expect(seen.page.locator(".sw-run-row")).to_have_count(1)
        await hold(seen, "runs")
        await seen.page.locator(".sw-run-row a").click()
        await expect(seen.page.get_by_role("link", name="Waiting for an answer.")).to_be_visible()
        await seen.page.locator(".sw-more summary").first.click()
        await hold(seen, "run")
        await go(seen.page, "Gates")
        await expect(seen.page.locator("[data-gate=main_gate]")).to_be_visible()
        await hold(seen, "gates")
        await go(seen.page, "Workflows")
        await seen.page.locator(".sw-workflow h2 a").click()
        await seen.page.get_by_text("Its file").click()
        await expect(seen.page.locator(".sw-run-row")).to_have_count(1)
        await hold(seen, "workflow")
        await seen.page.route("**/try", lambda route: route.continue_(post_data='{"last": 2}'))
        await seen.page.get_by_role("button", name="Try on the last 20 events").click()
        await seen.page.locator(".sw-table .sw-more summary").first.click(timeout=SLOW)
        await hold(seen, "tried")
        await seen.page.get_by_role("button", name="Log out").click()
        await expect(seen.page.get_by_role("heading", name="Log in")).to_be_visible()
        await hold(seen, "login")


async def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until `wanted` has the focus. Wherever the focus comes by, one sees it."""
    await expect(wanted).to_be_enabled(timeout=SLOW)
    for _ in range(MOST_TABS):
        await page.keyboard.press("Tab")
        assert await page.evaluate(FOCUS_IS_SEEN), await page.evaluate("document.activeElement.outerHTML")
        if await wanted.evaluate("(element) => element === document.activeElement"):
            return
    raise AssertionError(f"Tab does not reach {wanted}")


async def test_the_whole_story_goes_by_keyboard_alone(demo: Demo) -> None:
    async with demo.visitor() as seen:
        page = seen.page
        await open_setup(demo, seen)
        for label, text in (("Name", "anna"), ("Password", PASSWORD), ("The same password again", PASSWORD)):
            await tab_to(page, page.get_by_label(label, exact=True))
            await page.keyboard.type(text)
        await page.keyboard.press("Enter")
        switch = page.get_by_role("button", name="On", exact=True)
        await tab_to(page, switch)
        await page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        await expect(dialog.get_by_role("heading", name="It can move")).to_be_visible()
        assert await dialog.evaluate("(element) => element.contains(document.activeElement)")
        await page.keyboard.press("Escape")
        await expect(dialog).to_have_count(0)
        await expect(switch).to_be_focused()
        await page.keyboard.press("Enter")
        await tab_to(page, dialog.get_by_role("button", name="Turn on"))
        await page.keyboard.press("Enter")
        await is_on(seen)
        await expect(switch).to_be_focused()
        await page.keyboard.press("Shift+Tab")
        await tab_to(page, page.get_by_role("button", name="Play next"))
        await page.keyboard.press("Enter")
        await tab_to(page, page.get_by_role("link", name="Inbox").first)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", level=1, name="Inbox")).to_be_focused()
        let_in = page.get_by_role("button", name="Let in")
        await expect(let_in).to_be_visible(timeout=SLOW)
        await tab_to(page, let_in)
        await page.keyboard.press("Enter")
        await tab_to(page, page.get_by_role("link", name="See what it does"))
        await page.keyboard.press("Enter")
        await expect(page.locator("h1")).to_be_focused()
        await expect(page.locator("h1 .sw-pill")).to_have_text("Done", timeout=SLOW)
        await expect(page.get_by_text("was closed, read back as open")).to_be_visible()


async def test_nothing_scrolls_sideways_on_a_small_phone_in_either_direction(demo: Demo) -> None:
    async with demo.visitor(phone=True) as seen:
        await seen.page.set_viewport_size({"width": 320, "height": 640})
        await set_up(demo, seen)
        for direction in ("ltr", "rtl"):
            await seen.page.evaluate(f"document.documentElement.dir = '{direction}'")
            for name in ("Workflows", "Inbox", "Runs", "Gates"):
                await go(seen.page, name)
                assert not await seen.scrolls_sideways(), (direction, name)
            await seen.shot(f"gates-small-{direction}")
        await seen.page.set_viewport_size(WIDE)
        await go(seen.page, "Workflows")
        brand, tools = seen.page.locator(".sw-brand"), seen.page.locator(".sw-out")
        assert await _start(tools) < await _start(brand)
        await seen.shot("workflows-wide-rtl")


async def _start(element: Locator) -> float:
    box = await element.bounding_box()
    assert box is not None
    return box["x"]


async def test_nothing_moves_for_who_asked_for_less_motion(demo: Demo) -> None:
    async with demo.visitor() as seen:
        await set_up(demo, seen)
        await go(seen.page, "Gates")
        arm = seen.page.locator(".sw-gate-arm")
        seconds = "(element) => parseFloat(getComputedStyle(element).transitionDuration)"
        assert await arm.evaluate(seconds) < 0.001
        await seen.page.emulate_media(reduced_motion="no-preference")
        assert await arm.evaluate(seconds) > 0.1
