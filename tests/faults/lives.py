"""Real processes that are stopped for an hour (SIGSTOP), or lose their power for one (SIGKILL, and a machine that starts anew), at the worst moments
after a guard has said "Let in". Prints what the world saw, as JSON.

Run as a program of its own (`python -m tests.faults.lives`). It imports everything once and forks each life. The hour is told by a file that the
clock of a life reads: how far its clocks are ahead of the machine's, and which start of the machine this is.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from siteward.core import clock as clocks
from siteward.core.clock import SystemClock
from siteward.core.errors import TooLate
from siteward.core.plugins.objects import ActionCall
from siteward.core.store.migrate import migrate
from siteward.core.store.schema import alerts, logs, workflow_approvals, workflow_run_steps, workflow_runs
from tests.engine.house import GUARD, House, Looks, Outside, scripted_skills

HOUR = 3600.0
PATIENCE = 60
MOMENTS = ("answer.committed", "run.woken", "step.begin", "intent.committed", "act.before")
"""From the reply's commit to the last look of whoever sends the move."""
ASKS = """
contract: workflow.v1
name: Gate
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - ask_person: { who: role:guard, message: "A car", replies: [Let in], timeout: 10m }
    Let in:
      - gate.open: { gate: main_gate }
    no_answer: [log: "nobody answered"]
"""
WAITS = """
contract: workflow.v1
name: Waits
limits: { cooldown: 0s }
when:
  detect.vehicle_in_zone: { cameras: [yard], zone: apron }
then:
  - wait: 30m
  - log: "waited"
"""
ROUNDS = """
contract: workflow.v1
name: Rounds
limits: { cooldown: 0s }
when:
  schedule: { every: 15m }
then:
  - log: "round"
"""


class Told(SystemClock):
    """The machine's clocks as a file tells them."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def _ahead(self) -> tuple[float, float]:
        wall, boot = json.loads(self._file.read_text())
        return wall, boot

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self._ahead()[0])

    def since_boot(self) -> float:
        return super().since_boot() + self._ahead()[1]


def tell(file: Path, wall: float, boot: float) -> None:
    """Set a life's clocks this far ahead, in one write."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps([wall, boot]))
    new.replace(file)


class Moment:
    """Sends this process a signal when it comes to a moment for the first time after the guard's word."""

    def __init__(self, name: str | None, number: signal.Signals) -> None:
        self._name = name
        self._number = number
        self.armed = False

    def reach(self, name: str) -> None:
        if self.armed and name == self._name:
            self.armed = False
            os.kill(os.getpid(), self._number)


class Home(House):
    """The house of a life. Its gate is as careful as a real driver: it looks at `send_by` last of all."""

    def __init__(self, folder: Path, moment: Moment) -> None:
        super().__init__(folder, boundaries=moment)
        self.clock = Told(folder / "clock.json")  # type: ignore[assignment]
        self.moment = moment
        self.outside.before = {"gate.open": self._open}

    async def _open(self, call: ActionCall) -> None:
        if call.send_by is not None and self.clock.since_boot() > call.send_by:
            raise TooLate("Nothing was sent.")
        with (self.folder / "relay.log").open("a") as log:
            log.write(f"{self.clock.now().isoformat()}\n")


async def let_in(folder: Path, moment: Moment) -> None:
    """A car comes and the guard lets it in."""
    home = Home(folder, moment)
    await home.open()
    await home.save(ASKS)
    await home.happens(home.vehicle())
    (question,) = await home.rows(workflow_approvals)
    moment.armed = True
    await home.engine.answer(question["id"], "Let in", GUARD)
    await home.engine.drain()
    await home.close()


async def next_start(folder: Path) -> None:
    """The host is there again, and does what is left."""
    home = Home(folder, Moment(None, signal.SIGKILL))
    await home.open()
    await home.engine.drain()
    await home.close()


