"""What integrations provide, held in one place that can change while the host runs."""

from __future__ import annotations

from collections.abc import Mapping

from siteward.core.contract.registry import Registry
from siteward.core.plugins.objects import Action, AiMode, Condition, StepKind, Trigger
from siteward.core.plugins.registry import Loaded


class HeldSkills:
    """`now` is what is loaded; the engine reads through it, so that an integration may come and go."""

    def __init__(self, now: Loaded) -> None:
        self.now = now

    @property
    def registry(self) -> Registry:
        return self.now.registry

    @property
    def triggers(self) -> Mapping[str, Trigger]:
        return self.now.triggers

    @property
    def conditions(self) -> Mapping[str, Condition]:
        return self.now.conditions

    @property
    def actions(self) -> Mapping[str, Action]:
        return self.now.actions

    @property
    def step_kinds(self) -> Mapping[str, StepKind]:
        return self.now.step_kinds

    @property
    def ai_modes(self) -> Mapping[str, AiMode]:
        return self.now.ai_modes
