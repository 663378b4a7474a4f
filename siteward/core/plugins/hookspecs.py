"""The hooks that an integration may implement, called for one integration at a time.

What the collecting hooks return must equal the integration's manifest. They run without a loop and must return at once; what needs
the site, time or the network belongs into `siteward_setup`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import pluggy

from .entry import Entry
from .objects import (
    Action,
    AiMode,
    CameraKind,
    Condition,
    GateDriver,
    Host,
    HostStepKind,
    ModelKind,
    Named,
    StepKind,
    Trigger,
)

PROJECT: Final = "siteward"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def siteward_triggers() -> Sequence[Trigger]:
    """The triggers, each with its event types, its test and the values that it gives."""
    raise AssertionError("a specification is never called")


@hookspec
def siteward_conditions() -> Sequence[Condition]:
    """The conditions, each with its check."""
    raise AssertionError("a specification is never called")


@hookspec
def siteward_actions() -> Sequence[Action]:
    """The actions, each with its code, its repeat class and whether it moves things."""
    raise AssertionError("a specification is never called")


@hookspec
def siteward_step_kinds() -> Sequence[StepKind | HostStepKind]:
    """The step kinds; only the host's own may wait or iterate."""
    raise AssertionError("a specification is never called")


@hookspec
def siteward_ai_modes() -> Sequence[AiMode]:
    """The modes of the `ai` step."""
    raise AssertionError("a specification is never called")


@hookspec
def siteward_tools() -> Sequence[Named]:
    """The tools of Investigate; nothing that moves things can be one."""
    raise AssertionError("a specification is never called")


@hookspec
def siteward_models() -> Sequence[ModelKind]:
    """The kinds of models that it can open."""
    raise AssertionError("a specification is never called")


@hookspec
def siteward_cameras() -> Sequence[CameraKind]:
    """The kinds of cameras that it can open."""
    raise AssertionError("a specification is never called")


@hookspec
def siteward_gates() -> Sequence[GateDriver]:
    """The drivers of gates, each reading a gate's state."""
    raise AssertionError("a specification is never called")


@hookspec
def siteward_lines() -> Sequence[Named]:
    """The kinds of phone lines and loudspeakers that it can open."""
    raise AssertionError("a specification is never called")


@hookspec(firstresult=True)
def siteward_config_schema() -> Callable[[Any], Mapping[str, Any]]:
    """The voluptuous schema of its settings, by which what `configuration.yaml` says of it is checked."""
    raise AssertionError("a specification is never called")


@hookspec(firstresult=True)
def siteward_setup(site: Host, entry: Entry) -> Awaitable[None]:
    """Start what runs beside the hooks; raise `NotReady`, `AuthFailed` or `ConfigurationInvalid` where it cannot."""
    raise AssertionError("a specification is never called")


@hookspec(firstresult=True)
def siteward_unload(site: Host, entry: Entry) -> Awaitable[None]:
    """Let go of what `siteward_setup` took beyond the entry's own tasks and exits."""
    raise AssertionError("a specification is never called")


@hookspec(firstresult=True)
def siteward_diagnostics(entry: Entry) -> Mapping[str, Any]:
    """Facts that help to find a fault, secrets left out."""
    raise AssertionError("a specification is never called")
