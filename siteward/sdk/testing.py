"""For tests of workflows and integrations: a scripted world, every way in which a file can go, actions that only remember, and a clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from siteward.core.clock import Clock
from siteward.core.contract.registry import Registry, Repeat
from siteward.core.plugins.objects import Action, ActionCall, Host, Record

from .choices import Choice, Choices, Moved, Performs, Says, TooManyRuns, Trace, every_run, world_of
from .scripted import Interpreter
from .simulated_clock import SimulatedClock


def scripted_actions(registry: Registry, calls: list[ActionCall]) -> Mapping[str, Action]:
    """An action for each that the registry names; each call is added to `calls` and nothing else happens."""

    async def perform(call: ActionCall, host: Host) -> Mapping[str, Any]:
        calls.append(call)
        return {"scripted": True}

    def record(call: ActionCall, clock: Clock) -> Sequence[Record]:
        calls.append(call)
        return ()

    return {
        spec.name: Action(spec.name, spec.repeat, spec.moves, record=record)
        if spec.repeat is Repeat.WITH_STEP
        else Action(spec.name, spec.repeat, spec.moves, perform=perform)
        for spec in registry.actions.values()
    }


__all__ = [
    "Choice",
    "Choices",
    "Interpreter",
    "Moved",
    "Performs",
    "Says",
    "SimulatedClock",
    "TooManyRuns",
    "Trace",
    "every_run",
    "scripted_actions",
    "world_of",
]
