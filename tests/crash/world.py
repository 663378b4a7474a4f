"""One life of the host in a process that may be killed: an engine, the world outside it, and people.

What happened outside is kept by the world itself, in files that the engine never reads: `outside.log` (each call of an action, with the time and
with what the engine had on the disk about it), `said.log` (each reply that a person gave), `acks` (each event that a source was told is accepted), `lives.log` (when each life began, and the intents that it
found). The sources are at-least-once: what is not acknowledged they say again.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import select

from siteward.core.contract.manifest_data import shipped_registry
from siteward.core.contract.registry import (
    ActionSpec,
    Field,
    FieldType,
    Moves,
    Provenance,
    Registry,
    Repeat,
    SiteView,
    StepKindSpec,
)
from siteward.core.engine.seam import RunState
from siteward.core.errors import Conflict, EgressRefused, TooLate, Unreachable
from siteward.core.events.event import Event
from siteward.core.plugins.objects import ActionCall, Host, StepKind, ThirdPartyStep
from siteward.core.plugins.registry import Loaded
from siteward.core.store.errors import CommitFailed
from siteward.core.store.schema import workflow_run_steps
from siteward.sdk.simulated_clock import START
from tests.crash.clock import StoryClock, wall
from tests.crash.databases import reader
from tests.crash.deaths import KillAt
from tests.crash.scenarios import Answer, Coming, Scenario
from tests.engine.house import House, Looks, Outside, Site, scripted_skills

ENDED = frozenset(RunState) - {RunState.RUNNING, RunState.WAITING}
ROUNDS = 400
UNFINISHED = 3
"""What a life exits with that stood still before the end of its story."""
MOVERS = frozenset({"gate.open", "gate.close", "siren", "site_mode"})
TELLS = frozenset({"destination:ticketing"})
GATE = Coming("", 0, "gate.changed", None, {"gate": "main_gate", "to": "open"})
Planned = tuple[Mapping[str, Any], Answer, float]
"""An open question, what somebody will say to it, and when."""


class CrashSite(Site):
    """The site of the stories: a gate, a lock behind a webhook, a line to speak over."""

    def view(self, saver: str | None) -> SiteView:
        seen = super().view(saver)
        return dataclasses.replace(seen, roles={**seen.roles, "destination": frozenset({"ticketing", "lock"})})


@cache
def registry() -> Registry:
    """The shipped vocabulary, with a snapshot and a measurement: an action and a third party's step that only look."""
    shipped = shipped_registry()
    snapshot = ActionSpec(
        *("world.snapshot", "world", Repeat.RERUN, Moves.NO), fields=(Field("camera", FieldType.TEXT, required=True),)
    )
    measure = StepKindSpec("world.measure", "world", fields=(Field("of", FieldType.TEXT, required=True),))
    return dataclasses.replace(
        shipped,
        actions={**shipped.actions, snapshot.name: snapshot},
        step_kinds={**shipped.step_kinds, measure.name: measure},
    )


async def _measure(settings: Mapping[str, Any], host: Host) -> ThirdPartyStep:
    return ThirdPartyStep(None)


def skills(outside: Outside, looks: Looks) -> Loaded:
    """The scripted skills of a life."""
    scripted = scripted_skills(outside, looks, registry())
    return dataclasses.replace(scripted, step_kinds={"world.measure": StepKind("world.measure", _measure)})


