"""One process of a site in a life of its own: an engine, or the web process that takes events and answers questions. It may be killed or frozen.

What happened outside is kept outside, in `relay.log`: each opening of the gate, with the key, the time, and when what allowed it was given. Run as
`python -m tests.replicas.life NAME URL FOLDER EVENTS`; the name `web` makes the web process, which accepts EVENTS events.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from sqlalchemy import select

from siteward.core.clock import SystemClock
from siteward.core.contract.registry import Provenance
from siteward.core.engine.waits import AlreadyAnswered
from siteward.core.events.event import Event
from siteward.core.plugins.objects import ActionCall
from siteward.core.shared_clock import SharedClock
from siteward.core.store.errors import CommitFailed, ReadFailed
from siteward.core.store.schema import workflow_approvals
from tests.engine.house import GUARD, House

WEB = "web"
STORY = """
contract: workflow.v1
name: Gate
limits: { cooldown: 0s, per_hour: 100000, one_at_a_time: plate }
when:
  event: { type: plate.recognized.v1, cameras: [gate] }
if:
  - in_list: { value: "{plate}", list: residents }
then:
  - webhook: { to: ticketing, body: { plate: "{plate}" } }
  - gate.open: { gate: main_gate }
  - log: "in {plate}"
always:
  - log: "over {plate}"
"""
ASKING = """
contract: workflow.v1
name: Ask
limits: { cooldown: 0s, per_hour: 100000, one_at_a_time: plate }
when:
  event: { type: plate.recognized.v1, cameras: [yard] }
then:
  - ask_person: { who: role:guard, message: "A car", replies: [Let in], timeout: 10m }
    Let in:
      - webhook: { to: ticketing, body: { plate: "{plate}" } }
      - gate.open: { gate: main_gate }
      - log: "in {plate}"
always:
  - log: "over {plate}"
"""
ACT_SECONDS = 0.01
BETWEEN_SECONDS = 0.01


class Life(House):
    """The house of one process. Every third plate is asked about, the others may come in."""

    def __init__(self, name: str, url: str, folder: Path) -> None:
        super().__init__(folder, url=url, replica=name, drives=name != WEB)
        self.site.approved = frozenset({"destination:ticketing"})
        self.site.lists = {"residents": [{"plate": f"P{number}"} for number in range(10_000)]}
        self.outside.before = {"gate.open": self._open_gate, "webhook": self._receive}

    async def _open_gate(self, call: ActionCall) -> None:
        await asyncio.sleep(ACT_SECONDS / 2)
        late = call.send_by is not None and self.clock.since_boot() > call.send_by
        self._outside("relay.log", {"key": call.key, "late": late, "run": call.run_id, "by": self.replica})
        await asyncio.sleep(ACT_SECONDS / 2)

    async def _receive(self, call: ActionCall) -> None:
        self._outside("receiver.log", {"key": call.key, "run": call.run_id})

    def _outside(self, name: str, line: dict[str, object]) -> None:
        file = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, json.dumps(line).encode() + b"\n")
        os.close(file)


async def live(name: str, url: str, folder: Path, count: int) -> None:
    """Live until killed; the web process until all its questions are answered and a file `over` is there."""
    life = Life(name, url, folder)
    store = await life.open_store()
    life.clock = await SharedClock.agreed(SystemClock(), store)  # type: ignore[assignment]
    await store.close()
    await life.open()
    if name == WEB:
        await asyncio.gather(_events(life, count), _answers(life))
    while not (folder / "over").exists():  # noqa: ASYNC110 (another process says it)
        await asyncio.sleep(0.05)
    await life.close()


async def _events(life: Life, count: int) -> None:
    for number in range(count):
        event = Event(
            f"car-{number}",
            "plate.recognized.v1",
            "lpr",
            Provenance.SENSOR,
            life.clock.now(),
            "cam-2" if number % 3 == 0 else "cam-1",
            payload={"plate": f"P{number}"},
        )
        await life.engine.accept(event)
        await asyncio.sleep(BETWEEN_SECONDS)
    (life.folder / "sent").touch()


async def _answers(life: Life) -> None:
    while not (life.folder / "over").exists():
        try:
            for row in await life.rows(select(workflow_approvals).where(workflow_approvals.c.state == "open")):
                await life.engine.answer(row["id"], "Let in", GUARD)
        except (AlreadyAnswered, CommitFailed, ReadFailed):
            continue
        await asyncio.sleep(0.05)


if __name__ == "__main__":
    _, its_name, its_url, its_folder, events = sys.argv
    asyncio.run(live(its_name, its_url, Path(its_folder), int(events)))
