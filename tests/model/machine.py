"""One site, lived through twice at once: by the engine over a database, and by the reference."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from siteward.core.contract.document import State
from siteward.core.contract.problems import Report
from siteward.core.contract.registry import Provenance, Registry, SiteView
from siteward.core.contract.validate import validate
from siteward.core.engine.waits import AlreadyAnswered
from siteward.core.errors import ConfigurationInvalid, Conflict, NotAllowed, NotFound
from siteward.core.events.event import Event
from tests.engine.house import GUARD, House

from .language import GATE_CHANGED, SIGHTING, Program, Sighting, render
from .mortal import MortalHouse
from .orders import Deed, TooMany, every_end, every_moment
from .reference import Reference
from .seen import in_order, of_house, of_reference
from .things import Key, Workflow

STRANGER = "user:stranger"


class Thing(NamedTuple):
    """Something that happens, to the engine and to the reference. Two with one name do the same."""

    name: tuple[object, ...]
    work: Callable[[], Awaitable[object]]
    deed: Deed
    may_lose: bool = False
    """Whoever does it is told to look again where something else happened at once."""


@dataclass(frozen=True, slots=True)
class Dies:
    """The process dies at its `count`-th write or act, which comes about (`kept`) or not, and is `down` for some seconds."""

    count: int
    kept: bool
    down: float


class Known:
    """What was found out once and holds for every life of the same story: which files are valid, and what may come of what."""

    def __init__(self) -> None:
        self._reports: dict[tuple[str, bool], Report] = {}
        self._ends: dict[tuple[object, ...], list[Reference]] = {}

    def validate(self, text: str, registry: Registry, site: SiteView | None) -> Report:
        """The validator's report."""
        key = (text, site is None)
        if key not in self._reports:
            self._reports[key] = validate(text, registry, site)
        return self._reports[key]

    def ends(self, before: Reference, things: Sequence[Thing]) -> list[Reference]:
        """What may come of things at once. Raises `TooMany`."""
        key = (before.fingerprint(), *(thing.name for thing in things))
        if key not in self._ends:
            try:
                self._ends[key] = self._every_end(before, things)
            except TooMany:
                self._ends[key] = []
        if not self._ends[key]:
            raise TooMany
        return self._ends[key]

    def _every_end(self, before: Reference, things: Sequence[Thing]) -> list[Reference]:
        ends = every_end(before, [thing.deed for thing in things])
        if len(things) > 1 and any(thing.may_lose for thing in things):
            ends += every_end(before, [thing.deed for thing in things if not thing.may_lose])
        return ends


