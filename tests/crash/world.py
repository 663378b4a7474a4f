"""One life of the host in a process that may be killed: the scenario, the world outside it, and the place where it dies.

What happened outside is kept by the world itself, in files that the engine never reads: `relay.log` (each opening of the gate, with the time) and
`receiver.log` (each message, with its key). Time is simulated; `clock` keeps it across lives, plus what the machine was down.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select

from siteward.core.contract.registry import Provenance, Repeat
from siteward.core.engine.acting import Acting, Intent
from siteward.core.engine.commits import Commits
from siteward.core.engine.seam import RunState
from siteward.core.events.event import Event
from siteward.core.plugins.objects import ActionCall
from siteward.core.store.schema import workflow_approvals, workflow_run_steps, workflow_runs
from siteward.sdk.simulated_clock import START, SimulatedClock
from tests.engine.house import House

SCENARIO = """
contract: workflow.v1
name: Everything
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - for_each:
      in: [a, b]
      as: item
      do:
        - log: "item {item}"
  - webhook: { to: ticketing, body: { camera: "{camera}" } }
  - wait: 5s
  - id: look
    ai:
      mode: look
      prompt: Who is it?
      input: picture
      decision: [delivery]
      delivery: [alert: { severity: low, title: "Delivery" }]
      unsure: [log: "unsure"]
  - ask_person: { who: role:guard, message: "{look.reason}", replies: [Let in], timeout: 10m }
    Let in:
      - gate.open: { gate: main_gate }
      - wait_for: { gate.changed: { to: open }, timeout: 5m }
        happened: [log: "gate is open"]
        not_happened: [log: "gate stayed shut"]
    no_answer: [log: "nobody answered"]
always:
  - log: "always"
"""
ENDED = frozenset(RunState) - {RunState.RUNNING, RunState.WAITING}
ROUNDS = 400
LIFE_SECONDS = 60


Kill = tuple[str, int]
"""A boundary by its name, and which time it is reached."""


class KillAt:
    """Kills this process with SIGKILL when it reaches a boundary for the n-th time. Written down where `names` says, for who counts them."""

    def __init__(self, at: Kill | None, names: Path | None) -> None:
        self._at = at
        self._reached: Counter[str] = Counter()
        self._names = names

    def reach(self, name: str) -> None:
        self._reached[name] += 1
        if self._names is not None:
            with self._names.open("a") as log:
                log.write(f"{name}\n")
        if self._at == (name, self._reached[name]):
            os.kill(os.getpid(), signal.SIGKILL)


class World(House):
    """The house of a life, with a world outside that outlives it."""

    def __init__(self, folder: Path, kill_at: Kill | None, names: Path | None, down: float) -> None:
        super().__init__(folder, boundaries=KillAt(kill_at, names))
        self.site.approved = frozenset({"destination:ticketing"})
        self.outside.before = {"gate.open": self._open_gate, "webhook": self._receive}
        self.clock = self._clock(down)

    def _clock(self, down: float) -> SimulatedClock:
        file = self.folder / "clock"
        passed = float(file.read_text()) + down if file.exists() else 0.0
        file.write_text(str(passed))
        return SimulatedClock(START + timedelta(seconds=passed), 1000.0 + passed)

    async def _open_gate(self, call: ActionCall) -> None:
        self._outside("relay.log", {"key": call.key, "at": self.clock.now().timestamp()})

    async def _receive(self, call: ActionCall) -> None:
        self._outside("receiver.log", {"key": call.key})

    def _outside(self, name: str, line: dict[str, Any]) -> None:
        with (self.folder / name).open("a") as log:
            log.write(json.dumps(line) + "\n")

    def gate_is_open(self) -> bool:
        return (self.folder / "relay.log").exists()

    async def pass_time(self, seconds: float) -> None:
        """Let time pass; what is due is done by the next drain."""
        passed = (self.clock.now() - START).total_seconds() + seconds
        (self.folder / "clock").write_text(str(passed))
        await self.clock.advance(seconds)


async def prepare(folder: Path) -> None:
    """The database as it is before the story: the workflow is On."""
    world = World(folder, None, None, 0)
    await world.open()
    await world.save(SCENARIO)
    await world.close()


async def live(folder: Path, kill_at: Kill | None, names: Path | None, down: float) -> None:
    """Live until the story has ended. The sources outside are at-least-once: they say again what they said before."""
    world = World(folder, kill_at, names, down)
    await world.open()
    await world.engine.accept(_vehicle())
    for _ in range(ROUNDS):
        await world.engine.drain()
        if await _has_ended(world):
            break
        await _answer(world)
        if await _waits_for_the_gate(world):
            await world.engine.accept(_gate_opened(world.clock.now()))
            await world.engine.drain()
        await world.pass_time(5)
    await world.close()


async def _has_ended(world: World) -> bool:
    found = await world.store.read(select(workflow_runs))
    return bool(found) and all(row["state"] in ENDED for row in found)


async def _answer(world: World) -> None:
    found = await world.store.read(select(workflow_approvals).where(workflow_approvals.c.state == "open"))
    for row in found:
        await world.engine.answer(row["id"], "Let in", "user:gerda")


async def _waits_for_the_gate(world: World) -> bool:
    query = select(workflow_run_steps).where(
        workflow_run_steps.c.kind == "wait_for", workflow_run_steps.c.status == "waiting"
    )
    return world.gate_is_open() and bool(await world.store.read(query))


def _vehicle() -> Event:
    payload = {"zone": "apron", "seconds": 5, "label": "car"}
    return Event("vehicle", "detect.vehicle_in_zone", "detector", Provenance.SENSOR, START, "cam-1", payload=payload)


def _gate_opened(at: datetime) -> Event:
    return Event(
        "gate-opened", "gate.changed", "relay", Provenance.SENSOR, at, payload={"gate": "main_gate", "to": "open"}
    )


# -- faults that the matrix must find ----------------------------------------------------------------------------------
def skip_the_intent() -> None:
    """A build that acts without having committed its intent."""

    async def nothing(self: Commits, *told: object) -> None:
        return None

    Commits.intent = nothing  # type: ignore[method-assign, assignment]


def repeat_what_moves() -> None:
    """A build that sends a move again when it finds no result of it."""
    act = Acting.act

    async def again(self: Acting, run: Any, step: Any, path: str, intent: Intent | None) -> Any:
        retried = None if intent is None else Intent(Repeat.KEYED_RETRY, intent.attempts)
        return await act(self, run, step, path, retried)

    Acting.act = again  # type: ignore[method-assign]


FAULTS = {"skip_the_intent": skip_the_intent, "repeat_what_moves": repeat_what_moves}
