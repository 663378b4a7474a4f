"""What one workflow makes of an event: loop guard and the top-level `if`; then, for a met run only, one at a time, cooldown and the hour's
cap. Nothing is written here: a decision is a list of writes, each on the condition that what it rests on still holds.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from siteward.core.contract.document import State
from siteward.core.engine import authority as authorities
from siteward.core.engine import limits as bounds
from siteward.core.engine import rows
from siteward.core.engine.catalog import Catalog, attention_op
from siteward.core.engine.guarded import call_step
from siteward.core.engine.hints import Alive, Cooling, Hints, Key
from siteward.core.engine.leases import unless_busy
from siteward.core.engine.limits import Refusal
from siteward.core.engine.matcher import Match, TriggerBroken, given_by
from siteward.core.engine.meters import Meters
from siteward.core.engine.parts import Parts
from siteward.core.engine.plan import TOP_IF, Plan
from siteward.core.engine.position import Position, first_position, position_from_json, position_to_json, trail_after
from siteward.core.engine.records import engine_alert
from siteward.core.engine.seam import JSON, Done, Failed, Labelled, Mode, RunState, StepStatus
from siteward.core.engine.values import values_to_json
from siteward.core.engine.views import Run, ViewOfRun
from siteward.core.events.event import Event
from siteward.core.store.writer import Op

_log = logging.getLogger(__name__)

BROKEN: Final = "broken"
"""Why an event started nothing where its trigger or `if` broke over it."""
RUNS: Final = "runs_per_hour"
CAPPED: Final = "capped"
TOLD_AGAIN_SECONDS: Final = 1.0
TOLD_AGAIN_RUNS: Final = 1000


@dataclass(frozen=True, slots=True)
class Holding:
    """What a started run holds once it is committed. `hour` is the one it was counted in."""

    key: Key
    alive: Alive
    cooling: Cooling | None
    hour: str


@dataclass(frozen=True, slots=True)
class Decided:
    """What one workflow makes of an event: the writes, the run that they start (`run`), or the one that was over at once (`over`)."""

    ops: tuple[Op, ...]
    run: Run | None = None
    made: int = 0
    over: str | None = None
    holding: Holding | None = None
    refused: tuple[str, str] | None = None
    """The workflow that did not want it, and why."""
    ended: tuple[tuple[str, Mode, RunState], ...] = ()
    """Runs that are over with this decision: by workflow, mode and state."""

    def tell(self, meters: Meters) -> None:
        """Count what is committed now."""
        if self.run is not None:
            meters.run_started(self.run.plan.workflow_id, self.run.mode)
        if self.refused is not None:
            meters.refused(*self.refused)
        for workflow_id, mode, state in self.ended:
            if self.over is not None:
                meters.run_started(workflow_id, mode)
            meters.run_ended(workflow_id, mode, state)


@dataclass(frozen=True, slots=True)
class Met:
    """A workflow whose trigger and top-level `if` an event met: the run as it would start."""

    run: Run
    if_step: tuple[Op, ...]
    now: float


@dataclass(frozen=True, slots=True)
class Counted:
    """What a workflow's counters say of a key: until when it cools down and for whom, the runs of this hour, and whether its cap was said."""

    cooling: Cooling | None = None
    runs: int = 0
    cap_said: bool = False


