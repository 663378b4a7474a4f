"""A changed question to the model: the page says which version acts and which is tried beside it, and turns the newer one On."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, expect

from siteward.core.contract.document import State

from .conftest import Demo, visiting
from .steps import set_up


@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
async def test_a_changed_question_is_compared_and_turned_on(browser: Browser, demo: Demo, phone: bool) -> None:
    async with visiting(browser, demo.address, phone=phone, dark=phone) as seen:
        await set_up(demo, seen)
        engine = demo.host.engine
        (held,) = engine.catalog
        await engine.set_state(held.id, State.ON, "user:anna")
        assert held.plan is not None
        text = held.plan.document.text
        at = text.index("prompt:")
        await engine.save_workflow(text[:at] + text[at:].replace("?", ", please?", 1), "user:anna", held.id)
        page = seen.page
        await page.reload()
        said = f"Version {held.version + 1} runs in Test beside version {held.version}, which is On."
        await expect(page.get_by_text(said).first).to_be_visible()
        await seen.shot(f"two-versions-list-{'phone' if phone else 'wide'}")
        await page.get_by_role("link", name="Compare and choose").click()
        await expect(page.get_by_text(said)).to_be_visible()
        await seen.shot(f"two-versions-{'phone' if phone else 'wide'}")
        assert not await seen.scrolls_sideways()
        await page.get_by_role("button", name=f"Turn version {held.version + 1} On").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog.get_by_text(f"It takes the place of version {held.version}")).to_be_visible()
        await seen.shot(f"two-versions-dialog-{'phone' if phone else 'wide'}")
        await dialog.get_by_role("button", name="Turn on").click()
        await expect(page.get_by_text(said)).to_have_count(0)
        (held,) = engine.catalog
        assert held.state is State.ON and held.candidate is None
