"""Lives of a host in which one run, or one event, kills the process each time it is taken up. Prints how many lives it took until one ended by itself,
and what the rows say then, as JSON.

Run as a program of its own (`python -m tests.faults.deadly run`, or `event`). It imports everything once and forks each life.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import sys
import tempfile
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from siteward.core.engine import rows
from siteward.core.engine.seam import Outcome
from siteward.core.plugins.objects import ActionCall
from siteward.core.store.migrate import migrate
from siteward.core.store.schema import alerts, events, logs, workflow_runs
from siteward.sdk.simulated_clock import START, SimulatedClock
from tests.engine.house import House, Looks, Outside, scripted_skills

from .lives import fork

MANY_LIVES = 20
INNOCENT = 12
DEADLY = """
contract: workflow.v1
name: Deadly
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - log: "before"
  - wait: 5s
"""
GOOD = """
contract: workflow.v1
name: Good
limits: { cooldown: 0s, one_at_a_time: track }
when:
  detect.vehicle_in_zone: { cameras: [yard], zone: apron }
then:
  - webhook: { to: ticketing, body: { camera: "{camera}" } }
  - log: "told"
"""
PLATES = """
contract: workflow.v1
name: Plates
when:
  event: { type: plate.recognized.v1, cameras: [gate] }
then:
  - log: "plate"
"""


class Kills:
    """A step whose code takes the process with it, as a fault of native code does."""

    async def start(self, step: Any, run: Any) -> Outcome:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    async def resume(self, step: Any, run: Any, wake: Any) -> Outcome:
        raise AssertionError


def home(folder: Path, kind: str, life: int) -> House:
    """The house of a life; each begins a minute after the one before."""
    house = House(folder)
    house.clock = SimulatedClock(START + timedelta(minutes=life), 1000.0 + 60 * life)
    house.site.approved = frozenset({"destination:ticketing"})
    if kind == "run":
        house.host_steps = {**house.host_steps, "wait": Kills()}
        return house
    triggers = dict(house.skills.triggers)

    def kills(settings: Any, event: Any) -> bool:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    triggers["event"] = dataclasses.replace(triggers["event"], matches=kills)
    house.skills = dataclasses.replace(house.skills, triggers=triggers)
    return house


async def begin(folder: Path, kind: str) -> None:
    """Everything is under way when the process dies for the first time."""
    house = home(folder, kind, 0)
    await house.open()
    begun = 0

    async def waits(call: ActionCall) -> None:
        nonlocal begun
        begun += 1
        if begun == INNOCENT and kind == "run":
            await house.engine.accept(house.vehicle())
        elif begun == INNOCENT:
            await house.store.submit(rows.new_event(house.plate("B AA 1"), house.clock.now().timestamp()))
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.Event().wait()

    house.outside.before["webhook"] = waits
    for text in (DEADLY, GOOD, PLATES):
        await house.save(text)
    for number in range(INNOCENT):
        await house.engine.accept(house.vehicle(camera="cam-2", track=f"t{number}"))
    await asyncio.sleep(30)


async def again(folder: Path, kind: str, life: int) -> None:
    """A start of the host after a death: it does what is left, if it lives so long."""
    house = home(folder, kind, life)
    await house.open()
    for number in range(3):
        await house.engine.drain()
        await house.happens(house.vehicle(camera="cam-3", id=f"later-{life}-{number}", track="x"))
    await house.close()


async def _seen(folder: Path) -> dict[str, Any]:
    house = House(folder)
    await house.open()
    names = {"Deadly": [], "Good": [], "Plates": []}  # type: dict[str, list[str]]
    for row in await house.rows(workflow_runs):
        names[house.engine.catalog.get(row["workflow_id"]).name].append(row["state"])
    seen = {
        **names,
        "alerts": [row["title"] for row in await house.rows(alerts) if row["kind"] == "engine"],
        "unmatched": [row["id"] for row in await house.rows(events) if row["matched"] is None],
        "logged": sorted(row["message"] for row in await house.rows(logs)),
    }
    await house.close()
    return seen


def main(kind: str) -> None:
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        scripted_skills(Outside(), Looks())
        migrate(f"{root}/first.db")
        lives, status = 1, os.waitpid(fork(partial(begin, folder, kind)), 0)[1]
        while os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL and lives < MANY_LIVES:
            lives, status = lives + 1, os.waitpid(fork(partial(again, folder, kind, lives)), 0)[1]
        json.dump({"lives": lives, "ended": status == 0, **asyncio.run(_seen(folder))}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