def lines(file: Path) -> list[dict[str, Any]]:
    """What a log of the world says."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


class World(House):
    """The house of a life, with a world outside that outlives it."""

    def __init__(self, place: Path, scenario: Scenario, boundaries: KillAt) -> None:
        super().__init__(place, boundaries=boundaries, url=(place / "url").read_text())
        self.scenario = scenario
        self.site: Site = CrashSite(
            approved=TELLS, lists={"residents": [{"plate": "AB 12"}]}, mode="disarmed", fresh=60.0
        )
        self.skills = skills(self.outside, self.looks)
        self.outside.before = dict.fromkeys(registry().actions, self._act)
        self.clock: StoryClock = StoryClock(place / "clock")
        boundaries.thawed = self.clock.look
        self._told = lines(place / "lives.log")
        # No two lives draw the same numbers.
        self._seeds = itertools.count(1 + len(self._told))
        self._reads = reader(str(self.url))

    # -- a life --------------------------------------------------------------------------------------------------------
    async def begin(self) -> None:
        """Write down what the last life left, and open."""
        times = self.clock.times
        steps = workflow_run_steps
        with self._reads.connect() as connection:
            found = connection.execute(
                select(steps.c.run_id, steps.c.path, steps.c.result).where(steps.c.status == "intent")
            )
            left = [{"key": f"{row.run_id}:{row.path}", "repeat": json.loads(row.result)["repeat"]} for row in found]
        self._write("lives.log", {**dataclasses.asdict(times), "left": left})
        await self.open()

    async def live(self) -> bool:
        """Live until the story has ended; whether it did."""
        for _ in range(ROUNDS):
            busy = not await self._settled()
            planned = await self._planned()
            busy |= await self._sources()
            busy |= await self._people(planned)
            if busy:
                continue
            if (seconds := await self._until_something(planned)) is None:
                return not await self._alive()
            await self.clock.advance(seconds)
        return False

    async def _settled(self) -> bool:
        """Let everything be done that is to be done now. False where a commit gave no answer, and it is to be looked at again."""
        try:
            await self.engine.drain()
        except CommitFailed:
            return False
        return True

    async def _alive(self) -> bool:
        alive = await self.store.fetch(
            "SELECT count(*) AS alive FROM workflow_runs WHERE state IN ('running', 'waiting')"
        )
        return bool(alive[0]["alive"])

    async def _until_something(self, planned: Sequence[Planned]) -> float | None:
        """How long it is to the next thing that happens; None where nothing will."""
        times = self.clock.times
        until = START.timestamp() + self.scenario.until
        due = await self.store.fetch(
            "SELECT min(due_at) AS due FROM waits WHERE state = 'open' AND due_at IS NOT NULL AND kind <> 'rehearsal' "
            "AND (kind <> 'schedule' OR due_at <= :until)",
            {"until": until},
        )
        moments = [coming.after - times.true for coming in self._comings() if not self._is_acknowledged(coming.id)]
        if due[0]["due"] is not None:
            moments.append(due[0]["due"] - self.clock.now().timestamp())
        moments += [at - times.true for _, _, at in planned]
        return max(0.0, min(moments)) if moments else None

    # -- sources -------------------------------------------------------------------------------------------------------
    def _comings(self) -> Iterator[Coming]:
        """What the sources tell: what the scenario says, and the gate's own contact."""
        yield from self.scenario.comings
        opened = (line for line in lines(self.folder / "outside.log") if line["action"] == "gate.open")
        for number, line in enumerate(opened):
            yield dataclasses.replace(GATE, id=f"gate-{number}", after=line["true"])

    def _is_acknowledged(self, id: str) -> bool:
        file = self.folder / "acks"
        return file.exists() and id in file.read_text().splitlines()

    async def _sources(self) -> bool:
        told = False
        for coming in list(self._comings()):
            if coming.after > self.clock.times.true or self._is_acknowledged(coming.id):
                continue
            told = True
            try:
                await self.engine.accept(_event(coming))
                if self.scenario.tried:
                    await self._try(coming.id)
            except CommitFailed:
                continue
            with (self.folder / "acks").open("a") as acks:
                acks.write(f"{coming.id}\n")
        return told

    async def _try(self, event_id: str) -> None:
        """The event is tried too, by who would turn the workflow On."""
        (workflow,) = await self.store.fetch("SELECT id FROM workflows")
        await self.engine.try_workflow(workflow["id"], [event_id])

    # -- people --------------------------------------------------------------------------------------------------------
    async def _planned(self) -> list[Planned]:
        """The open questions that somebody will answer, and at which true second of the story."""
        found = await self.store.fetch(
            "SELECT id, camera, rehearsal FROM workflow_approvals WHERE state = 'open' ORDER BY asked_at"
        )
        asked = [(row, self.scenario.answers[row["camera"]]) for row in found if row["camera"] in self.scenario.answers]
        return [
            (row, answer, self._seen(row["id"]) + answer.after)
            for row, answer in asked
            if not (row["rehearsal"] and self._is_acknowledged(row["id"]))
        ]

    def _seen(self, approval_id: str) -> float:
        """When people saw a question, which they do as soon as it is there; in true seconds of the story."""
        for line in lines(self.folder / "seen.log"):
            if line["approval"] == approval_id:
                return float(line["true"])
        self._write("seen.log", {"approval": approval_id, "true": self.clock.times.true})
        return self.clock.times.true

    async def _people(self, planned: Sequence[Planned]) -> bool:
        answered = False
        for row, answer, at in planned:
            if at > self.clock.times.true:
                continue
            answered = True
            said = {"approval": row["id"], "reply": answer.reply, "true": self.clock.times.true}
            self._write("said.log", said)
            try:
                await self.engine.answer(row["id"], answer.reply, answer.by, rehearsal=bool(row["rehearsal"]))
            except (Conflict, CommitFailed):  # they see the question again, if it is still there
                continue
            if row["rehearsal"]:
                with (self.folder / "acks").open("a") as acks:
                    acks.write(f"{row['id']}\n")
        return answered

    # -- what acts -----------------------------------------------------------------------------------------------------
    async def _act(self, call: ActionCall) -> None:
        """Something outside is told to act: it refuses what comes too late, as every mover must, and writes down the rest."""
        times, said = self.clock.times, call.arguments
        if call.send_by is not None and times.boot > call.send_by:
            raise TooLate("What allowed this is too old.")
        name = " ".join(str(value) for field, value in said.items() if field not in ("to", "who"))
        answer = self._answer(name)
        self._write(
            "outside.log",
            {
                "key": call.key,
                "run": call.run_id,
                "path": call.step_path,
                "action": call.action,
                "moves": call.action in MOVERS
                or (call.action == "webhook" and f"destination:{said['to']}" not in TELLS),
                "name": name,
                "answer": answer,
                "on_disk": self._on_disk(call.run_id, call.step_path),
                **dataclasses.asdict(times),
            },
        )
        if answer == "unreachable":
            raise Unreachable("The receiver does not answer.")
        if answer == "refused":
            raise EgressRefused("The receiver is not to be reached.")

    def _answer(self, name: str) -> str:
        if name in self.scenario.refuses:
            return "refused"
        failed = sum(1 for line in lines(self.folder / "outside.log") if line["name"] == name)
        return "unreachable" if failed < self.scenario.fails.get(name, 0) else "done"

    def _on_disk(self, run_id: str, path: str) -> str | None:
        """What another program finds about the step at this moment."""
        steps = workflow_run_steps
        with self._reads.connect() as connection:
            found = connection.execute(select(steps.c.status).where(steps.c.run_id == run_id, steps.c.path == path))
            status = found.scalar()
        return None if status is None else str(status)

    def _write(self, name: str, line: dict[str, Any]) -> None:
        with (self.folder / name).open("a") as log:
            log.write(json.dumps(line) + "\n")


async def prepare(place: Path, scenario: Scenario) -> None:
    """The database as it is before the story: the workflows are there."""
    world = World(place, scenario, KillAt(None))
    await world.open()
    for text in scenario.workflows:
        await world.save(text, scenario.state)
    await world.close()


async def live(place: Path, scenario: Scenario, boundaries: KillAt) -> bool:
    """One life; whether the story has ended."""
    world = World(place, scenario, boundaries)
    await world.begin()
    ended = await world.live()
    await world.close()
    return ended


def _event(coming: Coming) -> Event:
    at: datetime = wall(coming.after)
    return Event(
        coming.id, coming.type, "source", Provenance(coming.provenance), at, coming.camera, payload=dict(coming.payload)
    )
