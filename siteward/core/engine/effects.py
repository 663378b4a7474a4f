"""The one place that decides an effect: perform it, say what it would have done, refuse it, or let it expire.

The runner asks `decide` just before it sends anything, with the workflow's state and the run's labels as they are at that moment. Pure:
everything it looks at is in the `Situation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from siteward.core.contract.document import State
from siteward.core.contract.flow_moves import moves_things, recipient_fields
from siteward.core.contract.registry import ActionSpec, Provenance, Repeat
from siteward.core.events.event import Event

from . import authority
from .seam import Authority, Labelled, Mode, Trail
from .values import as_text, plain

SEVERITIES: Final = ("low", "medium", "high", "critical")
CAP: Final = "medium"
"""What AI may raise by its own word until its trust is earned."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What holds at the moment of an effect. `boot` is `since_boot()` now; `fresh_for` the site's bound for this target in seconds;
    `tells` the targets that an admin approved as ones that only tell; `allowed_lists` the lists that the site accepts as authority for
    this target (None: not asked); `restored_at` when the site was last restored from a backup."""

    workflow_state: State
    mode: Mode
    trail: Trail
    event: Event
    now: datetime
    boot: float
    fresh_for: float
    tells: frozenset[str] = frozenset()
    allowed_lists: frozenset[str] | None = None
    restored_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Perform:
    """Do it, by `repeat`'s rules. `authority` is what allows a move (None for what moves nothing)."""

    repeat: Repeat
    authority: Authority | None = None


@dataclass(frozen=True, slots=True)
class WouldHave:
    """Do nothing and say so: the sentence of the "would have" row. `refused` says why a move would not even have been sent."""

    sentence: str
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """Do nothing: the step is refused, its path stops and an alert says why."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Expire:
    """Do nothing: what allowed the move is too old."""

    sentence: str


Effect: TypeAlias = Perform | WouldHave | Refuse | Expire


def effective_repeat(action: ActionSpec, *, moves: bool) -> Repeat:
    """Whatever moves is done once, also where the same action may be retried when it only tells."""
    return Repeat.ONCE if moves else action.repeat


def moves_now(action: ActionSpec, arguments: Mapping[str, Labelled], tells: frozenset[str]) -> bool:
    """Whether this call moves things, by its resolved arguments."""
    return moves_things(action, plain(arguments), tells)


def decide(action: ActionSpec, arguments: Mapping[str, Labelled], situation: Situation) -> Effect:
    """What becomes of this call now.

    Off stops everything but `try` and `replay`. Outside On, and in a run that is a test, only what may run again is done for real. A move
    also needs an authority on its own path, real labels and freshness (`authority.check_move`), a message a recipient that AI did not
    choose; a test says what those would have said.
    """
    if situation.workflow_state is State.OFF and situation.mode in (Mode.ON, Mode.TEST):
        return Refuse("effect.off", f"{action.name} was not sent: the workflow was turned Off before.")
    moves = moves_now(action, arguments, situation.tells)
    verdict = _authorise(action, arguments, situation) if moves else _addressed(action, arguments)
    if _only_tests(situation) and action.repeat is not Repeat.RERUN:
        return WouldHave(say_call(action, arguments), None if verdict is None else _objection(verdict))
    match verdict:
        case None:
            return Perform(action.repeat)
        case authority.Allowed():
            return Perform(effective_repeat(action, moves=True), verdict.authority)
        case authority.Expired():
            return Expire(verdict.sentence)
        case authority.Refused():
            return Refuse(verdict.code, verdict.sentence)


def _only_tests(situation: Situation) -> bool:
    return situation.mode is not Mode.ON or situation.workflow_state is not State.ON


def _authorise(action: ActionSpec, arguments: Mapping[str, Labelled], situation: Situation) -> authority.Verdict:
    return authority.check_move(
        action,
        arguments,
        situation.trail,
        situation.event,
        situation.now,
        situation.boot,
        timedelta(seconds=situation.fresh_for),
        allowed_lists=situation.allowed_lists,
        not_before=situation.restored_at,
    )


def _addressed(action: ActionSpec, arguments: Mapping[str, Labelled]) -> authority.Refused | None:
    """A message that AI sent on its way: to whom it goes is for people to say. (Where a move goes is `check_move`'s question.)"""
    reached = [name for name in recipient_fields(action) if name in arguments]
    chosen = [name for name in reached if arguments[name].provenance is Provenance.AI]
    if not chosen:
        return None
    sentence = f"{action.name} was not sent: AI chose its {', '.join(chosen)}."
    return authority.Refused("safety.ai_recipient", sentence)


def _objection(verdict: authority.Verdict) -> str | None:
    return None if isinstance(verdict, authority.Allowed) else verdict.sentence


def say_call(action: ActionSpec, arguments: Mapping[str, Labelled]) -> str:
    """What an action would have done, for a row and a page: `gate.open main_gate`, `alert severity high, title Intruder`."""
    said = [
        as_text(value.value) if name == action.target else f"{name} {as_text(value.value)}"
        for name, value in arguments.items()
    ]
    return " ".join((action.name, ", ".join(said))).strip()


@dataclass(frozen=True, slots=True)
class Trust:
    """How far the AI step that led to an alert has earned `high` on the lane taken, and in which words (`14 of 20`)."""

    earned: bool = False
    said: str = "not measured yet"


UNMEASURED: Final = Trust()


def clamp_severity(asked: str, trail: Trail, trust: Trust = UNMEASURED) -> tuple[str, str | None]:
    """The severity that an alert gets, and why where it is less than asked.

    AI by its own word raises `medium`; `high` once its trust is earned, and `critical` never. A person's reply or a confirmed call
    after the last AI step, or an authorising condition, lifts the cap. A severity that nobody knows counts as the cap.
    """
    if asked not in SEVERITIES:
        return CAP, f'"{asked}" is no severity'
    if not trail.ai_before or any(_vouches(given, ai_after) for given, ai_after in trail.authorities):
        return asked, None
    cap = "high" if trust.earned else CAP
    if SEVERITIES.index(asked) <= SEVERITIES.index(cap):
        return asked, None
    if trust.earned:
        return cap, f"{asked}, capped to {cap}: critical needs a person or an authorising condition"
    return cap, f"{asked}, capped to {cap}: {trust.said}"


def _vouches(given: Authority, ai_after: bool) -> bool:
    return given.kind == authority.AUTHORISING or (given.kind in authority.PERSONS and not ai_after)
