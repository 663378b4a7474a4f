"""From event to runs. An event is accepted once its row is committed; then it is matched, in one transaction for all its workflows.

Every decision reads first and writes under the condition that nothing changed meanwhile; who loses that race decides again. So an event makes
its runs exactly once, whatever crashes or arrives in between.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from sqlalchemy import select

from siteward.core.contract.document import State
from siteward.core.engine import authority as authorities
from siteward.core.engine import limits as bounds
from siteward.core.engine import rows
from siteward.core.engine.catalog import Catalog, attention_op
from siteward.core.engine.guarded import call_step
from siteward.core.engine.limits import Limits, Refusal
from siteward.core.engine.matcher import Match, TriggerBroken, given_by
from siteward.core.engine.parts import Parts
from siteward.core.engine.plan import TOP_IF, Plan
from siteward.core.engine.position import Position, first_position, position_from_json, position_to_json, trail_after
from siteward.core.engine.records import engine_alert
from siteward.core.engine.seam import JSON, Done, Failed, Labelled, Mode, RunState, StepStatus
from siteward.core.engine.values import values_to_json
from siteward.core.engine.views import Run, ViewOfRun
from siteward.core.events.event import Event
from siteward.core.store.errors import CommitFailed, LostRace, ReadFailed
from siteward.core.store.schema import counters, events, workflow_run_steps, workflow_runs
from siteward.core.store.writer import Op

_log = logging.getLogger(__name__)

ATTEMPTS: Final = 8
"""How often a decision is made again because something changed meanwhile, before the event is left to the next sweep."""
RUNS: Final = "runs_per_hour"
CAPPED: Final = "capped"


@dataclass(frozen=True, slots=True)
class Decided:
    """What one workflow makes of an event: the writes, the run that they start (`run_id`), or the one that was over at once (`over`)."""

    ops: tuple[Op, ...]
    run_id: str | None = None
    made: int = 0
    over: str | None = None


@dataclass(frozen=True, slots=True)
class Met:
    """A workflow whose trigger and top-level `if` an event met."""

    plan: Plan
    limits: Limits
    mode: Mode
    run_id: str
    event: Event
    position: Position
    if_step: tuple[Op, ...]
    now: float


@dataclass(frozen=True, slots=True)
class Counted:
    """What a workflow's counters say of a key: until when it cools down and for whom, the runs of this hour, and whether its cap was said."""

    cools_until: float | None
    cools_for: bounds.Presence | None
    runs: int
    cap_said: bool


