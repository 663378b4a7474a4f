"""The steps that act. What came of an action is known, or said to be unknown; a thing that moves is never sent twice.

The order is: decide, commit the intent, decide again (freshness and state may have gone meanwhile), act, and the runner commits the result. A
crash between intent and result leaves the intent, and `repeat` says what it means to the next who finds it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any, Final

from siteward.core.contract.document import State, Step
from siteward.core.contract.flow_moves import target_key
from siteward.core.contract.registry import ActionSpec, Provenance, Repeat
from siteward.core.engine.authority import time_left
from siteward.core.engine.effects import Expire, Perform, Refuse, Situation, WouldHave, decide
from siteward.core.engine.parts import Parts
from siteward.core.engine.position import authority_to_json
from siteward.core.engine.seam import JSON, Done, Failed, Labelled, NewWait, Outcome, Park, StepStatus
from siteward.core.engine.values import action_arguments, plain
from siteward.core.engine.views import Run
from siteward.core.errors import (
    ActionFailed,
    AuthFailed,
    ConfigurationInvalid,
    EgressRefused,
    NotAllowed,
    NotReady,
    OutcomeUnknown,
    SitewardError,
    TooLate,
    UnknownRole,
)
from siteward.core.plugins.guard import Hung, Raised, Worked, attempt, attempt_async
from siteward.core.plugins.objects import Action, ActionCall
from siteward.core.store.errors import LostRace

_log = logging.getLogger(__name__)

ACTION_SECONDS: Final = 60.0
"""An action that does not answer in this time has an unknown outcome."""
BACK_OFF: Final = (5.0, 30.0, 120.0, 600.0)
"""Seconds before each further attempt of an action that may be repeated under its key; then it has failed."""

HOPELESS: Final = (EgressRefused, UnknownRole, ConfigurationInvalid, AuthFailed, NotAllowed)
"""Trying again does not help."""
NOT_MOVED: Final = (ActionFailed, NotReady, *HOPELESS)
"""Errors after which it is known that nothing moved."""


@dataclass(frozen=True, slots=True)
class Intent:
    """An intent that was committed and has no result."""

    repeat: Repeat
    attempts: int


@dataclass(frozen=True, slots=True)
class Acted:
    """What came of an action step, with the columns of its row."""

    outcome: Outcome
    inputs: Mapping[str, Labelled]
    key: str | None = None
    attempts: int = 0


StateNow = Callable[[Run], Awaitable[State]]
"""The state of a run's workflow at this instant. Raises `LostRace` where the run is known to be ours no more."""
CommitIntent = Callable[[Run, Step, str, "Acted", Repeat, State], Awaitable[None]]


