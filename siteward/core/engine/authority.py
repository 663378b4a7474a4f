"""May this move be made now? The run-time twin of the validator's safety check, on the real labels of a real run.

The validator judges every path that a file could take; this judges the one that a run took, just before the move is sent. It
trusts nothing that has lost its label, and it is pure: what it is given is all it knows.

A trail goes from step to step: `begin`, `ai_spoke`, `rule_read`, `enter` a lane with its authority, `unanswered` where
nobody answered, `leave` a lane. The runner and the scripted interpreter of `siteward.sdk` both walk by these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from siteward.core.contract.registry import ActionSpec, Moves, Provenance
from siteward.core.events.event import Event

from .seam import Authority, Labelled, Trail

REPLY: Final = "reply"
CALL: Final = "call"
AUTHORISING: Final = "authorising"
RULE: Final = "rule"
PERSONS: Final = frozenset({REPLY, CALL})
LONG_AGO: Final = timedelta(days=100 * 365)
AGREED_SECONDS = 1.0
"""The age of what was allowed before the machine was last started: older than any site allows."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The move may be made now. `authority` is what allows it (None for an action that moves nothing)."""

    authority: Authority | None


@dataclass(frozen=True, slots=True)
class Refused:
    """The move may not be made on this path: a `safety.*` code and a sentence for the run's page."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Expired:
    """The move was allowed once, too long ago."""

    sentence: str


Verdict: TypeAlias = Allowed | Refused | Expired


def check_move(
    action: ActionSpec,
    arguments: Mapping[str, Labelled],
    trail: Trail,
    event: Event,
    now: datetime,
    boot: float | None,
    fresh_for: timedelta,
    *,
    allowed_lists: Collection[str] | None = None,
    not_before: datetime | None = None,
) -> Verdict:
    """Judge one move. `arguments` are the action's settings, filled and labelled; `now` and `boot` are the clock's `now()` and
    `since_boot()`; `fresh_for` is the site's bound for this target; `allowed_lists` are the lists that the site accepts as authority for it
    (None: not asked). `not_before` is when the site was last restored from a backup: what was allowed until then may have been done then."""
    if action.moves is Moves.NO:
        return Allowed(None)
    if trail.unanswered:
        return Refused(
            "safety.no_answer_moves", f"{action.name} was not done: nobody answered, or an answer was not confirmed."
        )
    ai = trail.ai_before or event.provenance is Provenance.AI
    standing = [authority for authority, overruled in trail.authorities if _stands(authority, overruled, ai, event)]
    if not standing:
        return _unguarded(action, ai)
    listed = [authority for authority in standing if _list_accepted(authority, ai, allowed_lists)]
    if not listed:
        return Refused(
            "safety.list_not_allowed",
            f"{action.name} was not done: the site accepts no list on this path for this target.",
        )
    unseen = _ai_names(arguments)
    covering = [authority for authority in listed if unseen is not None and _covers(authority, unseen)]
    if not covering:
        return Refused(
            "safety.ai_argument",
            f"{action.name} was not done: {_whose(arguments)} came from AI and nobody was shown it.",
        )
    present = [authority for authority in covering if not_before is None or _given_at(authority, event) > not_before]
    if not present:
        return Expired(
            f"{action.name} was not done: what allowed it is from before this site was restored from a backup, and may have been done then."
        )
    fresh = [authority for authority in present if _age(authority, event, now, boot) <= fresh_for]
    if not fresh:
        return Expired(f"{action.name} was not done: what allowed it is older than {fresh_for.total_seconds():g} s.")
    return Allowed(fresh[-1])


def time_left(authority: Authority, event: Event, now: datetime, boot: float | None, fresh_for: timedelta) -> timedelta:
    """For how long an authority still allows a move: what is sent by a slow way is checked against it last of all."""
    return fresh_for - _age(authority, event, now, boot)


def _stands(authority: Authority, overruled: bool, ai: bool, event: Event) -> bool:
    if authority.kind in PERSONS:
        return not overruled
    if authority.kind == AUTHORISING:
        return event.provenance is not Provenance.AI
    return authority.kind == RULE and not ai


def _unguarded(action: ActionSpec, ai: bool) -> Refused:
    if ai:
        return Refused(
            "safety.ai_unguarded",
            f"{action.name} was not done: AI came before it, and neither a person after it nor a rule on an identity allowed it.",
        )
    return Refused("safety.no_guard", f"{action.name} was not done: no rule and no person allowed it on this path.")


def _list_accepted(authority: Authority, ai: bool, allowed: Collection[str] | None) -> bool:
    """Lists are asked for where AI came before; without it even a clock would do."""
    if authority.kind != AUTHORISING or allowed is None or not ai:
        return True
    return any(lists <= frozenset(allowed) for lists in authority.lists)


def _ai_names(arguments: Mapping[str, Labelled]) -> frozenset[str] | None:
    """The names behind every argument that is AI's; None where one of them has lost its names."""
    names: frozenset[str] = frozenset()
    for value in arguments.values():
        if value.provenance is not Provenance.AI:
            continue
        if not value.names:
            return None
        names |= value.names
    return names


