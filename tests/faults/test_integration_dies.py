"""An integration that dies: its background task is started again and the health page says so; what it leaves open ends as the page on faults says;
nobody else is harmed, and everything recovers by itself. (The process of the embedded models: tests/integrations/embedded/test_process.py.)"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import select

from siteward.core.held_skills import HeldSkills
from siteward.core.host import open_host
from siteward.core.plugins import entry as entries
from siteward.core.plugins.entry import Entry
from siteward.core.plugins.objects import ActionCall
from siteward.core.store.schema import workflow_approvals, workflows
from tests.engine.house import House, scripted_skills

from .guests import until

GATE = """
contract: workflow.v1
name: Gate
limits: { cooldown: 0s }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - ask_person: { who: role:guard, message: "A car", replies: [Let in], timeout: 1h }
    Let in:
      - gate.open: { gate: main_gate }
      - wait: 5s
      - gate.close: { gate: main_gate }
always:
  - log: "always"
"""
MANIFEST = "domain: watcher\nname: Watcher\nversion: 1.0.0\n"
WATCHER = """
import asyncio
from siteward.sdk import hookimpl

async def watch():
    raise ConnectionError("the line is gone")

@hookimpl
async def siteward_setup(site, entry):
    entry.keep(watch, "line")
    await asyncio.sleep(0)
"""


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(entries, "STEADY_SECONDS", 0.05)


@pytest.mark.usefixtures("_quick")
async def test_a_background_task_that_breaks_is_started_again_and_says_so_until_it_runs() -> None:
    entry, runs = Entry("watcher", {}), 0
    steady = asyncio.Event()

    async def watch() -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise ConnectionError("the line is gone")
        if runs == 2:
            own = asyncio.ensure_future(asyncio.sleep(3600))
            own.cancel()
            await own
        steady.set()
        await asyncio.Event().wait()

    entry.keep(watch, "line")

    async def told() -> bool:
        return bool(entry.problems)

    async def well() -> bool:
        return not entry.problems

    async with asyncio.timeout(10):
        await until(told)
        assert "the line is gone" in entry.problems[0]
        await steady.wait()
        await until(well)
    assert runs == 3
    await entry.close()


@pytest.mark.usefixtures("_quick")
async def test_unloading_ends_it_also_while_it_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "FIRST_PAUSE", 3600.0)
    entry = Entry("watcher", {})

    async def watch() -> None:
        raise ConnectionError("the line is gone")

    task = entry.keep(watch, "line")
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await entry.close()
    assert task.done()


async def test_the_health_page_says_what_broke(tmp_path: Path) -> None:
    (tmp_path / "configuration.yaml").write_text(
        "name: My site\nzone: UTC\ncameras: []\nintegrations: { watcher: {} }\n"
    )
    folder = tmp_path / "custom_integrations" / "watcher"
    folder.mkdir(parents=True)
    (folder / "manifest.yaml").write_text(MANIFEST)
    (folder / "__init__.py").write_text(WATCHER)
    async with open_host(tmp_path) as host:
        await host.start()
        health = await host.health()
    (part,) = [part for part in health["parts"] if part["name"] == "watcher" and not part["ok"]]
    assert "the line is gone" in part["sentence"]
    assert not health["ok"]


@pytest.fixture
async def held(tmp_path: Path) -> AsyncIterator[tuple[House, HeldSkills]]:
    """A house whose integrations can go and come back while it runs."""
    house = House(tmp_path)
    skills = HeldSkills(scripted_skills(house.outside, house.looks))
    house.skills = skills  # type: ignore[assignment]
    await house.open()
    yield house, skills
    await house.close()


async def test_an_integration_that_goes_while_its_gate_opens_lets_it_open_and_does_nothing_more(
    held: tuple[House, HeldSkills],
) -> None:
    house, skills = held
    workflow_id = await house.save(GATE)
    run_id = await house.happens(house.vehicle())
    whole = skills.now

    async def goes(call: ActionCall) -> None:
        gates = ("gate.open", "gate.close")
        left = {name: action for name, action in whole.actions.items() if name not in gates}
        skills.now = dataclasses.replace(whole, actions=left)
        await house.engine.refresh()

    house.outside.before["gate.open"] = goes
    await house.reply("Let in")
    steps = await house.steps(run_id)
    assert steps["then.0/Let in.0"] == "done"
    assert len(house.outside.named("gate.open")) == 1
    await house.passes(5)
    run = await house.run(run_id)
    assert (run["state"], "gate.close" in run["state_reason"]) == ("failed", True)
    assert await house.logged() == ["always"]

    attention = select(workflows.c.attention).where(workflows.c.id == workflow_id)
    assert "gate.open" in (await house.rows(attention))[0]["attention"]
    assert await house.happens(house.vehicle()) is None
    skills.now = whole
    house.outside.before.clear()
    await house.engine.refresh()
    assert (await house.rows(attention))[0]["attention"] is None
    assert await house.happens(house.vehicle()) is not None


async def test_a_question_asked_before_it_went_is_still_answered_and_moves_when_it_is_back(
    held: tuple[House, HeldSkills],
) -> None:
    house, skills = held
    await house.save(GATE)
    await house.happens(house.vehicle())
    whole = skills.now
    skills.now = dataclasses.replace(whole, actions={"log": whole.actions["log"]})
    await house.engine.refresh()
    (question,) = await house.rows(workflow_approvals)
    assert question["state"] == "open"
    skills.now = whole
    await house.engine.refresh()
    await house.reply("Let in")
    assert len(house.outside.named("gate.open")) == 1