class Acting:
    """Performs the action steps of runs."""

    def __init__(self, parts: Parts, state_now: StateNow, commit_intent: CommitIntent) -> None:
        self._parts = parts
        self._state_now = state_now
        self._commit_intent = commit_intent

    async def act(self, run: Run, step: Step, path: str, intent: Intent | None) -> Acted:
        """Run one action step up to its outcome. Raises `LostRace` and `CommitFailed` from the commit of its intent; nothing was sent then."""
        spec, action = self._parts.skills.registry.actions[step.kind], self._parts.skills.actions.get(step.kind)
        try:
            inputs = action_arguments(spec, step.settings, run.position.values)
        except SitewardError as error:
            return Acted(Failed(error.code, error.sentence), {})
        key = f"{run.id}:{path}"
        if intent is not None and intent.repeat is Repeat.ONCE:
            return Acted(_unknown(step.kind), inputs, key, intent.attempts)
        if action is None:
            return Acted(Failed("skill.missing", f"Nobody provides {step.kind} now."), inputs)
        state = await self._state_now(run)
        decided = self._decide(spec, inputs, run, state)
        if not isinstance(decided, Perform):
            return Acted(_not_done(decided), inputs, key)
        call = self._call(run, step, path, inputs, key)
        if decided.repeat is Repeat.WITH_STEP:
            return Acted(_recorded(action, call, self._parts), inputs, key)
        if decided.repeat is Repeat.RERUN:
            return Acted(await self._perform(action, call, decided, NOT_MOVED), inputs, key, 1)
        acted = Acted(Done(), inputs, key, 1 + (intent.attempts if intent is not None else 0))
        try:
            await self._commit_intent(run, step, path, acted, decided.repeat, state)
        except LostRace:
            if await self._state_now(run) is state:
                raise
            # Still ours, and another process switched the workflow: what becomes of the call is another question now.
            return await self.act(run, step, path, intent)
        return replace(acted, outcome=await self._send(run, spec, action, call, acted, decided.repeat))

    async def _send(
        self, run: Run, spec: ActionSpec, action: Action, call: ActionCall, acted: Acted, repeat: Repeat
    ) -> Outcome:
        """Behind the intent: the last look at state, authority and freshness, and the act itself."""
        self._parts.boundaries.reach("intent.committed")
        decided = self._decide(spec, acted.inputs, run, await self._state_now(run))
        if not isinstance(decided, Perform):
            return _not_done(decided)
        call = replace(call, send_by=self._send_by(spec, run, call, decided))
        if repeat is Repeat.ONCE:
            outcome = await self._perform(action, call, decided, NOT_MOVED)
        else:
            outcome = self._or_again(await self._perform(action, call, decided, HOPELESS), acted.attempts)
        self._parts.boundaries.reach("act.after")
        return outcome

    def _or_again(self, outcome: Outcome, attempts: int) -> Outcome:
        """An unclear outcome under a key is tried again, later and not for ever."""
        if not isinstance(outcome, Failed) or outcome.status is not StepStatus.UNKNOWN:
            return outcome
        if attempts > len(BACK_OFF):
            return Failed(outcome.code, f"Given up after {attempts} attempts: {outcome.sentence}")
        due = self._parts.clock.now() + timedelta(seconds=BACK_OFF[attempts - 1])
        return Park((NewWait("retry", due),), result={"error": outcome.sentence, "again_at": due.isoformat()})

    async def _perform(
        self, action: Action, call: ActionCall, decided: Perform, clear: tuple[type[SitewardError], ...]
    ) -> Outcome:
        """Call the integration. `clear` are the errors after which it is known that nothing happened; every other end is unknown."""
        if action.perform is None:
            return Failed("skill.broken", f"{call.action} says how it repeats and not how it acts.")
        self._parts.boundaries.reach("act.before")
        match await attempt_async(partial(action.perform, call, self._parts.host), ACTION_SECONDS):
            case Worked(value=came):
                return _performed(came, decided)
            case Hung():
                sentence = f"{call.action} gave no answer in {ACTION_SECONDS:.0f} s."
                return Failed(OutcomeUnknown.code, sentence, StepStatus.UNKNOWN)
            case Raised(error=error):
                return _ended_badly(call.action, error, clear)

    def _decide(
        self, spec: ActionSpec, inputs: Mapping[str, Labelled], run: Run, state: State
    ) -> Perform | WouldHave | Refuse | Expire:
        parts, site = self._parts, self._parts.site
        target = target_key(spec, plain(inputs)) or spec.name
        allowed = site.authority_lists()
        return decide(
            spec,
            inputs,
            Situation(
                workflow_state=state,
                mode=run.mode,
                trail=run.position.trail,
                event=run.event,
                now=parts.clock.now(),
                boot=parts.clock.since_boot(),
                fresh_for=site.fresh_for(target),
                tells=site.tells(),
                allowed_lists=allowed.get(target, frozenset()),
                restored_at=site.restored_at(),
            ),
        )

    def _send_by(self, spec: ActionSpec, run: Run, call: ActionCall, decided: Perform) -> float | None:
        """Until when, by the clock that counts sleep, what allows this move allows it."""
        if decided.authority is None:
            return None
        parts = self._parts
        fresh_for = timedelta(seconds=parts.site.fresh_for(target_key(spec, call.arguments) or spec.name))
        boot = parts.clock.since_boot()
        return boot + time_left(decided.authority, run.event, parts.clock.now(), boot, fresh_for).total_seconds()

    def _call(self, run: Run, step: Step, path: str, inputs: Mapping[str, Labelled], key: str) -> ActionCall:
        return ActionCall(
            action=step.kind,
            arguments=plain(inputs),
            key=key,
            run_id=run.id,
            workflow=run.plan.name,
            step_path=path,
            correlation_id=run.event.correlation_id or run.event.id,
            chain=run.chain,
            event=run.newest_event(),
            workflow_id=run.plan.workflow_id,
        )


def _performed(came: Mapping[str, JSON], decided: Perform) -> Done:
    result: dict[str, Any] = {"result": dict(came)}
    if decided.authority is not None:
        result["authority"] = authority_to_json(decided.authority)
    return Done(values={name: Labelled(value, Provenance.APP) for name, value in came.items()}, result=result)


def _ended_badly(name: str, error: BaseException, clear: tuple[type[SitewardError], ...]) -> Failed:
    if isinstance(error, TooLate):
        return Failed(error.code, error.sentence, StepStatus.EXPIRED)
    if isinstance(error, clear):
        return Failed(error.code, error.sentence)
    if isinstance(error, SitewardError):
        return Failed(error.code, error.sentence, StepStatus.UNKNOWN)
    _log.error("The action %s raised what no action may raise.", name, exc_info=error)
    return Failed("action.broken", f"{name} broke ({type(error).__name__}).", StepStatus.UNKNOWN)


def _recorded(action: Action, call: ActionCall, parts: Parts) -> Outcome:
    if action.record is None:
        return Failed("skill.broken", f"{call.action} writes with its step and does not say what.")
    record = action.record
    match attempt(lambda: tuple(record(call, parts.clock))):
        case Worked(value=records):
            return Done(records=records)
        case Raised(error=SitewardError() as error):
            return Failed(error.code, error.sentence)
        case Raised(error=error):
            _log.error("The action %s broke while it said what to record.", call.action, exc_info=error)
            return Failed("action.broken", f"{call.action} broke ({type(error).__name__}).")


def _not_done(decided: WouldHave | Refuse | Expire) -> Outcome:
    match decided:
        case WouldHave():
            said: dict[str, JSON] = {"would_have": decided.sentence}
            if decided.refused is not None:
                said["refused"] = decided.refused
            return Done(result=said, status=StepStatus.WOULD_HAVE)
        case Expire():
            return Failed("effect.expired", decided.sentence, StepStatus.EXPIRED)
        case Refuse():
            return Failed(decided.code, decided.sentence, StepStatus.REFUSED)


def _unknown(kind: str) -> Failed:
    return Failed(
        OutcomeUnknown.code,
        f"{kind} was started before a restart and left no result: it may have acted or not, and is not sent again. Look at it yourself.",
        StepStatus.UNKNOWN,
    )