def _covers(authority: Authority, names: frozenset[str]) -> bool:
    return not names or (authority.kind in PERSONS and names <= authority.shown)


def _whose(arguments: Mapping[str, Labelled]) -> str:
    return ", ".join(sorted(name for name, value in arguments.items() if value.provenance is Provenance.AI))


def _given_at(authority: Authority, event: Event) -> datetime:
    """When an authority was given: a person's with their reply, every other with the event."""
    return authority.at if authority.kind in PERSONS else event.at


def _age(authority: Authority, event: Event, now: datetime, boot: float | None) -> timedelta:
    """How old an authority is: the longest that any clock says.

    A reply ages from its commit, what was not given by a person from its event. A jump of the wall clock can end an authority early and can never keep
    one alive: the clock that counts sleep is asked too, and a time in the future is as wrong as one in the past. Nothing is carried over a restart
    of the machine, however short it seems: a box without a clock of its own goes on after a power cut where it stood before.
    Two processes that share a site count alike up to a part of a second.
    """
    wall = abs(now - (authority.at if authority.kind in PERSONS else event.at))
    if authority.boot is None or boot is None:
        return wall
    return max(wall, timedelta(seconds=boot - authority.boot)) if boot >= authority.boot - AGREED_SECONDS else LONG_AGO


# From one trail to the next.


def begin(event: Event, trigger: Provenance) -> Trail:
    """The trail at the start of a run: AI came before where the event or its trigger is AI's."""
    return Trail(ai_before=Provenance.AI in (event.provenance, trigger))


def begin_always(ended: Trail) -> Trail:
    """The trail at the start of `always`: no authority reaches it, and what AI said before is still before. Whether anybody answered
    does not matter to it, since it runs either way."""
    return Trail(ai_before=ended.ai_before)


def ai_spoke(trail: Trail, names: Iterable[str] = ()) -> Trail:
    """AI had its say: an AI step ran, or a rule or a loop read the AI values `names`. It overrules every person who answered before,
    except those who were shown all that was read."""
    read = frozenset(names)
    overruled = tuple(
        (authority, was or not (read and read <= authority.shown)) for authority, was in trail.authorities
    )
    return replace(trail, authorities=overruled, ai_before=True)


def enter(trail: Trail, authority: Authority) -> Trail:
    """The trail inside a lane that carries an authority. A person's answer ends an earlier silence, in this lane."""
    heard = authority.kind in PERSONS
    return Trail((*trail.authorities, (authority, False)), trail.ai_before, trail.unanswered and not heard)


def silence(trail: Trail) -> Trail:
    """The trail where nobody answered, a default was taken, or a call's outcome was not confirmed."""
    return replace(trail, unanswered=True)


def leave(outer: Trail, inner: Trail) -> Trail:
    """The trail after a lane: its authorities end, what AI said and who was silent in it stay."""
    kept = inner.authorities[: len(outer.authorities)]
    authorities = tuple(
        (authority, overruled or now) for (authority, overruled), (_, now) in zip(outer.authorities, kept, strict=True)
    )
    return Trail(authorities, outer.ai_before or inner.ai_before, outer.unanswered or inner.unanswered)


def may_ask(addressed: Iterable[Labelled]) -> Refused | None:
    """Whether a question may be put: those whom it goes to, and its replies, are never AI's."""
    if any(value.provenance is Provenance.AI for value in addressed):
        return Refused("safety.ai_recipient", "Nobody was asked: AI chose whom to ask or how the replies read.")
    return None
