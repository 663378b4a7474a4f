"""Drives one run after the other step by step: the step answers, the answer and the run's next position are committed together, and only then
does the next step start."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import select

from siteward.core.contract.document import State, Step
from siteward.core.engine import rows
from siteward.core.engine.acting import Acted, Acting
from siteward.core.engine.admission import end_run_ops
from siteward.core.engine.catalog import Catalog
from siteward.core.engine.claims import Claimed, Claims
from siteward.core.engine.commits import Commits, Onward
from siteward.core.engine.guarded import call_step
from siteward.core.engine.parts import Parts
from siteward.core.engine.position import ENDED, WakeNote
from siteward.core.engine.records import engine_alert
from siteward.core.engine.seam import Mode, Outcome, Park, RunState, StepStatus, Wake, WakeKind
from siteward.core.engine.third_party import run_third_party
from siteward.core.engine.views import Run, ViewOfRun
from siteward.core.events.event import Event
from siteward.core.logs import about, now_about
from siteward.core.store.errors import CommitFailed, LostRace, ReadFailed, StoreClosed
from siteward.core.store.schema import workflow_run_steps, workflow_runs

_log = logging.getLogger(__name__)

_STATE: Final = (
    "SELECT workflows.state FROM workflow_runs JOIN workflows ON workflows.id = workflow_runs.workflow_id "
    "WHERE workflow_runs.id = :run AND workflow_runs.fence = :fence AND workflow_runs.state = 'running'"
)


@dataclass(slots=True)
class Drove:
    """How far a run was driven. `run` is the run as it was last known to be ours, `ended` whether it is over, `parked` what it waits for now,
    `woken` whether it had waited before, `events` what its steps left to be matched. `trouble`: the database gave no good answer, in words,
    and the rows must be looked at again later."""

    run: Run | None = None
    ended: bool = False
    parked: Park | None = None
    woken: bool = False
    events: list[Event] = field(default_factory=list)
    trouble: str | None = None


class Runner:
    """Drives runs until they park or end."""

    def __init__(self, parts: Parts, catalog: Catalog, claims: Claims) -> None:
        self._parts = parts
        self._catalog = catalog
        self._claims = claims
        self._commits = Commits(parts)
        self._acting = Acting(parts, self._state_for_act, self._commits.intent)

    def _state_of(self, workflow_id: str) -> State:
        return self._catalog.get(workflow_id).state

    async def _state_for_act(self, run: Run) -> State:
        """By what this process holds where it is the only one; else by the rows, since a switch in another process may not be known here."""
        if self._parts.alone:
            return self._state_of(run.plan.workflow_id)
        found = await self._parts.store.fetch(_STATE, {"run": run.id, "fence": run.fence})
        if not found:
            raise LostRace(f"Run {run.id} is not ours any more.", where=run.id)
        return State(found[0]["state"])

    async def drive(self, run: Run | str) -> Drove:
        """Drive a run as far as it goes now: one that this process has just made, or one that is taken up by its id."""
        drove = Drove()
        run_id = run if isinstance(run, str) else run.id
        with about(run=run_id):
            return await self._driven(run, run_id, drove)

    async def _driven(self, run: Run | str, run_id: str, drove: Drove) -> Drove:
        try:
            await self._drive(run, drove)
        except LostRace:
            _log.debug("Run %s is not ours any more.", run_id)
        except StoreClosed:
            _log.debug("Run %s stops here: the store is closed.", run_id)
        except (CommitFailed, ReadFailed) as error:
            _log.warning("Run %s stops here until the database answers again.", run_id, exc_info=True)
            drove.trouble = error.sentence
        except Exception as error:  # noqa: BLE001 (said in the log and in an alert; the run ends)
            # A run that breaks its driver would do so at every restart: it ends, and holds up nobody else.
            _log.exception("Run %s cannot be driven.", run_id)
            drove.trouble = await self.bury(run_id, f"run.broken: {type(error).__name__}: {error}")
            drove.ended = drove.trouble is None
        return drove

    async def _drive(self, run: Run | str, drove: Drove) -> None:
        claimed = await self._claims.claim(run) if isinstance(run, str) else Claimed(run)
        while claimed is not None:
            drove.run = claimed.run
            drove.woken = drove.woken or claimed.run.position.wake is not None
            onward = await self._step(claimed)
            drove.events += onward.events
            if onward.run is None:
                drove.parked, drove.ended = onward.parked, onward.parked is None
                return
            suspended = self._parts.always_suspend
            claimed = await self._claims.claim(onward.run.id) if suspended else Claimed(onward.run)

    # -- one step ------------------------------------------------------------------------------------------------------
    async def _step(self, claimed: Claimed) -> Onward:
        """One step and its commit."""
        run = claimed.run
        self._parts.boundaries.reach("step.begin")
        if self._is_off(run) and claimed.intent is None:
            await self._cancel_off(run)
            return Onward()
        at = run.position.current(run.plan)
        if at is None:
            await self._commits.end(run)
            return Onward()
        step, path = at
        now_about(run.id, run.plan.workflow_id, run.event.correlation_id or run.event.id, run.event.id, path)
        started = self._parts.now()
        wake = run.position.wake
        if step.kind in self._parts.host_steps:
            outcome = await self._host_step(run, step, path, wake)
            return await self._commits.outcome(run, step, path, Acted(outcome, {}), started)
        if step.kind in self._parts.skills.registry.actions:
            acted = await self._acting.act(run, step, path, claimed.intent)
            return await self._commits.outcome(run, step, path, acted, started)
        outcome = await run_third_party(self._parts, step, run.position.values)
        return await self._commits.outcome(run, step, path, Acted(outcome, {}), started)

    async def _host_step(self, run: Run, step: Step, path: str, wake: WakeNote | None) -> Outcome:
        view = ViewOfRun(self._parts, run, path, self.mode_now(run))
        kind = self._parts.host_steps[step.kind]
        if wake is None:
            return await call_step(kind.start(step, view))
        event = None if wake.event_id is None else await self._claims.event(wake.event_id)
        return await call_step(kind.resume(step, view, _as_wake(wake, event)))

    def mode_now(self, run: Run) -> Mode:
        """A run of a workflow that went to Test meanwhile is a test from here on."""
        if run.mode is Mode.ON and self._state_of(run.plan.workflow_id) is not State.ON:
            return Mode.TEST
        return run.mode

    def _is_off(self, run: Run) -> bool:
        return run.mode in (Mode.ON, Mode.TEST) and self._state_of(run.plan.workflow_id) is State.OFF

    async def _cancel_off(self, run: Run) -> None:
        row = {"id": run.id, "fence": run.fence, "workflow_id": run.plan.workflow_id}
        await self._parts.store.submit(*end_run_ops(row, RunState.CANCELLED, "workflow_off", self._parts.now()))
        self._parts.meters.run_ended(run.plan.workflow_id, run.mode, RunState.CANCELLED)

    async def bury(self, run_id: str, reason: str) -> str | None:
        """End a run that cannot go on, with an alert; why it could not be ended, if so. Where it was acting, what came of that is unknown."""
        parts = self._parts
        found = await parts.store.read(select(workflow_runs).where(workflow_runs.c.id == run_id))
        intents = select(workflow_run_steps).where(
            workflow_run_steps.c.run_id == run_id, workflow_run_steps.c.status == StepStatus.INTENT
        )
        state = RunState.UNKNOWN if await parts.store.read(intents) else RunState.FAILED
        try:
            for row in found:
                event, now = await self._claims.event(row["event_id"]), parts.now()
                told = {"run": run_id, "workflow": row["workflow_id"], "state": state, "reason": reason}
                title = f"A run of {self._catalog.get(row['workflow_id']).name} broke"
                await parts.store.submit(
                    rows.move_run(run_id, row["fence"], ENDED, state, reason, now),
                    rows.end_waiting_step(run_id, StepStatus.UNKNOWN, now),
                    *engine_alert(parts, title, reason, workflow_id=row["workflow_id"], event=event, run_id=run_id),
                    rows.publish("run.ended", told, event.camera, now),
                )
                parts.meters.run_ended(row["workflow_id"], Mode(row["mode"]), state)
        except LostRace:
            _log.debug("Run %s ended meanwhile.", run_id)
        except (CommitFailed, ReadFailed) as error:
            return error.sentence
        return None


def _as_wake(wake: WakeNote, event: Event | None) -> Wake:
    return Wake(
        kind=WakeKind(wake.kind),
        wait=wake.wait,
        at=rows.moment(wake.at),
        boot=wake.boot,
        reply=wake.reply,
        by=wake.by,
        note=wake.note,
        event=event,
    )