class Acceptance:
    """Takes events in."""

    def __init__(self, parts: Parts, catalog: Catalog) -> None:
        self._parts = parts
        self._catalog = catalog

    async def accept(self, event: Event) -> tuple[bool, tuple[str, ...]]:
        """Accept an event and match it: whether it is new, and the runs that it made. Raises `CommitFailed` where it is not sure that the
        event is kept: its source should send it again."""
        parts = self._parts
        (new,) = await parts.store.submit(rows.new_event(event, parts.now()))
        parts.boundaries.reach("event.accepted")
        if not new:
            return False, await self._runs_of(event.id)
        try:
            return True, await self.match(event)
        except (LostRace, CommitFailed, ReadFailed):
            _log.warning("Event %s is accepted and not matched yet; the next sweep does it.", event.id, exc_info=True)
            return True, ()

    async def match(self, event: Event) -> tuple[str, ...]:
        """Make the runs of an accepted event. Returns those that are to be driven; none where it was matched already. Raises `LostRace` where
        its workflows changed at each attempt."""
        for _ in range(ATTEMPTS):
            matches, broken = self._matches(event)
            decided = [await self._decide(match, event) for match in matches]
            ops = [*broken, *(op for one in decided for op in one.ops)]
            made = sum(one.made for one in decided)
            try:
                await self._parts.store.submit(rows.event_matched(event.id, made), *ops)
            except LostRace:
                if await self._is_matched(event.id):
                    return ()
                continue
            self._parts.boundaries.reach("event.matched")
            return tuple(one.run_id for one in decided if one.run_id is not None)
        raise LostRace(f"Event {event.id} could not be matched: its workflows changed at each attempt.", where=event.id)

    def _matches(self, event: Event) -> tuple[list[Match], list[Op]]:
        """The first trigger that fits, of each workflow; and a counter for each that broke over this event, so that it holds up no other."""
        found = self._catalog.index.find(event)
        broken: list[Op] = []
        for match, error in found.broken:
            _log.error("Event %s cannot start %s.", event.id, match.plan.name, exc_info=error)
            broken += self._counted(match.plan.workflow_id, event, "broken", error.sentence)
        # A provider that went is out of the index only with the next one.
        return [match for match in found.matches if match.use.name in self._parts.skills.triggers], broken

    async def _is_matched(self, event_id: str) -> bool:
        found = await self._parts.store.read(select(events.c.matched).where(events.c.id == event_id))
        return not found or found[0]["matched"] is not None

    async def _runs_of(self, event_id: str) -> tuple[str, ...]:
        query = select(workflow_runs.c.id).where(
            workflow_runs.c.event_id == event_id, workflow_runs.c.mode.in_((Mode.ON, Mode.TEST))
        )
        return tuple(row["id"] for row in await self._parts.store.read(query))

    # -- one workflow --------------------------------------------------------------------------------------------------
    async def _decide(self, match: Match, event: Event) -> Decided:
        """State, loop guard, the top-level `if`; then, for a met run only, one at a time, cooldown and the hour's cap."""
        plan = match.plan
        if (refusal := bounds.loop_guard(event, plan.workflow_id)) is not None:
            return self._refused(plan, event, refusal)
        mode = Mode.ON if self._catalog.get(plan.workflow_id).state is State.ON else Mode.TEST
        try:
            met = await self.meet(match, event, mode)
        except TriggerBroken as error:
            _log.exception("Event %s cannot start %s.", event.id, plan.name)
            return Decided(self._counted(plan.workflow_id, event, "broken", error.sentence))
        if isinstance(met, Decided):
            return met
        key = bounds.one_key(met.limits.scope, met.position.presence)
        # In this order: a run that starts between the two reads is then seen as alive, and not only by the cooldown that it started.
        counted = await self._counters(plan.workflow_id, key, bounds.hour_of(self._parts.clock.now()))
        alive = await self._alive(plan.workflow_id, key)
        if alive is None:
            return self._admit(met, key, counted)
        waiting = position_from_json(rows.load(alive["position"])).presence
        again = bounds.against_waiting(waiting, met.position.presence) is bounds.Repeat.SEEN_AGAIN
        if again:
            return self._seen_again(alive["id"], event, event.picture)
        if await self._is_acting(alive):
            # What moves for the one before cannot be taken back: that run finishes, and the key is the newcomer's.
            ended: tuple[Op, ...] = (rows.give_key_up(alive["id"], alive["fence"]),)
        else:
            ended = end_run_ops(alive, RunState.CANCELLED, "superseded", met.now)
        return self._admit(met, key, counted, ended)

    async def _is_acting(self, run: Mapping[str, Any]) -> bool:
        if run["state"] != RunState.RUNNING:
            return False
        steps = workflow_run_steps
        query = select(steps.c.path).where(steps.c.run_id == run["id"], steps.c.status == StepStatus.INTENT)
        return bool(await self._parts.store.read(query))

    async def meet(self, match: Match, event: Event, mode: Mode) -> Met | Decided:
        """Ask the top-level `if`. Where it is not met the run ends at once, and says so."""
        parts, plan = self._parts, match.plan
        given = given_by(match.use, event, parts.skills.triggers, parts.skills.registry, parts.site.zone)
        trail = authorities.begin(event, given.provenance)
        seen = bounds.presence(event, given.values)
        run_id, now, limits = parts.ids.new(), parts.now(), self._catalog.limits(plan)
        bare = Position((), given.values, trail, presence=seen)
        run = Run(run_id, mode, event, bounds.run_chain(event), 0, plan, bare, event.picture, limits)
        step = plan.top_if()
        if step is None:
            return Met(plan, limits, mode, run_id, event, first_position(plan, given.values, trail, seen), (), now)
        answer = await call_step(parts.host_steps["if"].start(step, ViewOfRun(parts, run, TOP_IF, mode)))
        row = rows.put_step(_if_row(run_id, answer, given.values, now, parts.now()))
        if isinstance(answer, Done) and answer.outcome == "true":
            trail = trail_after(answer, trail)
            if answer.authority is not None:
                trail = authorities.enter(trail, answer.authority)
            position = first_position(plan, given.values, trail, seen)
            return Met(plan, limits, mode, run_id, event, position, (row,), now)
        state = RunState.FAILED if isinstance(answer, Failed) else RunState.NOT_MET
        reason = answer.sentence if isinstance(answer, Failed) else None
        made = self._run_op(run, state, None, reason, now)
        told = self._told("run.ended", run, {"state": state}, now)
        return Decided((made, row, told), made=1, over=run_id)

    async def _alive(self, workflow_id: str, key: str) -> Mapping[str, Any] | None:
        query = select(workflow_runs).where(
            workflow_runs.c.workflow_id == workflow_id,
            workflow_runs.c.one_key == key,
            workflow_runs.c.state.in_(rows.ALIVE),
        )
        found = await self._parts.store.read(query)
        return found[0] if found else None

    def _admit(self, met: Met, key: str, counted: Counted, ended: tuple[Op, ...] = ()) -> Decided:
        """Cooldown and the hour's cap. `ended` ends the run of the car before, where this one takes its place."""
        # The next car is not refused for the cooldown of the one before.
        another = bool(ended) or (
            counted.cools_for is not None
            and bounds.against_waiting(counted.cools_for, met.position.presence) is bounds.Repeat.SUPERSEDES
        )
        refusal = bounds.admit(
            met.limits,
            now=self._parts.clock.now(),
            cools_until=None if another else counted.cools_until,
            runs_this_hour=counted.runs,
        )
        if refusal is Refusal.PER_HOUR:
            capped = self._capped(met, counted.cap_said)
            if met.plan.asks:
                # A cap never hides an ask: the person is asked, AI's own cap bounds the rest.
                return self._start(met, key, (*ended, *capped), counts=False, another=another)
            return Decided((*capped, *self._refused(met.plan, met.event, refusal).ops))
        if refusal is not None:
            return self._refused(met.plan, met.event, refusal)
        return self._start(met, key, ended, counts=True, another=another)

    async def _counters(self, workflow_id: str, key: str, hour: str) -> Counted:
        query = select(counters).where(counters.c.scope == workflow_id, counters.c.bucket.in_((key, hour)))
        found = {(row["name"], row["bucket"]): row for row in await self._parts.store.read(query)}
        cools, used = found.get(("cooldown", key)), found.get((RUNS, hour))
        until = None if cools is None else cools["until"]
        whose = None if cools is None or cools["sample"] is None else bounds.Presence(**rows.load(cools["sample"]))
        return Counted(until, whose, used["count"] if used else 0, (CAPPED, hour) in found)

    # -- the writes ----------------------------------------------------------------------------------------------------
    def _start(
        self,
        met: Met,
        key: str,
        first: tuple[Op, ...],
        *,
        counts: bool,
        another: bool,
    ) -> Decided:
        workflow_id, now = met.plan.workflow_id, met.now
        run = _run_of(met)
        ops = [*first, self._run_op(run, RunState.RUNNING, key, None, now), *met.if_step]
        hour = bounds.hour_of(rows.moment(now))
        if met.limits.cooldown > 0:
            until = bounds.cooldown_until(met.limits, rows.moment(now))
            past = float("inf") if another else now
            ops.append(rows.start_cooldown(workflow_id, key, until, past, asdict(met.position.presence)))
        if counts:
            ops.append(rows.count_within(workflow_id, RUNS, hour, met.limits.per_hour))
            ops.append(_clear_capped(workflow_id))
        else:
            ops.append(rows.count(workflow_id, RUNS, hour))
        ops.append(self._told("run.started", run, {"mode": met.mode}, now))
        return Decided(tuple(ops), met.run_id, made=1)

    def uncounted(self, met: Met) -> tuple[Op, ...]:
        """The writes of a met run that counts nowhere (a try)."""
        return (self._run_op(_run_of(met), RunState.RUNNING, None, None, met.now), *met.if_step)

    def _run_op(self, run: Run, state: RunState, key: str | None, reason: str | None, now: float) -> Op:
        return rows.new_run(
            rows.run_row(
                run.id,
                run.plan.workflow_id,
                run.plan.version,
                run.mode,
                state,
                run.event,
                run.chain,
                position_to_json(run.position),
                now,
                one_key=key,
                revisions=self._parts.site.revisions(),
                reason=reason,
            )
        )

    def _told(self, topic: str, run: Run, more: Mapping[str, JSON], now: float) -> Op:
        payload = {"run": run.id, "workflow": run.plan.workflow_id, **more}
        return rows.publish(topic, payload, run.event.camera, now)

    def _seen_again(self, run_id: str, event: Event, picture: str | None) -> Decided:
        told = rows.publish("run.step", {"run": run_id, "seen_again": event.id}, event.camera, self._parts.now())
        return Decided((rows.seen_again(run_id, picture), told))

    def _refused(self, plan: Plan, event: Event, refusal: Refusal) -> Decided:
        """A counter and a sampled reason, never silence."""
        return Decided(self._counted(plan.workflow_id, event, refusal, bounds.SENTENCES[refusal]))

    def _counted(self, workflow_id: str, event: Event, why: str, sentence: str) -> tuple[Op, ...]:
        sample = rows.dump({"event": event.id, "at": event.at.timestamp(), "why": sentence})
        return (rows.count(workflow_id, f"refused.{why}", bounds.hour_of(self._parts.clock.now()), sample),)

    def _capped(self, met: Met, said: bool) -> tuple[Op, ...]:
        """Reaching the hour's cap needs attention, and is said in one alert."""
        plan, parts = met.plan, self._parts
        hour = bounds.hour_of(rows.moment(met.now))
        if said:
            return (rows.count(plan.workflow_id, CAPPED, hour),)
        title = f"{plan.name} has used its {met.limits.per_hour} runs of this hour"
        alert = engine_alert(
            parts, title, "Raise per_hour, or narrow what starts it.", workflow_id=plan.workflow_id, event=met.event
        )
        first = rows.count_first(plan.workflow_id, CAPPED, hour)
        return (first, attention_op(plan.workflow_id, PER_HOUR_ATTENTION), *alert)