class Admission:
    """Decides for one workflow at a time."""

    def __init__(self, parts: Parts, catalog: Catalog, hints: Hints) -> None:
        self._parts = parts
        self._catalog = catalog
        self._hints = hints
        self._told_again: dict[str, float] = {}
        """When pages last heard that a run was seen again, by the run."""

    async def decide(self, match: Match, event: Event, *, look: bool) -> Decided:
        """Decide by the rows (`look`), or by what this process remembers: then a race that is lost means to look."""
        plan = match.plan
        if (refusal := bounds.loop_guard(event, plan.workflow_id)) is not None:
            return self._refused(plan, match.scope, event, refusal)
        is_on = self._catalog.get(plan.workflow_id).state is State.ON and not match.beside
        mode = Mode.ON if is_on else Mode.TEST
        try:
            met = await self.meet(match, event, mode)
        except TriggerBroken as error:
            _log.exception("Event %s cannot start %s.", event.id, plan.name)
            counted = self.counted(match.scope, event, BROKEN, error.sentence)
            return Decided(counted, refused=(plan.workflow_id, BROKEN))
        if isinstance(met, Decided):
            return met
        key_of_visit = bounds.one_key(met.run.limits.scope, met.run.position.presence)
        key = (plan.workflow_id, f"{bounds.BESIDE}{key_of_visit}" if match.beside else key_of_visit)
        if not look and (remembered := self._by_hints(met, key)) is not None:
            return remembered
        return await self._by_rows(met, key)

    async def meet(self, match: Match, event: Event, mode: Mode) -> Met | Decided:
        """Ask the top-level `if`. Where it is not met the run ends at once, and says so."""
        parts, plan = self._parts, match.plan
        given = given_by(match.use, event, parts.skills.triggers, parts.skills.registry, parts.site.zone)
        trail = authorities.begin(event, given.provenance)
        seen = bounds.presence(event, given.values)
        run_id, now, limits = parts.ids.new(), parts.now(), self._catalog.limits(plan)
        began = parts.clock.since_boot()
        bare = Position((), given.values, trail, presence=seen)
        run = Run(run_id, mode, event, bounds.run_chain(event), 0, plan, bare, event.picture, limits)
        step = plan.top_if()
        if step is None:
            return Met(run.at(first_position(plan, given.values, trail, seen, began)), (), now)
        answer = await call_step(parts.host_steps["if"].start(step, ViewOfRun(parts, run, TOP_IF, mode)), quick=True)
        row = rows.put_step(_if_row(run_id, answer, given.values, now, parts.now()))
        if isinstance(answer, Done) and answer.outcome == "true":
            trail = trail_after(answer, trail)
            if answer.authority is not None:
                trail = authorities.enter(trail, answer.authority)
            return Met(run.at(first_position(plan, given.values, trail, seen, began)), (row,), now)
        state = RunState.FAILED if isinstance(answer, Failed) else RunState.NOT_MET
        reason = answer.sentence if isinstance(answer, Failed) else None
        made = self._run_op(run, state, reason, now)
        told = self._told("run.ended", run, {"state": state}, now)
        return Decided((made, row, told), made=1, over=run_id, ended=((plan.workflow_id, mode, state),))

    # -- one at a time, cooldown, the hour's cap -----------------------------------------------------------------------
    def _by_hints(self, met: Met, key: Key) -> Decided | None:
        """The decision by what this process remembers; None where that is not enough."""
        hour = bounds.hour_of(rows.moment(met.now))
        if not self._hints.useful or self._hints.is_capped(bounds.scope_of(*key), hour):
            return None
        alive = self._hints.alive(key)
        if alive is None:
            return self._admit(met, key, Counted(self._hints.cooling(key)))
        seen = met.run.position.presence
        if bounds.against_waiting(alive.presence, seen) is bounds.Repeat.SEEN_AGAIN:
            return self._seen_again(alive.run_id, met.run.event)
        return None

    async def _by_rows(self, met: Met, key: Key) -> Decided:
        workflow_id, hour = key[0], bounds.hour_of(rows.moment(met.now))
        # In this order: a run that starts between the two reads is then seen as alive, and not only by the cooldown that it started.
        counted = await self._counters(bounds.scope_of(*key), key[1], hour)
        alive = await self._alive(workflow_id, key[1])
        if alive is None:
            self._hints.found(key, None, counted.cooling)
            return self._admit(met, key, counted)
        waiting = position_from_json(rows.load(alive["position"])).presence
        self._hints.found(key, Alive(alive["id"], waiting), counted.cooling)
        if bounds.against_waiting(waiting, met.run.position.presence) is bounds.Repeat.SEEN_AGAIN:
            return self._seen_again(alive["id"], met.run.event)
        acting = await self._is_acting(alive)
        if acting:
            # What moves for the one before cannot be taken back: that run finishes, and the key is the newcomer's.
            ended = [rows.lock_run(alive["id"], alive["fence"]), rows.give_key_up(alive["id"], alive["fence"])]
        else:
            ended = [*end_run_ops(alive, RunState.CANCELLED, "superseded", met.now)]
        decided = self._admit(met, key, counted, (self._of_another(ended[0]), *ended[1:]))
        if decided.run is None or acting:
            return decided
        return replace(decided, ended=((workflow_id, Mode(alive["mode"]), RunState.CANCELLED),))

    def _of_another(self, change: Op) -> Op:
        """A change of a run that another engine may just be moving: it is not waited for, as that one may wait for us."""
        return change if self._parts.alone else unless_busy(change)

    async def _is_acting(self, run: Mapping[str, Any]) -> bool:
        if run["state"] != RunState.RUNNING:
            return False
        acting = "SELECT path FROM workflow_run_steps WHERE run_id = :run AND status = 'intent'"
        return bool(await self._parts.store.fetch(acting, {"run": run["id"]}))

    async def _alive(self, workflow_id: str, key: str) -> Mapping[str, Any] | None:
        found = await self._parts.store.fetch(
            "SELECT * FROM workflow_runs WHERE workflow_id = :workflow AND one_key = :key AND state IN ('running', 'waiting')",
            {"workflow": workflow_id, "key": key},
        )
        return found[0] if found else None

    def _admit(self, met: Met, key: Key, counted: Counted, ended: tuple[Op, ...] = ()) -> Decided:
        """Cooldown and the hour's cap. `ended` ends the run of the car before, where this one takes its place."""
        cooling, run, scope = counted.cooling, met.run, bounds.scope_of(*key)
        # The next car is not refused for the cooldown of the one before.
        whose = None if cooling is None else cooling.whose
        another = bool(ended) or (
            whose is not None and bounds.against_waiting(whose, run.position.presence) is bounds.Repeat.SUPERSEDES
        )
        refusal = bounds.admit(
            run.limits,
            now=self._parts.clock.now(),
            cools_until=None if another or cooling is None else cooling.until,
            runs_this_hour=counted.runs,
        )
        if refusal is Refusal.PER_HOUR:
            self._hints.capped(scope, bounds.hour_of(rows.moment(met.now)))
            capped = self._capped(met, scope, counted.cap_said)
            if run.plan.asks:
                # A cap never hides an ask: the person is asked, AI's own cap bounds the rest.
                return self._start(met, key, (*ended, *capped), counts=False, another=another)
            refused = self._refused(run.plan, scope, run.event, refusal)
            return Decided((*capped, *refused.ops), refused=refused.refused)
        if refusal is not None:
            return self._refused(run.plan, scope, run.event, refusal)
        return self._start(met, key, ended, counts=True, another=another)

    async def _counters(self, scope: str, key: str, hour: str) -> Counted:
        read = await self._parts.store.fetch(
            "SELECT name, bucket, count, until, sample FROM counters WHERE scope = :scope AND bucket IN (:key, :hour)",
            {"scope": scope, "key": key, "hour": hour},
        )
        found = {(row["name"], row["bucket"]): row for row in read}
        cools, used = found.get(("cooldown", key)), found.get((RUNS, hour))
        cooling = None
        if cools is not None:
            whose = None if cools["sample"] is None else bounds.Presence(**rows.load(cools["sample"]))
            cooling = Cooling(cools["until"], whose)
        return Counted(cooling, used["count"] if used else 0, (CAPPED, hour) in found)

    # -- the writes ----------------------------------------------------------------------------------------------------
    def _start(
        self,
        met: Met,
        key: Key,
        first: tuple[Op, ...],
        *,
        counts: bool,
        another: bool,
    ) -> Decided:
        scope, now, seen = bounds.scope_of(*key), met.now, met.run.position.presence
        run = met.run.holding(key[1])
        ops = [*first, self._run_op(run, RunState.RUNNING, None, now), *met.if_step]
        cooling = None
        if run.limits.cooldown > 0:
            cooling = Cooling(bounds.cooldown_until(run.limits, rows.moment(now)), seen)
            past = float("inf") if another else now
            ops.append(rows.start_cooldown(scope, key[1], cooling.until, past, asdict(seen)))
        hour = bounds.hour_of(rows.moment(now))
        if counts:
            ops.append(rows.count_within(scope, RUNS, hour, run.limits.per_hour))
            if not self._hints.is_free(scope, hour) and scope == key[0]:
                ops.append(_clear_capped(scope))
        else:
            ops.append(rows.count(scope, RUNS, hour))
        ops.append(self._told("run.started", run, {"mode": run.mode}, now))
        return Decided(tuple(ops), run, made=1, holding=Holding(key, Alive(run.id, seen), cooling, hour))

    def uncounted(self, met: Met) -> tuple[Op, ...]:
        """The writes of a met run that counts nowhere (a try)."""
        return (self._run_op(met.run, RunState.RUNNING, None, met.now), *met.if_step)

    def _run_op(self, run: Run, state: RunState, reason: str | None, now: float) -> Op:
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
                one_key=run.one_key,
                owner=self._parts.owner,
                revisions=self._parts.site.revisions(),
                reason=reason,
            )
        )

    def _told(self, topic: str, run: Run, more: Mapping[str, JSON], now: float) -> Op:
        payload = {"run": run.id, "workflow": run.plan.workflow_id, **more}
        return rows.publish(topic, payload, run.event.camera, now)

    def _seen_again(self, run_id: str, event: Event) -> Decided:
        """Counted on the run. Pages hear of it now and then: a flood of the same fills no outbox."""
        counted, boot = self._of_another(rows.seen_again(run_id, event.picture)), self._parts.clock.since_boot()
        if 0 <= boot - self._told_again.get(run_id, -TOLD_AGAIN_SECONDS) < TOLD_AGAIN_SECONDS:
            return Decided((counted,))
        self._told_again[run_id] = boot
        if len(self._told_again) > TOLD_AGAIN_RUNS:
            self._told_again.pop(next(iter(self._told_again)))
        told = rows.publish("run.step", {"run": run_id, "seen_again": event.id}, event.camera, self._parts.now())
        return Decided((counted, told))

    def _refused(self, plan: Plan, scope: str, event: Event, refusal: Refusal) -> Decided:
        """A counter and a sampled reason, never silence."""
        counted = self.counted(scope, event, refusal, bounds.SENTENCES[refusal])
        return Decided(counted, refused=(plan.workflow_id, refusal.value))

    def counted(self, scope: str, event: Event, why: str, sentence: str) -> tuple[Op, ...]:
        """The counter of an event that started nothing, with a sampled reason."""
        sample = rows.dump({"event": event.id, "at": event.at.timestamp(), "why": sentence})
        return (rows.count(scope, f"refused.{why}", bounds.hour_of(self._parts.clock.now()), sample),)

    def _capped(self, met: Met, scope: str, said: bool) -> tuple[Op, ...]:
        """Reaching the hour's cap needs attention, and is said in one alert. Where a version in Test reaches it, what is On goes on, and only the
        alert says so."""
        plan, parts = met.run.plan, self._parts
        hour, beside = bounds.hour_of(rows.moment(met.now)), scope != plan.workflow_id
        if said:
            again = rows.count(scope, CAPPED, hour)
            return (again,) if beside else (again, _still_capped(plan.workflow_id))
        who = f"{plan.name}, version {plan.version} in Test," if beside else plan.name
        title = f"{who} has used its {met.run.limits.per_hour} runs of this hour"
        alert = engine_alert(
            parts, title, "Raise per_hour, or narrow what starts it.", workflow_id=plan.workflow_id, event=met.run.event
        )
        first = rows.count_first(scope, CAPPED, hour)
        if beside:
            return (first, *alert)
        return (first, attention_op(plan.workflow_id, PER_HOUR_ATTENTION), *alert)


PER_HOUR_ATTENTION: Final[dict[str, JSON]] = {"why": "per_hour", "sentence": bounds.SENTENCES[Refusal.PER_HOUR]}


def _still_capped(workflow_id: str) -> Op:
    """An edit ends the attention, and not the hour."""
    return Op(
        "UPDATE workflows SET attention = :capped WHERE id = :id AND attention IS NULL",
        {"id": workflow_id, "capped": rows.dump(PER_HOUR_ATTENTION)},
    )


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
        rows.lock_run(run["id"], run["fence"]),
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
