"""What a step's end writes: the run's next position, the step's row and everything that the step leaves, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import select

from siteward.core.agent.trace import RowKind
from siteward.core.contract.document import State, Step
from siteward.core.contract.registry import Repeat
from siteward.core.engine import rows
from siteward.core.engine.acting import Acted
from siteward.core.engine.jumps import boot_due
from siteward.core.engine.limits import hour_of
from siteward.core.engine.parts import Parts
from siteward.core.engine.position import Position, position_to_json, wait_to_json
from siteward.core.engine.records import Left, engine_alert, record_ops
from siteward.core.engine.seam import (
    Done,
    Failed,
    Iterate,
    Mode,
    NewApproval,
    NewWait,
    Park,
    RunState,
    StepStatus,
)
from siteward.core.engine.values import values_to_json
from siteward.core.engine.views import AI_CALLS, Run
from siteward.core.events.event import Event
from siteward.core.store.schema import workflow_approvals
from siteward.core.store.writer import Op

VERDICTS: Final[Mapping[StepStatus, RunState]] = {
    StepStatus.EXPIRED: RunState.EXPIRED,
    StepStatus.UNKNOWN: RunState.UNKNOWN,
    StepStatus.REFUSED: RunState.FAILED,
    StepStatus.FAILED: RunState.FAILED,
}
"""What a step's end makes of its run."""
SAID: Final = (StepStatus.EXPIRED, StepStatus.UNKNOWN, StepStatus.REFUSED)
"""Ends that an alert of the engine tells: something was to be done and a person should know that it was not, or may not have been."""
REHEARSAL_SECONDS: Final = 24 * 3600.0
"""How long a tester may rehearse a reply."""
AI_COLUMNS: Final = (
    *("reason", "confidence", "confidence_source", "self_reported"),
    *("unsure_reason", "rule", "model", "usage"),
)


@dataclass(frozen=True, slots=True)
class Onward:
    """What follows a step's commit: the run at its next position (None where it parked or ended), what it waits for, and the events that
    the step left."""

    run: Run | None = None
    parked: Park | None = None
    events: tuple[Event, ...] = ()


