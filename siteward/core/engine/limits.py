"""The limits of a workflow as decisions over data: the engine keeps the counters, this says what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Final

from siteward.core.contract.document import Document, Step, WorkflowLimits
from siteward.core.contract.registry import Registry
from siteward.core.events.event import Event

from .seam import Labelled

COOLDOWN_SECONDS: Final = 60.0
RUNS_PER_HOUR: Final = 600
RUNS_PER_HOUR_WITH_AI: Final = 30
AI_CALLS_PER_HOUR: Final = 60
MAX_CHAIN: Final = 3
"""A run whose event was led to by this many workflows already starts none."""


BESIDE: Final = "beside "
"""Begins the one-at-a-time keys of a version that runs in Test beside the one that is On: neither holds up, supersedes or uses up the other."""

BESIDE_SCOPE: Final = "/beside"
"""Follows the workflow in the names of their counters."""


def scope_of(workflow_id: str, one_key: str | None) -> str:
    """Under which name the counters of a run are kept (cooldown, the hour's runs and AI calls)."""
    return own_scope(workflow_id, beside=one_key is not None and one_key.startswith(BESIDE))


def own_scope(workflow_id: str, *, beside: bool) -> str:
    """The name of the counters of a workflow, or of its version that runs in Test `beside` the On one."""
    return workflow_id + BESIDE_SCOPE if beside else workflow_id


class Scope(StrEnum):
    """What "one at a time" and the cooldown are per."""

    CAMERA = "camera"
    PLATE = "plate"
    TRACK = "track"


class Refusal(StrEnum):
    """Why an accepted event starts no run of a workflow. Each is counted under its name, with a sampled reason."""

    OWN = "own"
    CHAIN = "chain"
    COOLDOWN = "cooldown"
    PER_HOUR = "per_hour"


SENTENCES: Final[Mapping[Refusal, str]] = {
    Refusal.OWN: "This workflow caused the event itself.",
    Refusal.CHAIN: f"{MAX_CHAIN} workflows already led to this event, one after another.",
    Refusal.COOLDOWN: "The cooldown of this workflow is not over.",
    Refusal.PER_HOUR: "This workflow has used its runs of this hour.",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one workflow with its defaults filled in. `cooldown` in seconds."""

    cooldown: float
    scope: Scope
    per_hour: int
    ai_per_hour: int


def limits_of(document: Document, registry: Registry, caps: Mapping[str, float] | None = None) -> Limits:
    """The limits that hold for a workflow: what the file says, else the defaults, never above the site's caps (`per_hour`, `ai_per_hour`)."""
    written: WorkflowLimits = document.limits
    runs = RUNS_PER_HOUR_WITH_AI if has_ai(document, registry) else RUNS_PER_HOUR
    return Limits(
        cooldown=COOLDOWN_SECONDS if written.cooldown is None else written.cooldown,
        scope=Scope(written.one_at_a_time or Scope.CAMERA),
        per_hour=_capped(runs if written.per_hour is None else written.per_hour, "per_hour", caps),
        ai_per_hour=_capped(
            AI_CALLS_PER_HOUR if written.ai_per_hour is None else written.ai_per_hour, "ai_per_hour", caps
        ),
    )


def _capped(limit: int, name: str, caps: Mapping[str, float] | None) -> int:
    cap = (caps or {}).get(name)
    return limit if cap is None else min(limit, int(cap))


def has_ai(document: Document, registry: Registry) -> bool:
    """Whether an AI step, or a step kind that is a model's word, stands on any path."""
    kinds = registry.step_kinds
    return any(
        step.kind == "ai" or (step.kind in kinds and kinds[step.kind].ai)
        for step in _every_step((*document.then, *document.always))
    )


def _every_step(steps: Iterable[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        yield from _every_step(step.body)
        for lane in step.lanes:
            yield from _every_step(lane.steps)


@dataclass(frozen=True, slots=True)
class Presence:
    """What an event says about who or what stands before a camera, as far as it is known. Identities are compared in one form."""

    camera: str | None
    plate: str | None = None
    track: str | None = None


def presence(event: Event, values: Mapping[str, Labelled] | None = None) -> Presence:
    """Read an event, and the values that its trigger gave where a trigger names things its own way."""

    def known(name: str) -> str | None:
        given = (values or {}).get(name)
        raw = event.payload.get(name) if given is None else given.value
        if not isinstance(raw, str | int) or isinstance(raw, bool):
            return None
        return _one_form(str(raw)) or None

    return Presence(event.camera, known("plate"), known("track"))


def _one_form(text: str) -> str:
    """Plates are read with and without blanks and dashes, in any case."""
    return "".join(letter for letter in text.upper() if letter.isalnum())


def one_key(scope: Scope, seen: Presence) -> str:
    """The key per which one run at a time is allowed and the cooldown counts. What is not known falls back to the camera, so
    that a null key never lets runs pile up."""
    value = {Scope.PLATE: seen.plate, Scope.TRACK: seen.track, Scope.CAMERA: None}[scope]
    if value is not None:
        # A track is a number of one camera's tracker; another camera counts its own.
        return f"plate:{value}" if scope is Scope.PLATE else f"track:{seen.camera or ''}:{value}"
    return f"camera:{seen.camera or ''}"


class Repeat(StrEnum):
    """What an event is to a waiting run with the same key."""

    SEEN_AGAIN = "seen_again"
    SUPERSEDES = "supersedes"


def against_waiting(waiting: Presence, arriving: Presence) -> Repeat:
    """Whether the arriving event is the same visit, counted on the waiting run, or another car or person, which ends that run.

    Only what is known on both sides can differ. A plate says more than a track: the same plate on a new track is the same car, and
    where the plates differ, the track does not matter. In doubt about the track it is another one: a reply to one car must never open
    for the next.
    """
    if waiting.plate is not None and arriving.plate is not None:
        return Repeat.SEEN_AGAIN if waiting.plate == arriving.plate else Repeat.SUPERSEDES
    if waiting.track is not None and arriving.track is not None and waiting.camera == arriving.camera:
        return Repeat.SEEN_AGAIN if waiting.track == arriving.track else Repeat.SUPERSEDES
    return Repeat.SEEN_AGAIN


def loop_guard(event: Event, workflow_id: str) -> Refusal | None:
    """A workflow ignores what it caused itself, and chains end at the third workflow."""
    if event.caused_by is not None and event.caused_by == workflow_id:
        return Refusal.OWN
    return Refusal.CHAIN if event.chain >= MAX_CHAIN else None


def run_chain(event: Event) -> int:
    """The chain depth of a run that an event starts, which its alerts, actions and messages carry: 1 where nothing led to the event."""
    return event.chain + 1


def hour_of(now: datetime) -> str:
    """The counter bucket of an hourly cap: `2026-11-30T16`, in UTC, so that a DST change neither doubles nor skips one."""
    return _hour(int(now.timestamp() // 3600))


@lru_cache(maxsize=16)
def _hour(since_1970: int) -> str:
    return datetime.fromtimestamp(since_1970 * 3600, UTC).strftime("%Y-%m-%dT%H")


def cooldown_until(limits: Limits, started: datetime) -> float:
    """When the cooldown that a met run starts is over (seconds since the epoch)."""
    return started.timestamp() + limits.cooldown


def cooling(limits: Limits, until: float | None, now: datetime) -> bool:
    """Whether a cooldown still holds. One that has more left than it ever lasts comes from a clock that was set back, and holds no
    more: a corrected clock must not silence a gate."""
    return until is not None and 0 < until - now.timestamp() <= limits.cooldown


def admit(limits: Limits, *, now: datetime, cools_until: float | None, runs_this_hour: int) -> Refusal | None:
    """Whether a met event may start a run: after the state, the loop guard, the `if` and one-at-a-time, which the engine asks first."""
    if cooling(limits, cools_until, now):
        return Refusal.COOLDOWN
    return Refusal.PER_HOUR if runs_this_hour >= limits.per_hour else None


def ai_calls_left(limits: Limits, used_this_hour: int) -> int:
    """How many AI calls the workflow may still make this hour. At none, an AI step is unsure (`over_budget`) and the run goes on to its
    people: a cap never hides an ask."""
    return max(0, limits.ai_per_hour - used_this_hour)
