"""The host's own step kinds, triggers, conditions and actions, registered like those of any integration."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from siteward.core.engine.seam import HostStep

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


__all__ = ["host_actions", "host_conditions", "host_steps", "host_triggers"]
