"""Drives one run after the other step by step: the step answers, the answer and the run's next position are committed together, and only then
does the next step start."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from sqlalchemy import select

from siteward.core.contract.document import State, Step
from siteward.core.contract.registry import Repeat
from siteward.core.engine import rows
from siteward.core.engine.accept import end_run_ops
from siteward.core.engine.acting import Acted, Acting, Intent
from siteward.core.engine.catalog import Catalog, Unprovided
from siteward.core.engine.commits import Commits
from siteward.core.engine.guarded import call_step
from siteward.core.engine.parts import Parts
from siteward.core.engine.position import WakeNote, position_from_json, position_to_json
from siteward.core.engine.records import engine_alert
from siteward.core.engine.seam import Mode, Outcome, RunState, StepStatus, Wake, WakeKind
from siteward.core.engine.third_party import run_third_party
from siteward.core.engine.views import Run, ViewOfRun
from siteward.core.errors import NotFound
from siteward.core.events.event import Event
from siteward.core.store.errors import CommitFailed, LostRace, ReadFailed, StoreClosed
from siteward.core.store.schema import events, workflow_run_steps, workflow_runs

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A run that is ours now, and the intent that it was left with."""

    run: Run
    intent: Intent | None


class Runner:
    """Claims runs and drives them until they park or end."""

    def __init__(self, parts: Parts, catalog: Catalog) -> None:
        self._parts = parts
        self._catalog = catalog
        self._commits = Commits(parts)
        self.stranded: set[str] = set()
        """Runs that cannot go on before `refresh` found what they need."""
        self._acting = Acting(parts, self._state_of, self._commits.intent)

    def _state_of(self, workflow_id: str) -> State:
        return self._catalog.get(workflow_id).state

    async def drive(self, run_id: str) -> bool:
        """Drive a run as far as it goes now. False where its rows must be looked at again later: a commit gave no good answer."""
        try:
            claimed = await self._claim(run_id)
            while claimed is not None:
                onward = await self._step(claimed)
                if onward is not None and self._parts.always_suspend:
                    claimed = await self._claim(run_id)
                else:
                    claimed = None if onward is None else Claimed(onward, None)
        except LostRace:
            _log.debug("Run %s is not ours any more.", run_id)
        except StoreClosed:
            return True
        except (CommitFailed, ReadFailed):
            _log.warning("Run %s stops here until the database answers again.", run_id, exc_info=True)
            return False
        except Exception as error:  # noqa: BLE001 (said in the log and in an alert; the run ends)
            # A run that breaks its driver would do so at every restart: it ends, and holds up nobody else.
            _log.exception("Run %s cannot be driven.", run_id)
            return await self._bury(run_id, f"run.broken: {type(error).__name__}: {error}")
        return True

    async def _claim(self, run_id: str) -> Claimed | None:
        """Take a running run from its rows: the event, the plan, the position and an open intent are all there is to know."""
        store = self._parts.store
        found = await store.read(select(workflow_runs).where(workflow_runs.c.id == run_id))
        if not found or found[0]["state"] != RunState.RUNNING:
            return None
        row = found[0]
        try:
            plan = await self._catalog.plan(row["workflow_id"], row["version"])
        except (NotFound, Unprovided) as error:
            # It stands still until what it needs is back; the workflow says that it needs attention.
            _log.warning("Run %s stands still: %s", run_id, error.sentence)
            self.stranded.add(run_id)
            return None
        await store.submit(rows.claim_run(run_id, row["fence"], self._parts.owner))
        event = await self._event(row["event_id"])
        run = Run(
            id=run_id,
            mode=Mode(row["mode"]),
            event=event,
            chain=row["chain"],
            fence=row["fence"] + 1,
            plan=plan,
            position=position_from_json(rows.load(row["position"])),
            picture=row["newest_picture"],
            limits=self._catalog.limits(plan),
        )
        return Claimed(run, await self._open_intent(run))

    async def _event(self, event_id: str) -> Event:
        found = await self._parts.store.read(select(events).where(events.c.id == event_id))
        return rows.event_from_row(found[0])

    async def _open_intent(self, run: Run) -> Intent | None:
        """The intent of the step that the run stands at, where one was committed and nothing came of it."""
        at = run.position.current(run.plan)
        if at is None:
            return None
        query = select(workflow_run_steps).where(
            workflow_run_steps.c.run_id == run.id,
            workflow_run_steps.c.path == at[1],
            workflow_run_steps.c.status == "intent",
        )
        found = await self._parts.store.read(query)
        if not found:
            return None
        return Intent(Repeat(rows.load(found[0]["result"])["repeat"]), found[0]["attempts"])

    # -- one step ------------------------------------------------------------------------------------------------------
    async def _step(self, claimed: Claimed) -> Run | None:
        """One step and its commit; the run at its next position, or None where it parked or ended."""
        run = claimed.run
        self._parts.boundaries.reach("step.begin")
        if self._is_off(run) and claimed.intent is None:
            await self._cancel_off(run)
            return None
        at = run.position.current(run.plan)
        if at is None:
            await self._commits.end(run)
            return None
        step, path = at
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
        event = None if wake.event_id is None else await self._event(wake.event_id)
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

    async def _bury(self, run_id: str, reason: str) -> bool:
        """End a run that cannot go on, with an alert. Where it was acting, what came of that is unknown."""
        parts = self._parts
        found = await parts.store.read(select(workflow_runs).where(workflow_runs.c.id == run_id))
        intents = select(workflow_run_steps).where(
            workflow_run_steps.c.run_id == run_id, workflow_run_steps.c.status == StepStatus.INTENT
        )
        state = RunState.UNKNOWN if await parts.store.read(intents) else RunState.FAILED
        try:
            for row in found:
                stopped = replace(position_from_json(rows.load(row["position"])), frames=(), wake=None)
                event, now = await self._event(row["event_id"]), parts.now()
                told = {"run": run_id, "workflow": row["workflow_id"], "state": state, "reason": reason}
                title = f"A run of {self._catalog.get(row['workflow_id']).name} broke"
                await parts.store.submit(
                    rows.move_run(run_id, row["fence"], position_to_json(stopped), state, reason, now),
                    rows.end_waiting_step(run_id, StepStatus.UNKNOWN, now),
                    *engine_alert(parts, title, reason, workflow_id=row["workflow_id"], event=event, run_id=run_id),
                    rows.publish("run.ended", told, event.camera, now),
                )
        except LostRace:
            _log.debug("Run %s ended meanwhile.", run_id)
        except (CommitFailed, ReadFailed):
            return False
        return True


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
