"""What the engine tells whoever counts: plain calls, after the commit that makes them true, cheap enough for every step.

The engine knows no metrics library; `siteward.core.metrics` counts what is told here and answers `/metrics`. An implementation only counts:
it never waits, never raises, and is called on the loop.
"""

from __future__ import annotations

from typing import Protocol

from siteward.core.contract.document import Step
from siteward.core.engine.seam import Mode, RunState, StepStatus


class Meters(Protocol):
    """Told of what happened. `workflow_id` is the id; its name is looked up when somebody asks for the figures."""

    def event_accepted(self, event_type: str) -> None:
        """A new event's row is committed (a repeat of a known id is none)."""
        ...

    def refused(self, workflow_id: str, reason: str) -> None:
        """An event fitted a workflow and started no run: a `Refusal`, or `broken`."""
        ...

    def run_started(self, workflow_id: str, mode: Mode) -> None:
        """A run's row is committed, also of a run that is over at once (not met)."""
        ...

    def run_ended(self, workflow_id: str, mode: Mode, state: RunState) -> None:
        """A run's end is committed."""
        ...

    def step_ended(self, workflow_id: str, step: Step, mode: Mode, status: StepStatus, seconds: float) -> None:
        """A step's end is committed; `seconds` were spent in it since it was last begun or woken, so that a wait is not in them."""
        ...

    def ai_called(self, workflow_id: str, step: Step, mode: Mode, calls: int) -> None:
        """An AI step asked a model this many times."""
        ...


class NoMeters:
    """Nobody counts."""

    def event_accepted(self, event_type: str) -> None:
        """Nothing happens."""

    def refused(self, workflow_id: str, reason: str) -> None:
        """Nothing happens."""

    def run_started(self, workflow_id: str, mode: Mode) -> None:
        """Nothing happens."""

    def run_ended(self, workflow_id: str, mode: Mode, state: RunState) -> None:
        """Nothing happens."""

    def step_ended(self, workflow_id: str, step: Step, mode: Mode, status: StepStatus, seconds: float) -> None:
        """Nothing happens."""

    def ai_called(self, workflow_id: str, step: Step, mode: Mode, calls: int) -> None:
        """Nothing happens."""
