"""The host's own step kinds, triggers, conditions and actions, registered like those of any integration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from siteward.core.engine.seam import HostStep
from siteward.core.plugins.hookspecs import hookimpl
from siteward.core.plugins.objects import Action, Condition, HostStepKind, Trigger

from .actions import host_actions
from .ai import AiStep
from .ask import AskPersonStep
from .branch import IfStep
from .conditions import host_conditions
from .each import ForEachStep
from .triggers import host_triggers
from .waiting import WaitForStep, WaitStep

_STEPS: Final[Mapping[str, HostStep]] = MappingProxyType(
    {
        "ai": AiStep(),
        "if": IfStep(),
        "for_each": ForEachStep(),
        "ask_person": AskPersonStep(),
        "wait": WaitStep(),
        "wait_for": WaitForStep(),
    }
)


def host_steps() -> Mapping[str, HostStep]:
    """The step kinds of the host, by name."""
    return _STEPS


@hookimpl
def siteward_step_kinds() -> Sequence[HostStepKind]:
    return tuple(HostStepKind(name, step) for name, step in _STEPS.items())


@hookimpl
def siteward_triggers() -> Sequence[Trigger]:
    return host_triggers()


@hookimpl
def siteward_conditions() -> Sequence[Condition]:
    return host_conditions()


@hookimpl
def siteward_actions() -> Sequence[Action]:
    return host_actions()


__all__ = ["host_actions", "host_conditions", "host_steps", "host_triggers"]