PER_HOUR_ATTENTION: Final[dict[str, JSON]] = {"why": "per_hour", "sentence": bounds.SENTENCES[Refusal.PER_HOUR]}


def _run_of(met: Met) -> Run:
    chain = bounds.run_chain(met.event)
    return Run(met.run_id, met.mode, met.event, chain, 0, met.plan, met.position, None, met.limits)


def _clear_capped(workflow_id: str) -> Op:
    """A run within the cap again: that attention is over."""
    return Op(
        "UPDATE workflows SET attention = NULL WHERE id = :id AND attention = :capped",
        {"id": workflow_id, "capped": rows.dump(PER_HOUR_ATTENTION)},
    )


def end_run_ops(run: Mapping[str, Any], state: RunState, reason: str, now: float) -> tuple[Op, ...]:
    """End a run from outside it: its waits, its questions and the step that it stood in end too."""
    told = {"run": run["id"], "workflow": run["workflow_id"], "state": state, "reason": reason}
    return (
        rows.end_alive_run(run["id"], run["fence"], state, reason, now),
        rows.end_waiting_step(run["id"], StepStatus.SKIPPED, now),
        rows.cancel_waits(run["id"]),
        rows.close_approvals(run["id"], "cancelled"),
        rows.publish_of_run("run.ended", told, run["id"], now),
        rows.publish_of_run("approval.closed", {"run": run["id"], "why": reason}, run["id"], now),
    )


def _if_row(
    run_id: str, answer: object, values: Mapping[str, Labelled], started: float, ended: float
) -> dict[str, JSON]:
    failed = isinstance(answer, Failed)
    said = {"error": answer.sentence, "code": answer.code} if isinstance(answer, Failed) else {}
    done = answer if isinstance(answer, Done) else None
    return {
        "run_id": run_id,
        "path": TOP_IF,
        "seq": 0,
        "kind": "if",
        "status": (StepStatus.FAILED if failed else StepStatus.DONE).value,
        "outcome": done.outcome if done else None,
        "inputs": rows.dump(values_to_json(values)),
        "result": rows.dump(dict(done.result) if done else said),
        "started_at": started,
        "ended_at": ended,
    }