async def idle(folder: Path, moment: Moment) -> None:
    """Nothing happens for an hour, and nobody drains: the engine's own timer does what is due then."""
    clocks.RECHECK_SECONDS = 0.05
    home = Home(folder, moment)
    await home.open()
    for text in (ASKS, WAITS, ROUNDS):
        await home.save(text)
    for camera in ("cam-1", "cam-2"):
        await home.engine.accept(home.vehicle(camera=camera))
    await come_to(home, ["waiting", "waiting"])
    moment.armed = True
    moment.reach("idle")
    await come_to(home, ["done", "done", "done"])
    await home.close()


async def come_to(home: Home, states: list[str]) -> None:
    """Return once the runs stand so, or soon after that cannot be."""
    for _ in range(1000):
        if await home.states() == states:
            return
        await asyncio.sleep(0.01)


def fork(live: Callable[[], Any]) -> int:
    """Begin a life in a process of its own."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(PATIENCE)
        code = 1
        try:
            asyncio.run(live())
            code = 0
        finally:
            os._exit(code)
    return pid


def frozen(folder: Path, story: Callable[[Path, Moment], Any], moment: str) -> str:
    """A life that is stopped at a moment and goes on an hour later."""
    pid = fork(lambda: story(folder, Moment(moment, signal.SIGSTOP)))
    _, status = os.waitpid(pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        return f"was not stopped: {status}"
    tell(folder / "clock.json", HOUR, HOUR)
    os.kill(pid, signal.SIGCONT)
    _, status = os.waitpid(pid, 0)
    return "ended" if status == 0 else f"ended with {status}"


def power_cut(folder: Path, moment: str, wall: float) -> str:
    """A life that ends at a moment, and the next one on a machine that was started anew; its wall clock is `wall` ahead then."""
    pid = fork(lambda: let_in(folder, Moment(moment, signal.SIGKILL)))
    _, status = os.waitpid(pid, 0)
    if not os.WIFSIGNALED(status):
        return f"was not killed: {status}"
    # Another start of the machine: it counts in another range, here behind the one before.
    tell(folder / "clock.json", wall, -5 * clocks.RANGE_SECONDS)
    _, status = os.waitpid(fork(lambda: next_start(folder)), 0)
    return "ended" if status == 0 else f"ended with {status}"


async def _seen(folder: Path) -> Mapping[str, Any]:
    home = House(folder)
    await home.open()
    relay = folder / "relay.log"
    seen = {
        "opened": len(relay.read_text().splitlines()) if relay.exists() else 0,
        "states": sorted(await home.states()),
        "moves": [row["status"] for row in await home.rows(workflow_run_steps) if row["kind"] == "gate.open"],
        "questions": [row["state"] for row in await home.rows(workflow_approvals)],
        "logged": sorted(row["message"] for row in await home.rows(logs)),
        "alerts": sorted(row["title"] for row in await home.rows(alerts) if row["kind"] == "engine"),
        "running": [row["id"] for row in await home.rows(workflow_runs) if row["state"] == "running"],
    }
    await home.close()
    return seen


def main() -> None:
    """Run every life, and print what the world and the rows say of each."""
    with tempfile.TemporaryDirectory() as root:
        scripted_skills(Outside(), Looks())
        migrate(f"{root}/first.db")
        told: dict[str, Any] = {}

        def one(name: str, live: Callable[[Path], str]) -> None:
            folder = Path(root, name)
            folder.mkdir()
            tell(folder / "clock.json", 0.0, 0.0)
            ended = live(folder)
            told[name] = {"ended": ended, **asyncio.run(_seen(folder))}

        one(
            "undisturbed",
            lambda folder: str(os.waitpid(fork(lambda: let_in(folder, Moment(None, signal.SIGSTOP))), 0)[1]),
        )
        one("frozen-idle", lambda folder: frozen(folder, idle, "idle"))
        for moment in MOMENTS:
            one(f"frozen-{moment}", lambda folder, at=moment: frozen(folder, let_in, at))  # type: ignore[misc]
            one(f"cut-{moment}", lambda folder, at=moment: power_cut(folder, at, HOUR))  # type: ignore[misc]
            # A box without a clock of its own goes on where it stood.
            one(f"cut-clockless-{moment}", lambda folder, at=moment: power_cut(folder, at, 5.0))  # type: ignore[misc]
        json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
