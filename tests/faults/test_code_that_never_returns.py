"""Code of integrations that never returns: every kind of it ends by the engine's own clock, as the page on faults says, and nobody else waits.

The deadline belongs to the engine: code that ignores its cancellation is left behind. What blocks the loop itself cannot be ended, and is named in
the log (`test_blocked_loop.py`).
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from siteward.core.contract.registry import StepKindSpec
from siteward.core.engine import acting, crew, engine, guarded, judging, third_party
from siteward.core.engine.seam import Wake
from siteward.core.plugins import guard
from siteward.core.plugins.objects import Action, AiMode, Condition, StepKind
from siteward.core.store.schema import workflow_run_steps, workflow_runs
from siteward.steps import ai
from tests.engine.house import House, scripted_skills

from .guests import Guest, until

MANNERS = ("patient", "rude", "cancelled", "leaves")
SOON = 0.05
"""Seconds that every bound has here; what stands in the code is asserted where it is told to people."""

HOLDING = """
contract: workflow.v1
name: Holding
limits: { cooldown: 0s }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
%s
then:
%s
always:
  - log: "always"
"""
OTHER = """
contract: workflow.v1
name: Other
limits: { cooldown: 0s }
when:
  detect.vehicle_in_zone: { cameras: [yard], zone: apron }
then:
  - log: "other"
