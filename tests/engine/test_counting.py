"""What is counted of runs, steps and refusals is what their rows say, each once, whatever way it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import select

from siteward.core.contract.document import State
from siteward.core.engine.views import AI_CALLS
from siteward.core.metrics import HostMeters
from siteward.core.store.schema import counters, events, workflow_run_steps, workflow_runs

from .house import House
from .test_acting import ASKS

LOOKS = """
contract: workflow.v1
name: Looks
limits: { cooldown: 10m, per_hour: 2 }
when:
  detect.vehicle_in_zone: { cameras: [yard], zone: apron }
if:
  - site_mode: [disarmed]
then:
  - ai:
      mode: look
      prompt: What is it?
      decision: [delivery, visitor]
      delivery: [log: d]
      visitor: [log: v]
      unsure: [log: u]
"""


@pytest.fixture(params=[False, True], ids=["in-memory", "always-suspend"])
async def counted(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[House, HostMeters]]:
    """A house whose engine is counted."""
    house, meters = House(tmp_path, always_suspend=request.param), HostMeters()
    house.meters = meters
    await house.open()
    yield house, meters
    await house.close()


async def agree(house: House, meters: HostMeters) -> None:
    """The figures are those of the rows."""
    runs = await house.rows(workflow_runs)
    over = [row for row in runs if row["state"] not in ("running", "waiting")]
    assert meters.started == Counter((row["workflow_id"], row["mode"]) for row in runs)
    assert meters.ended == Counter((row["workflow_id"], row["mode"], row["state"]) for row in over)
    query = select(workflow_run_steps, workflow_runs.c.workflow_id, workflow_runs.c.mode).join(
        workflow_runs, workflow_runs.c.id == workflow_run_steps.c.run_id
    )
    steps = [
        row for row in await house.rows(query) if row["path"] != "if" and row["status"] not in ("waiting", "skipped")
    ]
    told = Counter((row["workflow_id"], row["kind"], row["mode"], row["status"]) for row in steps)
    of_meters = Counter[tuple[str, str, str, str]]()
    for (workflow, kind, _ai, mode, status), count in meters.steps.items():
        of_meters[workflow, kind, mode, status] += count
    assert of_meters == told
    assert sum(meters.events.values()) == len(await house.rows(events))


async def test_runs_that_end_well_or_not_met_and_events_that_are_refused(counted: tuple[House, HostMeters]) -> None:
    house, meters = counted
    workflow = await house.save(LOOKS)
    for _ in range(3):
        await house.happens(house.vehicle(camera="cam-2"))
    house.site.mode = "armed_away"
    await house.happens(house.vehicle(camera="cam-2"))
    await agree(house, meters)
    assert meters.ended == {(workflow, "on", "done"): 1, (workflow, "on", "not_met"): 1}
    assert meters.refused_events == {(workflow, "cooldown"): 2}
    assert meters.ai_calls == {(workflow, "look", "on"): 1}
    assert meters.steps[workflow, "ai", "look", "on", "done"] == 1
    assert sum(meters.seconds["ai", "look"].counts) == 1


async def test_runs_that_are_superseded_cancelled_and_turned_off(counted: tuple[House, HostMeters]) -> None:
    house, meters = counted
    workflow = await house.save(ASKS % "")
    await house.happens(house.vehicle(track="one"))
    await house.happens(house.vehicle(track="two"))
    await house.reply("Let in")
    third = await house.happens(house.vehicle(track="three"))
    await house.engine.cancel(third or "", "user:admin")
    await house.happens(house.vehicle(track="four"))
    await house.engine.set_state(workflow, State.OFF, "user:admin")
    await house.engine.drain()
    await agree(house, meters)
    assert meters.ended == {(workflow, "on", "cancelled"): 3, (workflow, "on", "done"): 1}


async def test_an_event_that_is_known_is_counted_once(counted: tuple[House, HostMeters]) -> None:
    house, meters = counted
    await house.save(LOOKS)
    event = house.vehicle(camera="cam-2")
    for _ in range(3):
        await house.happens(event)
    assert meters.events == {("detect.vehicle_in_zone",): 1}
    await agree(house, meters)


async def test_a_wait_is_not_in_the_seconds_of_its_step(counted: tuple[House, HostMeters]) -> None:
    house, meters = counted
    await house.save(ASKS % "- wait: 30s")
    await house.happens(house.vehicle())
    await house.reply("Let in")
    await house.passes(30)
    assert sum(meters.seconds["wait", ""].counts) == 1
    assert meters.seconds["wait", ""].total < 1


async def test_each_call_of_a_model_counts_in_the_hour_of_its_workflow(counted: tuple[House, HostMeters]) -> None:
    house, meters = counted
    workflow = await house.save(LOOKS)
    house.looks.calls = ("llm", "llm", "tool", "llm")
    await house.happens(house.vehicle(camera="cam-2"))
    used = await house.rows(select(counters).where(counters.c.name == AI_CALLS))
    assert [(row["scope"], row["count"]) for row in used] == [(workflow, 3)]
    assert meters.ai_calls == {(workflow, "look", "on"): 3}
