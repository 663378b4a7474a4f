"""What a host counts, for Prometheus. Counting is a plain dictionary on the engine's path; labels, names and text are made when somebody asks.

Every host has figures of its own and no global registry. Labels are bounded: workflows, step kinds and states are the site's own, and what comes from
outside (event types) is counted as `other` beyond a number.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from siteward.core.contract.document import Step
from siteward.core.engine.seam import Mode, RunState, StepStatus

MOST_SERIES: Final = 20_000
"""Series of one family; what comes beyond is counted as `other`."""
MOST_EVENT_TYPES: Final = 200
OTHER: Final = "other"
SECONDS: Final = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    120.0,
    600.0,
)
"""Upper bounds of the buckets of step seconds: from a condition to an Investigate."""
LAG_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
LOOP_EVERY: Final = 0.5

Key = TypeVar("Key", bound=tuple[str, ...])


class Histogram:
    """How often something took how long."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def took(self, seconds: float) -> None:
        """One more."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds

    def as_now(self) -> Histogram:
        """A copy."""
        copy = Histogram(self.bounds)
        copy.counts, copy.total = list(self.counts), self.total
        return copy

    def buckets(self) -> list[tuple[str, float]]:
        """The cumulated counts by their upper bound, as the text format has them."""
        found, so_far = [], 0
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            so_far += count
            found.append((bound, float(so_far)))
        return found


class HostMeters:
    """The engine's `Meters`, counted. An AI step is told by its mode (`look`, `investigate`) beside its kind."""

    def __init__(self) -> None:
        self.events: dict[tuple[str], int] = {}
        self.refused_events: dict[tuple[str, str], int] = {}
        self.started: dict[tuple[str, str], int] = {}
        self.ended: dict[tuple[str, str, str], int] = {}
        self.steps: dict[tuple[str, str, str, str, str], int] = {}
        self.seconds: dict[tuple[str, str], Histogram] = {}
        self.ai_calls: dict[tuple[str, str, str], int] = {}

    def as_now(self) -> HostMeters:
        """A copy that does not change while its text is made on another thread."""
        copy = HostMeters()
        for name in ("events", "refused_events", "started", "ended", "steps", "ai_calls"):
            setattr(copy, name, dict(getattr(self, name)))
        copy.seconds = {key: timed.as_now() for key, timed in self.seconds.items()}
        return copy

    def event_accepted(self, event_type: str) -> None:
        key = (event_type,)
        if key not in self.events and len(self.events) >= MOST_EVENT_TYPES:
            key = (OTHER,)
        self.events[key] = self.events.get(key, 0) + 1

    def refused(self, workflow_id: str, reason: str) -> None:
        _count(self.refused_events, (workflow_id, reason))

    def run_started(self, workflow_id: str, mode: Mode) -> None:
        _count(self.started, (workflow_id, mode.value))

    def run_ended(self, workflow_id: str, mode: Mode, state: RunState) -> None:
        _count(self.ended, (workflow_id, mode.value, state.value))

    def step_ended(self, workflow_id: str, step: Step, mode: Mode, status: StepStatus, seconds: float) -> None:
        kind, ai = step.kind, ai_mode(step)
        _count(self.steps, (workflow_id, kind, ai, mode.value, status.value))
        timed = self.seconds.get((kind, ai))
        if timed is None:
            timed = self.seconds[kind, ai] = Histogram(SECONDS)
        timed.took(seconds)

    def ai_called(self, workflow_id: str, step: Step, mode: Mode, calls: int) -> None:
        _count(self.ai_calls, (workflow_id, ai_mode(step), mode.value), calls)


def ai_mode(step: Step) -> str:
    """`look`, `investigate`, …; empty for a step that is no AI's (which Prometheus takes as no label)."""
    return str(step.settings.get("mode")) if step.kind == "ai" else ""


def _count(counts: dict[Key, int], key: Key, more: int = 1) -> None:
    known = counts.get(key)
    if known is None and len(counts) >= MOST_SERIES:
        key = (OTHER, *key[1:])  # type: ignore[assignment]  # the same shape, of no workflow in particular
        known = counts.get(key)
    counts[key] = (known or 0) + more


def named(counts: Mapping[Key, int], name_of: Callable[[str], str]) -> Iterable[tuple[tuple[str, ...], int]]:
    """Counts by the names of their workflows instead of their ids; two of one name count together."""
    found: dict[tuple[str, ...], int] = {}
    for key, count in counts.items():
        by_name = (name_of(key[0]), *key[1:])
        found[by_name] = found.get(by_name, 0) + count
    return found.items()


class LoopLag:
    """How late the loop comes to what is due: the one figure that shows that something holds it up."""

    def __init__(self) -> None:
        self.lag = Histogram(LAG_SECONDS)
        self.longest = 0.0
        """The longest since somebody last asked."""

    async def watch(self) -> None:
        """Look twice a second until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LOOP_EVERY
            await asyncio.sleep(LOOP_EVERY)
            late = max(0.0, loop.time() - due)
            self.lag.took(late)
            self.longest = max(self.longest, late)
