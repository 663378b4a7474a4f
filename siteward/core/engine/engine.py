"""The engine: takes events in, runs workflows durably, and answers people. Everything that it must remember is in the store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final
from zlib import crc32

from siteward.core.contract.document import State
from siteward.core.contract.registry import Provenance
from siteward.core.engine import rows
from siteward.core.engine.accept import Acceptance
from siteward.core.engine.admission import Admission
from siteward.core.engine.also import Also, nothing_also
from siteward.core.engine.catalog import Catalog
from siteward.core.engine.claims import Claims
from siteward.core.engine.crew import Crew
from siteward.core.engine.deaths import LIMIT, TURN_SECONDS, Deaths
from siteward.core.engine.hints import Hints
from siteward.core.engine.jumps import Jumps
from siteward.core.engine.leases import UPKEEP, Leases
from siteward.core.engine.outage import Outage
from siteward.core.engine.parts import Parts
from siteward.core.engine.pokes import EVENTS, RUNS, WORKFLOWS, Pokes
from siteward.core.engine.rehearsal import Rehearsals
from siteward.core.engine.runner import Drove, Runner
from siteward.core.engine.schedules import Schedules
from siteward.core.engine.seam import JSON
from siteward.core.engine.timer import Timer
from siteward.core.engine.versions import Saved, Versions
from siteward.core.engine.views import Run
from siteward.core.engine.waits import Waits
from siteward.core.errors import SitewardError
from siteward.core.events.event import Event
from siteward.core.store.errors import CommitFailed, LostRace, ReadFailed, StoreClosed
from siteward.core.store.retention import Retention

_log = logging.getLogger(__name__)

SWEEP_SECONDS: Final = 30.0
"""How often the engine looks for what was left: recovery is a loop, not a step of the start."""
LOOK_SECONDS: Final = 3.0
"""How often an engine that is one of several looks for events and runs that nobody told it of."""
STOP_SECONDS: Final = 20.0
"""How long a stop waits for steps that are under way."""


class Engine:
    """Start it, give it events and answers, stop it. Killing it at any moment is as good as stopping it."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.catalog = Catalog(parts)
        self._hints = Hints(parts.alone)
        self._admission = Admission(parts, self.catalog, self._hints)
        self._acceptance = Acceptance(parts, self.catalog, self._admission, self._hints)
        self._claims = Claims(parts, self.catalog)
        self._runner = Runner(parts, self.catalog, self._claims)
        self._waits = Waits(parts, self.catalog)
        self._versions = Versions(parts, self.catalog)
        self._schedules = Schedules(parts, self.catalog, self.accept)
        self._rehearsals = Rehearsals(parts, self.catalog, self._admission, self._waits, self._runner)
        self._retention = Retention(parts.store, parts.clock)
        self._outage = Outage(parts)
        self._jumps = Jumps(parts)
        self._deaths = Deaths(parts)
        self._swept = False
        self._drivers = Crew()
        self._tasks = Crew()
        self._matching: set[str] = set()
        self._again: set[str] = set()
        """Runs that were woken while their driver was about to end."""
        self.leases = None if parts.alone else Leases(parts)
        self._pokes = Pokes(
            parts.store,
            {
                WORKFLOWS: lambda: self._guarded("following", self.follow()),
                EVENTS: lambda: self._guarded("matching", self._match_all_left()),
                RUNS: lambda: self._guarded("taking up", self._pick_up()),
            },
        )
        self._not_ours: set[str] = set()
        """Events that another engine was to match, as of the last look."""
        self._left_by_others: set[str] = set()
        self._timer = Timer(parts.clock, self._next_due, lambda: self._guarded("timer", self.fire_due()))
        self._stopping = False

    # -- life ----------------------------------------------------------------------------------------------------------
    async def start(self) -> None:
        """Take up what the last process left, then wait for what comes."""
        await self._look_at_the_clock()
        if self.leases is not None:
            await self.leases.join()
            self._tasks.start("beat", self.leases.run())
        await self.refresh()
        if self.leases is not None:
            self._listen()
        if self._parts.drives:
            await self.sweep()
            self._tasks.start("timer", self._timer.run())
        self._tasks.start("sweeper", self._sweeper())
        self._tasks.start("retention", self._forgetting())

    def _listen(self) -> None:
        """Hear what the others tell, and look by itself for what was not heard: from when the workflows are known, since an event that is matched
        without them starts nothing."""
        self._pokes.begin()
        self._tasks.start("pokes", self._pokes.run())
        if self._parts.drives:
            self._tasks.start("looker", self._looker())

    async def stop(self) -> None:
        """Start nothing more, let steps under way end, and let go. What still runs is taken up at the next start."""
        self._stopping = True
        joined = self.leases is not None and "beat" in self._tasks
        await self._pokes.end()
        await self._tasks.stop(0, but={"beat"})
        await self._drivers.stop(STOP_SECONDS)
        await self._tasks.stop(0)
        if self.leases is not None and joined:
            await self._guarded("leave", self.leases.leave())
            self._parts.store.notify(RUNS)

    async def refresh(self) -> None:
        """Look again at what is provided and mapped: after an integration came or went, or roles changed."""
        await self.catalog.refresh(says=self._keeps_up)
        self._claims.stranded.clear()
        await self._keep_schedules()

    async def follow(self) -> None:
        """Take over what other processes of the site saved or switched."""
        if await self.catalog.follow():
            await self._keep_schedules()

    async def _keep_schedules(self) -> None:
        if self._parts.drives:
            await self._schedules.keep()
            self._timer.look()

    @property
    def _keeps_up(self) -> bool:
        """Whether this process does what one of them does for all."""
        return self.leases is None or self.leases.holds(UPKEEP)

    async def look(self) -> None:
        """Read the workflows and write nothing: for a command beside a running engine."""
        if self.leases is not None:
            # What it tries is its own: no engine takes that for left behind.
            await self.leases.join()
            self._tasks.start("beat", self.leases.run())
        await self.catalog.refresh(says=False)

    async def drain(self) -> None:
        """Return once nothing is left to do at this time (for tests and for a host that plays one event to its end)."""
        while True:
            await self._drivers.idle()
            fired = await self.fire_due()
            swept = await self.sweep()
            if not fired and not swept and not self._drivers:
                return

    async def ended(self, run_id: str) -> None:
        """Return once nobody drives this run: it has ended, or it waits."""
        await self._drivers.ended(run_id)

    # -- what comes in -------------------------------------------------------------------------------------------------
    @property
    def trouble(self) -> str | None:
        """Why no event is taken now, in words; None where events are taken."""
        return self._outage.sentence

    async def accept(self, event: Event) -> tuple[str, ...]:
        """Accept an event: returns, once its row is committed, the runs that it made. An event whose id is known makes none. Raises
        `CommitFailed` where it is not sure that the event is kept: its source sends it again, if it can."""
        self._matching.add(event.id)
        try:
            if not self._parts.drives:
                return (await self._acceptance.leave(event)).runs
            accepted = await self._acceptance.accept(event)
            self._drive(accepted.started)
            if accepted.new:
                self._drive(await self._waits.offer(event))
            return accepted.runs
        except CommitFailed as error:
            self._outage.failed(error.sentence, refused=1)
            raise
        finally:
            self._matching.discard(event.id)

    async def answer(
        self,
        approval_id: str,
        reply: str,
        by: str,
        *,
        rehearsal: bool = False,
        note: str | None = None,
        also: Also = nothing_also,
    ) -> str | None:
        """Record a person's reply; the first one wins. Returns the run that goes on with it (of a rehearsal, the run that shows what
        the reply would have done). Raises what `Waits.answer` raises."""
        if rehearsal:
            run_id: str | None = await self._rehearsals.answer(approval_id, reply, by)
        else:
            await self._look_at_the_clock()
            run_id = await self._waits.answer(approval_id, reply, by, note, also)
        self._drive(() if run_id is None else (run_id,))
        return run_id

    async def press(self, button: str, person: str) -> tuple[str, ...]:
        """A person presses a button on the site's pages. `person` is `user:<name>`."""
        parts = self._parts
        payload = {"name": button, "person": person}
        return await self.accept(
            Event(parts.ids.new(), "button", "button", Provenance.PERSON, parts.clock.now(), payload=payload)
        )

    # -- workflows -----------------------------------------------------------------------------------------------------
    async def save_workflow(
        self,
        text: str,
        by: str,
        workflow_id: str | None = None,
        base_version: int | None = None,
        blueprint: Mapping[str, JSON] | None = None,
        also: Also = nothing_also,
        base_state: State | None = None,
    ) -> Saved:
        """Save a file (see `Versions.save`)."""
        saved = await self._versions.save(text, by, workflow_id, base_version, blueprint, also, base_state)
        await self._edited()
        return saved

    async def set_state(
        self, workflow_id: str, state: State, by: str, also: Also = nothing_also, base_version: int | None = None
    ) -> None:
        """Turn a workflow Off, to Test or On (see `Versions.set_state`)."""
        await self._versions.set_state(workflow_id, state, by, also, base_version)
        await self._edited()

    async def _edited(self) -> None:
        await self._keep_schedules()
        if self.leases is not None:
            self._parts.store.notify(WORKFLOWS)

    async def cancel(self, run_id: str, by: str, also: Also = nothing_also) -> None:
        """End a run (see `Versions.cancel`)."""
        await self._versions.cancel(run_id, by, also)

    async def try_workflow(self, workflow_id: str, event_ids: Sequence[str]) -> list[dict[str, JSON]]:
        """Decide past events again, on their stored pictures and without effects (see `Rehearsals.try_events`)."""
        return await self._rehearsals.try_events(workflow_id, event_ids)

    # -- what is left and what is due ----------------------------------------------------------------------------------
    async def sweep(self) -> bool:
        """Take up everything that stands still and should not: events without their runs, runs without a driver, answers and events
        that reached nobody. Whether there was anything."""
        await self._waits.listen()
        matched = await self._match_left()
        await self._versions.end_what_is_off()
        running = await self._pick_up()
        woken = await self._waits.settle()
        self._drive(woken)
        self._swept = True
        return bool(matched or running or woken)

    async def _pick_up(self) -> bool:
        """Drive what runs and has no driver. Of several engines each has its own runs, and those of the dead are taken first."""
        if not self._parts.drives or self._stopping:
            return False
        query, params = "SELECT id FROM workflow_runs WHERE state = 'running'", dict[str, Any]()
        taken: set[str] | None = None
        if self.leases is not None:
            taken = await self.leases.take_up()
            if taken is not None:
                self._timer.look()
            query, params = f"{query} AND lease_owner = :owner", {"owner": self._parts.owner}
        left = await self._parts.store.fetch(query, params)
        held = self._claims.stranded | self._rehearsals.trying
        held |= self._deaths.waiting.keys()
        running = [row["id"] for row in left if row["id"] not in self._drivers and row["id"] not in held]
        at_once = await self._deaths.sort(running, None if self.leases is None else taken or set())
        self._drive(at_once)
        if self._deaths.waiting and "suspects" not in self._tasks:
            self._tasks.start("suspects", self._one_by_one())
        return bool(running or self._deaths.waiting)

    async def _one_by_one(self) -> None:
        """Let suspects go on, each when the one before has come to rest, and bury those that had their turns."""
        while self._deaths.waiting:
            run_id, place = next(iter(self._deaths.waiting.items()))
            await self._guarded("taking up of a suspect", self._turn(run_id, place))
            self._deaths.waiting.pop(run_id, None)

    async def _turn(self, run_id: str, place: str) -> None:
        if not await self._deaths.may_go_on(run_id, place):
            why = f"The host died {LIMIT} times while this run was at the same step. It is not tried again."
            await self._runner.bury(run_id, f"run.deadly: {why}")
            return
        self._drive((run_id,))
        with suppress(TimeoutError):
            async with asyncio.timeout(TURN_SECONDS):
                await self._drivers.ended(run_id)

    async def _match_left(self) -> bool:
        """Match events whose row is there and whose runs are not: a crash came between, or a database that gave no answer."""
        if not self._parts.drives or self._stopping:
            return False
        unmatched = "SELECT * FROM events WHERE matched IS NULL ORDER BY accepted_at LIMIT 100"
        found = [row for row in await self._parts.store.fetch(unmatched) if row["id"] not in self._matching]
        by_camera: dict[str | None, list[Event]] = {}
        for row in self._ours(found):
            by_camera.setdefault(row["camera"], []).append(rows.event_from_row(row))
        return any(await asyncio.gather(*(self._match_in_order(events) for events in by_camera.values())))

    async def _match_all_left(self) -> None:
        while await self._match_left():
            pass

    async def _match_in_order(self, events: Sequence[Event]) -> bool:
        return any([await self._match_again(event) for event in events])

    async def _match_again(self, event: Event) -> bool:
        # What the first sweep finds, a dead process left; and what another engine was to match and did not.
        left = not self._swept or event.id in self._left_by_others
        if left and not await self._deaths.may_match(event):
            return False
        return await self._match(event)

    def _ours(self, found: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Of several engines that see an event each leaves it to one, and takes it at the next look where that one did not."""
        if self.leases is None:
            return found
        place, of = self.leases.place
        theirs = {row["id"] for row in found if crc32(row["id"].encode()) % of != place}
        self._left_by_others = theirs & self._not_ours
        self._not_ours = theirs
        return [row for row in found if row["id"] not in theirs or row["id"] in self._left_by_others]

    async def _match(self, event: Event) -> bool:
        """Match an event that was accepted with something else; whether it could be matched."""
        self._matching.add(event.id)
        try:
            self._drive(await self._acceptance.match(event))
            self._drive(await self._waits.offer(event))
        except LostRace:
            _log.warning("Event %s could not be matched yet; the next sweep tries again.", event.id, exc_info=True)
            return False
        finally:
            self._matching.discard(event.id)
        return True

    async def fire_due(self) -> bool:
        """Fire everything whose time has come; whether there was anything."""
        await self._look_at_the_clock()
        woken = await self._waits.fire_due()
        self._drive(woken)
        scheduled = await self._schedules.fire_due()
        return scheduled or bool(woken)

    async def _look_at_the_clock(self) -> None:
        """Before anything is called due or over: whether the wall clock still is what it was."""
        if await self._jumps.look():
            await self._keep_schedules()

    async def _next_due(self) -> datetime | None:
        due = [moment for moment in (await self._waits.next_due(), await self._schedules.next_due()) if moment]
        return min(due, default=None)

    def _drive(self, runs: Iterable[Run | str]) -> None:
        if not self._parts.drives:
            if any(True for _ in runs):
                self._parts.store.notify(RUNS)
            return
        for run in runs:
            run_id = run if isinstance(run, str) else run.id
            if run_id in self._drivers:
                self._again.add(run_id)
            elif not self._stopping:
                self._drivers.start(run_id, self._drive_one(run_id, run))

    async def _drive_one(self, run_id: str, run: Run | str) -> None:
        """Drive a run until it parks or ends, and once more for what happened while it parked. Nothing is awaited between the last look at
        `_again` and the end of the task: a wake either finds it or starts a new driver."""
        try:
            while not self._stopping:
                self._again.discard(run_id)
                drove = await self._runner.drive(run)
                for event in drove.events:
                    await self._guarded("matching of what a run left", self._match(event))
                if drove.trouble is not None:
                    self._outage.failed(drove.trouble)
                    break
                if not await self._go_on(run_id, drove):
                    break
                run = run_id
        except (CommitFailed, ReadFailed) as error:
            _log.warning("Run %s stops here until the database answers again.", run_id, exc_info=True)
            self._outage.failed(error.sentence)
        finally:
            self._again.discard(run_id)

    async def _go_on(self, run_id: str, drove: Drove) -> bool:
        """Whether a run that came to a stop goes on at once: something woke it, or happened while nobody could wake it."""
        run = drove.run
        if drove.ended and run is not None and run.one_key is not None:
            self._hints.ended((run.plan.workflow_id, run.one_key), run_id)
        if drove.parked is not None:
            listens = [name for wait in drove.parked.waits for name in wait.event_types]
            self._waits.listens(listens)
            if drove.woken:
                self._timer.look()
            for wait in drove.parked.waits:
                if wait.due is not None:
                    self._timer.sooner(wait.due)
            if (drove.woken or listens) and await self._waits.settle(run_id):
                return True
        return run_id in self._again

    async def _sweeper(self) -> None:
        while True:
            await self._parts.clock.sleep_until(self._parts.clock.now() + timedelta(seconds=SWEEP_SECONDS))
            if self.leases is not None:
                await self._guarded("sweeper", self.follow())
            if self._parts.drives:
                await self._guarded("sweeper", self._look_at_the_clock())
                await self._guarded("sweeper", self.sweep())
            await self._guarded("sweeper", self._outage.look())
            if self._keeps_up:
                await self._guarded("sweeper", self._parts.store.submit(rows.end_rehearsals(self._parts.now())))
                if self.leases is not None:
                    await self._guarded("sweeper", self.leases.forget())
            self._timer.look()

    async def _forgetting(self) -> None:
        """A pass over a large past takes its time; nobody's recovery waits for it."""
        while True:
            await self._parts.clock.sleep_until(self._parts.clock.now() + timedelta(seconds=SWEEP_SECONDS))
            if self._keeps_up:
                await self._guarded("retention", self._retention.tick())

    async def _looker(self) -> None:
        """What another process left to this one, and what the dead left, where no poke told."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self._guarded("looker", self._match_left())
            await self._guarded("looker", self._pick_up())

    async def _guarded(self, name: str, work: Awaitable[object]) -> bool:
        """Whether the work could finish. A database that is busy, full or away, and a row that nobody can read, stop neither timer nor
        sweeper: all waits and all recovery hang on them."""
        try:
            await work
        except StoreClosed:
            raise
        except SitewardError as error:
            _log.warning("The %s could not finish and tries again.", name, exc_info=True)
            if isinstance(error, CommitFailed | ReadFailed):
                self._outage.failed(error.sentence)
            return False
        except Exception:  # noqa: BLE001 (said in the log; a timer that ends takes every wait of the site with it)
            _log.exception("The %s broke and tries again.", name)
            return False
        return True