"""


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acting, "ACTION_SECONDS", SOON)
    monkeypatch.setattr(judging, "CHECK_SECONDS", SOON)
    monkeypatch.setattr(third_party, "SECONDS", SOON)
    monkeypatch.setattr(ai, "DEFAULT_SECONDS", 0.0)
    monkeypatch.setattr(ai, "SPARE_SECONDS", SOON)
    monkeypatch.setattr(guard, "GRACE_SECONDS", SOON)


async def held_up(house: House, text: str, **skills: Any) -> str:
    """A vehicle comes to a workflow whose code never returns, and one to another workflow, which runs as ever; the run of the first."""
    house.skills = dataclasses.replace(house.skills, **skills)
    await house.restart()
    workflow_id = await house.save(text)
    await house.save(OTHER)
    async with asyncio.timeout(10):
        await asyncio.gather(*(house.engine.accept(house.vehicle(camera=camera)) for camera in ("cam-1", "cam-2")))
        await house.engine.drain()
    assert "other" in await house.logged()
    (run,) = [row for row in await house.rows(workflow_runs) if row["workflow_id"] == workflow_id]
    return str(run["id"])


def replaced(things: Any, name: str, thing: Any) -> dict[str, Any]:
    return {**things, name: thing}


def of_an_integration(house: House, name: str, check: Any) -> dict[str, Any]:
    """The skills with a condition that an integration brings: the host's own have no deadline but the database's."""
    registry = house.skills.registry
    brought = dataclasses.replace(registry.conditions[name], provider="chat")
    return {
        "registry": dataclasses.replace(registry, conditions={**registry.conditions, name: brought}),
        "conditions": {**house.skills.conditions, name: Condition(name, check)},
    }


async def ended(house: House, run_id: str) -> bool:
    return bool((await house.run(run_id))["state"] == "done")


Code = Callable[..., Awaitable[Any]]


@pytest.mark.parametrize("manner", MANNERS)
async def test_a_condition_before_the_run_fails_it(house: House, guest: Guest, manner: str) -> None:
    brought = of_an_integration(house, "site_mode", getattr(guest, manner))
    text = HOLDING % ("if:\n  - site_mode: [disarmed]", '  - log: "met"')
    run_id = await held_up(house, text, **brought)
    run = await house.run(run_id)
    assert run["state"] == "failed"
    assert "site_mode" in run["state_reason"]
    assert await house.logged() == ["other"]


@pytest.mark.parametrize("manner", MANNERS)
async def test_a_condition_in_the_run_fails_it_after_always(house: House, guest: Guest, manner: str) -> None:
    brought = of_an_integration(house, "site_mode", getattr(guest, manner))
    text = HOLDING % ("", '  - if: [{ site_mode: [disarmed] }]\n    true:\n      - log: "met"')
    run_id = await held_up(house, text, **brought)
    assert (await house.run(run_id))["state"] == "failed"
    assert sorted(await house.logged()) == ["always", "other"]


@pytest.mark.parametrize("manner", MANNERS)
async def test_an_ai_mode_is_unsure_and_the_run_goes_on(house: House, guest: Guest, manner: str) -> None:
    lines = ("ai:", "    mode: look", "    prompt: Who?", "    input: picture", "    decision: [delivery]")
    lanes = ('    delivery: [log: "delivery"]', '    unsure: [log: "unsure"]')
    text = HOLDING % ("", "\n".join(("  - " + lines[0], *("  " + line for line in (*lines[1:], *lanes)))))
    mode = AiMode("look", getattr(guest, manner))
    run_id = await held_up(house, text, ai_modes={"look": mode})
    assert (await house.run(run_id))["state"] == "done"
    assert sorted(await house.logged()) == ["always", "other", "unsure"]


@pytest.mark.parametrize("manner", MANNERS)
async def test_a_step_of_an_integration_fails_its_run(house: House, guest: Guest, manner: str) -> None:
    registry = dataclasses.replace(
        house.skills.registry,
        step_kinds={
            **house.skills.registry.step_kinds,
            "chat.ask": StepKindSpec("chat.ask", "chat", outcomes=("yes",)),
        },
    )
    house.skills = scripted_skills(house.outside, house.looks, registry)
    kind = StepKind("chat.ask", getattr(guest, manner))
    run_id = await held_up(house, HOLDING % ("", "  - chat.ask: {}"), step_kinds={"chat.ask": kind})
    assert (await house.run(run_id))["state"] == "failed"
    assert sorted(await house.logged()) == ["always", "other"]


@pytest.mark.parametrize("manner", MANNERS)
async def test_a_move_ends_unknown_with_an_alert_and_is_not_asked_again(
    house: House, guest: Guest, manner: str
) -> None:
    text = HOLDING % ("if:\n  - site_mode: [disarmed]", "  - gate.open: { gate: main_gate }")
    found = house.skills.actions["gate.open"]
    move = Action(found.name, found.repeat, found.moves, perform=getattr(guest, manner))
    run_id = await held_up(house, text, actions=replaced(house.skills.actions, "gate.open", move))
    assert (await house.run(run_id))["state"] == "unknown"
    assert await house.engine_alerts() == ["Holding: gate.open unknown"]
    await house.passes(3600)
    await house.restart()
    assert guest.begun == 1
    assert sorted(await house.logged()) == ["always", "other"]


@pytest.mark.parametrize("manner", MANNERS)
async def test_a_message_is_tried_again_under_its_key_and_then_given_up(
    house: House, guest: Guest, manner: str
) -> None:
    house.site.approved = frozenset({"destination:ticketing"})
    text = HOLDING % ("", "  - webhook: { to: ticketing, body: { camera: x } }")
    found = house.skills.actions["webhook"]
    send = Action(found.name, found.repeat, found.moves, perform=getattr(guest, manner))
    run_id = await held_up(house, text, actions=replaced(house.skills.actions, "webhook", send))
    for _ in range(6):
        await house.passes(600)
    run = await house.run(run_id)
    assert (run["state"], guest.begun) == ("failed", 5)
    assert "Given up after 5 attempts" in run["state_reason"]


class Endless:
    """A step kind of the host that never returns."""

    def __init__(self, code: Code) -> None:
        self._code = code

    async def start(self, step: Any, run: Any) -> Any:
        return await self._code()

    async def resume(self, step: Any, run: Any, wake: Wake) -> Any:
        return await self._code()


async def test_a_step_of_the_host_fails_its_run(house: House, guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded, "STEP_SECONDS", SOON)
    house.host_steps = {**house.host_steps, "wait": Endless(guest.patient)}
    run_id = await held_up(house, HOLDING % ("", "  - wait: 5s"))
    run = await house.run(run_id)
    assert run["state"] == "failed"
    assert "did not end within" in run["state_reason"]


@pytest.mark.parametrize("manner", ("patient", "rude"))
async def test_a_stop_ends_in_time_and_leaves_the_run_to_the_next_start(
    house: House, guest: Guest, manner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acting, "ACTION_SECONDS", 3600.0)
    monkeypatch.setattr(engine, "STOP_SECONDS", SOON)
    monkeypatch.setattr(crew, "CANCEL_SECONDS", 1.0)
    found = house.skills.actions["gate.open"]
    move = Action(found.name, found.repeat, found.moves, perform=getattr(guest, manner))
    kept = house.skills
    house.skills = dataclasses.replace(kept, actions=replaced(kept.actions, "gate.open", move))
    await house.restart()
    await house.save(HOLDING % ("if:\n  - site_mode: [disarmed]", "  - gate.open: { gate: main_gate }"))
    (run_id,) = await house.engine.accept(house.vehicle())
    await guest.called.wait()
    async with asyncio.timeout(10):
        await house.engine.stop()
    (row,) = [row for row in await house.rows(workflow_run_steps) if row["kind"] == "gate.open"]
    assert row["status"] == "intent"
    await house.store.close()
    house.skills = kept
    await house.open()
    await house.engine.drain()
    assert (await house.run(run_id))["state"] == "unknown"
    assert house.outside.calls == []


@pytest.mark.parametrize("where", ["before-the-run", "in-the-run"])
async def test_others_go_on_while_one_stands_still(
    house: House, guest: Guest, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "CHECK_SECONDS", 3600.0)
    house.skills = dataclasses.replace(house.skills, **of_an_integration(house, "site_mode", guest.patient))
    await house.restart()
    condition = "[{ site_mode: [disarmed] }]"
    inside = f"  - if: {condition}\n    true:\n      - log: met"
    parts = (f"if: {condition}", "  - log: met") if where == "before-the-run" else ("", inside)
    await house.save(HOLDING % parts)
    await house.save(OTHER)
    standing = asyncio.create_task(house.engine.accept(house.vehicle()))
    async with asyncio.timeout(10):
        await guest.called.wait()
        (other,) = await house.engine.accept(house.vehicle(camera="cam-2"))
        await until(partial(ended, house, other))
    assert await house.logged() == ["other"]
    await guest.let_go()
    await standing


async def test_a_trigger_that_wants_to_end_the_process_starts_nothing_and_holds_up_nobody(house: House) -> None:
    def leaves(settings: Any, event: Any) -> bool:
        raise SystemExit(3)

    triggers = dict(house.skills.triggers)
    triggers["event"] = dataclasses.replace(triggers["event"], matches=leaves)
    house.skills = dataclasses.replace(house.skills, triggers=triggers)
    await house.restart()
    await house.save(
        OTHER.replace(
            "detect.vehicle_in_zone: { cameras: [yard], zone: apron }", "event: { type: plate.recognized.v1 }"
        )
    )
    await house.save(OTHER)
    await house.happens(house.plate("B AA 1"))
    await house.happens(house.vehicle(camera="cam-2"))
    assert await house.logged() == ["other"]


async def test_an_action_that_breaks_while_it_says_what_to_record_fails_its_run(house: House) -> None:
    def breaks(call: Any, clock: Any) -> Any:
        raise SystemExit(3)

    found = house.skills.actions["log"]
    house.skills = dataclasses.replace(
        house.skills,
        actions=replaced(house.skills.actions, "log", Action(found.name, found.repeat, found.moves, record=breaks)),
    )
    await house.restart()
    await house.save(OTHER)
    await house.happens(house.vehicle(camera="cam-2"))
    assert await house.states() == ["failed"]