class Commits:
    """Writes what came of steps."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def intent(self, run: Run, step: Step, path: str, acted: Acted, repeat: Repeat, state: State) -> None:
        """The intent of a step that acts outside. It is on the disk before anything is sent, and only if the run is still ours; where others
        may switch workflows too, only while this one still is in the state that it was decided on."""
        row = self._step_row(run, step, path, acted, self._parts.now())
        row |= {"status": StepStatus.INTENT.value, "result": rows.dump({"repeat": repeat.value})}
        await self._parts.store.submit(
            rows.hold_run(run.id, run.fence, None if self._parts.alone else state.value),
            rows.put_step(row),
            self._told(run, path, step, StepStatus.INTENT),
        )

    async def end(self, run: Run) -> None:
        """The run has no further step."""
        await self._parts.store.submit(*self._move(run, run.position))
        self._parts.meters.run_ended(run.plan.workflow_id, run.mode, run.position.verdict or RunState.DONE)

    async def outcome(self, run: Run, step: Step, path: str, acted: Acted, started: float) -> Onward:
        """Commit a step's outcome."""
        self._parts.boundaries.reach("step.answered")
        match acted.outcome:
            case Done():
                position = run.position.after(step, path, acted.outcome, run.plan)
                left = self._done(run, step, path, acted, acted.outcome, started)
            case Failed():
                failed = acted.outcome
                reason = f"{failed.code}: {failed.sentence}"
                position = run.position.stopped(VERDICTS.get(failed.status, RunState.FAILED), reason, run.plan)
                left = Left(self._failed(run, step, path, acted, failed, started))
            case Iterate():
                position = run.position.over(step, path, acted.outcome, run.plan)
                left = self._done(run, step, path, acted, Done(result={"items": len(acted.outcome.items)}), started)
            case Park():
                left = self._park(run, step, path, acted, acted.outcome, started)
                await self._parts.store.submit(*left.ops, *await self._asked_more(run, path, acted.outcome))
                self._parts.boundaries.reach("step.committed")
                return Onward(None, acted.outcome, left.events)
        ended = (
            () if run.position.wake is None else (rows.cancel_waits(run.id), rows.close_approvals(run.id, "no_answer"))
        )
        moved, *told = self._move(run, position)
        in_turn = (
            self._parts.in_turn if step.kind == "ai" else ()
        )  # whose calls are counted for all runs of the workflow
        await self._parts.store.submit(*in_turn, moved, *left.ops, *ended, *told)
        self._parts.boundaries.reach("step.committed")
        self._counted(run, step, acted.outcome, position, started)
        return Onward(run.at(position) if position.frames else None, None, left.events)

    def _counted(
        self, run: Run, step: Step, outcome: Done | Failed | Iterate, position: Position, started: float
    ) -> None:
        """Tell whoever counts; all of it is committed."""
        meters, workflow_id = self._parts.meters, run.plan.workflow_id
        status = StepStatus.DONE if isinstance(outcome, Iterate) else outcome.status
        meters.step_ended(workflow_id, step, run.mode, status, self._parts.now() - started)
        if step.kind == "ai" and isinstance(outcome, Done):
            meters.ai_called(workflow_id, step, run.mode, _model_calls(outcome))
        if not position.frames:
            meters.run_ended(workflow_id, run.mode, position.verdict or RunState.DONE)

    # -- the writes of each end ----------------------------------------------------------------------------------------
    def _move(self, run: Run, position: Position) -> tuple[Op, ...]:
        """The next position; at the end also the run's state, with the last step's commit."""
        if position.frames:
            return (rows.move_run(run.id, run.fence, position_to_json(position), RunState.RUNNING),)
        now = self._parts.now()
        state = position.verdict or RunState.DONE
        told = {"run": run.id, "workflow": run.plan.workflow_id, "state": state, "reason": position.reason}
        return (
            rows.move_run(run.id, run.fence, position_to_json(position), state, position.reason, now),
            rows.publish("run.ended", told, run.event.camera, now),
        )

    def _done(self, run: Run, step: Step, path: str, acted: Acted, done: Done, started: float) -> Left:
        row = self._step_row(run, step, path, acted, started)
        row |= {
            "status": done.status.value,
            "outcome": done.outcome,
            "result": rows.dump(dict(done.result)),
            "ended_at": self._parts.now(),
        }
        row |= _ai_columns(done)
        performed = done.status is not StepStatus.WOULD_HAVE
        left = record_ops(self._parts, run, path, run.position.trail, done.records) if performed else Left()
        ops = (
            rows.put_step(row),
            *left.ops,
            *self._calls(run, step, path, done),
            *self._rehearsal(run, step, path, done),
            self._told(run, path, step, done.status),
        )
        return Left(ops, left.events)

    def _calls(self, run: Run, step: Step, path: str, done: Done) -> tuple[Op, ...]:
        """An AI step's trace, and its part of the hour's AI calls."""
        ops = [
            rows.new_tool_call(self._parts.ids.new(), run.id, path, number, call)
            for number, call in enumerate(done.calls)
        ]
        if step.kind == "ai" and run.mode in (Mode.ON, Mode.TEST):
            hour = hour_of(self._parts.clock.now())
            made = max(1, _model_calls(done))
            ops += [rows.count(run.scope, AI_CALLS, hour) for _ in range(made)]
        return tuple(ops)

    def _failed(self, run: Run, step: Step, path: str, acted: Acted, failed: Failed, started: float) -> tuple[Op, ...]:
        row = self._step_row(run, step, path, acted, started)
        row |= {
            "status": failed.status.value,
            "result": rows.dump({"code": failed.code, "error": failed.sentence}),
            "ended_at": self._parts.now(),
        }
        ops: tuple[Op, ...] = (rows.put_step(row), self._told(run, path, step, failed.status))
        if failed.status in SAID:
            title = f"{run.plan.name}: {step.kind} {failed.status.value}"
            ops += engine_alert(
                self._parts,
                title,
                failed.sentence,
                workflow_id=run.plan.workflow_id,
                event=run.event,
                run_id=run.id,
                path=path,
            )
        return ops

    def _park(self, run: Run, step: Step, path: str, acted: Acted, park: Park, started: float) -> Left:
        """The step waits: its waits and its question are committed with it. A step that parks again keeps what is still open."""
        retries = any(wait.kind == "retry" for wait in park.waits)
        status = StepStatus.INTENT if retries else StepStatus.WAITING
        row = self._step_row(run, step, path, acted, started)
        row |= {"status": status.value, "result": rows.dump(self._parked_result(park, retries))}
        position = replace(run.position, wake=None)
        ops: list[Op] = [
            rows.move_run(run.id, run.fence, position_to_json(position), RunState.WAITING),
            rows.put_step(row),
        ]
        for wait in park.waits:
            ops += rows.new_waits(wait, self._parts.ids.new, run.id, path, self._wait_row(wait))
        left = record_ops(self._parts, run, path, run.position.trail, park.records)
        ops += left.ops
        if park.approval is not None:
            ops += self._ask(run, path, park.approval)
        ops.append(self._told(run, path, step, status))
        return Left(tuple(ops), left.events)

    def _wait_row(self, wait: NewWait) -> dict[str, Any]:
        """A wait with when it is due on the clock that never jumps."""
        row = wait_to_json(wait)
        if wait.due is None:
            return row
        return {**row, "boot": boot_due(row["due"], self._parts.now(), self._parts.clock.since_boot())}

    def _parked_result(self, park: Park, retries: bool) -> dict[str, Any]:
        return {**park.result, "repeat": Repeat.KEYED_RETRY.value} if retries else dict(park.result)

    def _ask(self, run: Run, path: str, asked: NewApproval) -> tuple[Op, ...]:
        new_id, camera, now = self._parts.ids.new(), run.event.camera, self._parts.now()
        told = {
            "id": new_id,
            "run": run.id,
            "message": asked.message,
            "who": list(asked.who),
            "rehearsal": asked.rehearsal,
        }
        return (
            rows.new_approval(new_id, run.id, path, run.plan.workflow_id, camera, asked, now),
            rows.publish("approval.opened", told, camera, now),
        )

    async def _asked_more(self, run: Run, path: str, park: Park) -> tuple[Op, ...]:
        """An escalation: the open question is put to more people, beside those who were asked."""
        if not park.escalate:
            return ()
        query = select(workflow_approvals).where(
            workflow_approvals.c.run_id == run.id,
            workflow_approvals.c.path == path,
            workflow_approvals.c.state == "open",
        )
        ops: list[Op] = []
        for row in await self._parts.store.read(query):
            who = list(dict.fromkeys((*rows.load(row["who"]), *park.escalate)))
            told = {"id": row["id"], "run": run.id, "message": row["message"], "who": who}
            ops.append(rows.ask_more(run.id, path, who))
            ops.append(rows.publish("approval.opened", told, row["camera"], self._parts.now()))
        return tuple(ops)

    def _rehearsal(self, run: Run, step: Step, path: str, done: Done) -> tuple[Op, ...]:
        """A question that a test run would have asked can be answered as a rehearsal, from where the run stood."""
        said = done.result
        if run.mode is not Mode.TEST or step.kind != "ask_person" or done.status is not StepStatus.WOULD_HAVE:
            return ()
        due = self._parts.clock.now() + timedelta(seconds=REHEARSAL_SECONDS)
        asked = NewApproval(
            who=tuple(said["who"]),
            message=str(said["would_have_asked"]),
            replies=tuple(said["replies"]),
            default=None,
            due=due,
            picture=run.newest_event().picture,
            shown={},
            rehearsal=True,
        )
        kept = rows.new_waits(
            NewWait("rehearsal", None), self._parts.ids.new, run.id, path, {"position": position_to_json(run.position)}
        )
        return (*self._ask(run, path, asked), *kept)

    def _step_row(self, run: Run, step: Step, path: str, acted: Acted, started: float) -> dict[str, Any]:
        inputs = values_to_json(acted.inputs) if acted.inputs else dict(step.settings)
        return {
            "run_id": run.id,
            "path": path,
            "seq": run.position.seq + 1,
            "kind": step.kind,
            "name": step.name,
            "inputs": rows.dump(inputs),
            "key": acted.key,
            "attempts": acted.attempts,
            "started_at": started,
        }

    def _told(self, run: Run, path: str, step: Step, status: StepStatus) -> Op:
        payload = {"run": run.id, "path": path, "kind": step.kind, "status": status}
        return rows.publish("run.step", payload, run.event.camera, self._parts.now())


def _model_calls(done: Done) -> int:
    """How often an AI step asked a model."""
    return sum(1 for call in done.calls if call.get("kind") == RowKind.LLM)


def _ai_columns(done: Done) -> dict[str, Any]:
    found = {name: value for name, value in done.columns.items() if name in AI_COLUMNS}
    return {
        name: rows.dump(value) if isinstance(value, Mapping | list | tuple) else value for name, value in found.items()
    }