class Twins:
    """The engine and the reference, kept at the same point. Only a `MortalHouse` can die."""

    def __init__(self, house: House, known: Known | None = None) -> None:
        self.house = house
        self._known = Known() if known is None else known
        house.validate = self._known.validate
        self.ids: list[str] = []
        self.reference = Reference(house.clock.now().timestamp())

    async def open(self, programs: Sequence[Program]) -> None:
        """The site with its workflows On."""
        await self.house.open()
        for program in programs:
            self.ids.append(await self.house.save(render(program)))
            self.reference.workflows.append(Workflow(program))

    async def close(self) -> None:
        await self.house.close()

    async def does(self, things: Sequence[Thing], dies: Dies | None = None, before: Reference | None = None) -> None:
        """Let things happen at once, and compare. The reference goes on from `before`, where something of the world happened first. What could
        end in too many ways is left out; where a death could leave too much, nobody dies."""
        before = before or self.reference
        try:
            ends = self._known.ends(before, things)
        except TooMany:
            return
        left_behind: list[Reference] = []
        if dies is not None:
            try:
                left_behind = _after_death(every_moment(before, [thing.deed for thing in things]), dies)
            except TooMany:
                dies = None
        together = self._together([thing.work for thing in things])
        if dies is None:
            await together
        elif await self._dies_in(together, dies):
            ends = left_behind
        await self._agree(ends)

    async def _together(self, works: Sequence[Callable[[], Awaitable[object]]]) -> None:
        await asyncio.gather(*(work() for work in works))
        await self.house.engine.drain()

    async def _dies_in(self, work: Awaitable[None], dies: Dies) -> bool:
        assert isinstance(self.house, MortalHouse)
        if not await self.house.dies_in(work, dies.count, kept=dies.kept):
            return False
        await self.house.clock.advance(dies.down)
        await self.house.open()
        await self.house.engine.drain()
        return True

    async def _agree(self, ends: Sequence[Reference]) -> None:
        """The engine came to one of the ends that the reference allows; from here on it is the reference."""
        seen = await of_house(self.house, self.ids)
        pictures = [(end, of_reference(end)) for end in ends]
        for end, picture in pictures:
            if picture == seen:
                self.reference = end
                return
        nearest = min((seen.differences(picture) for _, picture in pictures), key=len)
        raise AssertionError(
            f"None of {len(ends)} ends that are allowed; the nearest differs in\n" + "\n".join(nearest)
        )

    # -- what can happen -----------------------------------------------------------------------------------------------
    def seeing(self, one: Sighting) -> Thing:
        """A sighting arrives."""
        known = {"plate": one.plate, "track": one.track}
        payload = {name: value for name, value in known.items() if value is not None}
        event = self.house.event(SIGHTING, payload, camera=one.camera, picture=one.picture)
        work = partial(self.house.engine.accept, replace(event, id=one.id))
        return Thing(("sees", one), work, lambda site: site.accept(one))

    async def answering(self, key: Key, reply: str) -> Thing:
        """A reply to the newest question of a run."""
        approval = await self._newest_question(key)
        work = partial(self.house.engine.answer, approval, reply, GUARD)
        told = partial(_unless, work, AlreadyAnswered)
        return Thing(("answers", key, reply), told, lambda site: site.answer(key, reply))

    async def cancelling(self, key: Key) -> Thing:
        """A person ends a run."""
        work = partial(self.house.engine.cancel, (await self._runs())[key], GUARD)
        told = partial(_unless, work, NotFound, Conflict)
        ends = partial(Reference.cancel, key=key, reason="cancelled by gerda")
        return Thing(("cancels", key), told, ends, may_lose=True)

    def switching(self, place: int, state: str) -> Thing:
        """Off, Test or On."""
        work = partial(self.house.engine.set_state, self.ids[place], State(state), "user:admin")
        return Thing(("switches", place, state), work, lambda site: site.switch(place, state))

    def editing(self, place: int, program: Program) -> Thing:
        """A new version is saved."""
        work = partial(self.house.engine.save_workflow, render(program), "user:admin", self.ids[place])
        return Thing(("edits", place, program), work, lambda site: site.edit(place, program))

    def _changing(self, event_id: str, to: str) -> Thing:
        payload = {"gate": "main_gate", "to": to}
        event = Event(event_id, GATE_CHANGED, "relay", Provenance.SENSOR, self.house.clock.now(), payload=payload)
        work = partial(self.house.engine.accept, event)
        return Thing(("changes", event_id, to), work, lambda site: site.gate_changes(event_id, to))

    async def gate_changes(self, event_id: str, to: str, dies: Dies | None = None) -> None:
        """The gate tells; not in the same instant in which somebody begins to wait for it."""
        await self.passes(1)
        await self.does([self._changing(event_id, to)], dies)
        await self.passes(1)

    async def passes(self, seconds: float, dies: Dies | None = None) -> None:
        """Time passes."""
        # The clock is the world's and goes on, whoever dies at what falls due.
        before = self.reference.clone()
        before.passes(seconds)
        await self.does([self._of_the_world(partial(self.house.clock.advance, seconds))], dies, before)

    def _of_the_world(self, work: Callable[[], Awaitable[object]]) -> Thing:
        return Thing(("world",), work, lambda site: None)

    async def restarts(self, down: float) -> None:
        """The host is stopped and started again, after a while."""
        before = self.reference.clone()
        before.passes(down)
        await self.does([self._of_the_world(partial(self._restart, down))], before=before)

    async def _restart(self, down: float) -> None:
        await self.house.close()
        await self.house.clock.advance(down)
        await self.house.open()

    def mode_is(self, mode: str) -> None:
        """Somebody puts the site into a mode."""
        self.house.site.mode = self.reference.mode = mode

    async def answers_wrongly(self, key: Key) -> None:
        """By a stranger, and with a word that is no reply: refused each."""
        approval = await self._newest_question(key)
        for reply, by, error in (("Let in", STRANGER, NotAllowed), ("Open sesame", GUARD, ConfigurationInvalid)):
            with contextlib.suppress(error):
                await self.house.engine.answer(approval, reply, by)
                raise AssertionError(f"{by} answered {reply}")
        await self.does([])

    # -- who is who ----------------------------------------------------------------------------------------------------
    async def _runs(self) -> dict[Key, str]:
        places = {workflow_id: place for place, workflow_id in enumerate(self.ids)}
        found = await self.house.store.fetch("SELECT id, event_id, workflow_id FROM workflow_runs")
        return {(row["event_id"], places[row["workflow_id"]]): row["id"] for row in found}

    async def _newest_question(self, key: Key) -> str:
        run_id = (await self._runs())[key]
        asked = await in_order(self.house, "workflow_approvals", f"t.run_id = '{run_id}'")
        return str(asked[-1]["id"])


async def _unless(work: Callable[[], Awaitable[object]], *errors: type[Exception]) -> None:
    """Somebody else was first, or it is too late: the reference says whether that may be."""
    with contextlib.suppress(*errors):
        await work()


def _after_death(moments: Sequence[Reference], dies: Dies) -> list[Reference]:
    """What may be there once a new process has taken up what each moment left. Raises `TooMany`."""
    ends: dict[Any, Reference] = {}
    for moment in moments:
        for left in moment.died():
            left.passes(dies.down)
            for end in every_end(left, []):
                ends[end.fingerprint()] = end
    return list(ends.values())
