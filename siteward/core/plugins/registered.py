"""What a module registers through its hooks, and how it differs from its manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType, ModuleType
from typing import Any, Final

import pluggy

from siteward.core.contract.registry import ActionSpec, Repeat

from . import hookspecs
from .manifest import Manifest
from .objects import (
    Action,
    AiMode,
    CameraKind,
    Condition,
    GateDriver,
    HostStepKind,
    ModelKind,
    Named,
    StepKind,
    Trigger,
)

HOOK_OF: Final[Mapping[str, str]] = MappingProxyType(
    {
        "triggers": "siteward_triggers",
        "conditions": "siteward_conditions",
        "actions": "siteward_actions",
        "step_kinds": "siteward_step_kinds",
        "ai_modes": "siteward_ai_modes",
        "tools": "siteward_tools",
        "models": "siteward_models",
        "cameras": "siteward_cameras",
        "gates": "siteward_gates",
        "lines": "siteward_lines",
    }
)
"""The kinds that need code, and the hook that brings it. The other kinds of a manifest are declarations only."""

_TYPES: Final[Mapping[str, tuple[type, ...]]] = MappingProxyType(
    {
        "triggers": (Trigger,),
        "conditions": (Condition,),
        "actions": (Action,),
        "step_kinds": (StepKind, HostStepKind),
        "ai_modes": (AiMode,),
        "models": (ModelKind,),
        "cameras": (CameraKind,),
        "gates": (GateDriver,),
    }
)


@dataclass(frozen=True, slots=True)
class Registered:
    """The objects of one integration, by kind and name, and the manager through which its other hooks are called."""

    objects: Mapping[str, Mapping[str, Named]]
    hooks: pluggy.PluginManager
    doubles: tuple[str, ...] = field(default=())

    def of(self, kind: str) -> Mapping[str, Any]:
        """The objects of one kind, by name."""
        return self.objects.get(kind, {})

    def implements(self, hook: str) -> bool:
        """Whether the module has this hook."""
        return bool(getattr(self.hooks.hook, hook).get_hookimpls())


def register(module: ModuleType, domain: str) -> Registered:
    """Call the collecting hooks of one module. Each module has a manager of its own, so that no other one can be drawn in.

    Raises `pluggy.PluginValidationError` for a hook that does not exist or takes other arguments, and whatever the hooks raise.
    """
    hooks = pluggy.PluginManager(hookspecs.PROJECT)
    hooks.add_hookspecs(hookspecs)
    hooks.register(module, name=domain)
    hooks.check_pending()
    objects: dict[str, Mapping[str, Named]] = {}
    doubles: list[str] = []
    for kind, hook in HOOK_OF.items():
        by_name: dict[str, Named] = {}
        for found in _flat(getattr(hooks.hook, hook)()):
            if found.name in by_name:
                doubles.append(f"{kind}: {found.name} is registered twice")
            by_name[found.name] = found
        objects[kind] = by_name
    return Registered(objects, hooks, tuple(doubles))


def _flat(results: Sequence[Sequence[Named]]) -> Iterator[Named]:
    for result in results:
        yield from result


def differences(manifest: Manifest, registered: Registered, actions: Mapping[str, ActionSpec]) -> tuple[str, ...]:
    """How a module's objects differ from what its manifest declares, one line each; nothing where they are equal. `actions` are the
    definitions that its actions must meet, the vocabulary's for skills."""
    found = list(registered.doubles)
    for kind in HOOK_OF:
        # A tool that moves things is declared so that its name is known and refused; it has no code.
        declared = {entry["name"] for entry in manifest.provided(kind) if not (kind == "tools" and entry.get("moves"))}
        objects = registered.of(kind)
        found += [f"{kind}: {name} is declared and not registered" for name in sorted(declared - objects.keys())]
        found += [f"{kind}: {name} is registered and not declared" for name in sorted(objects.keys() - declared)]
        allowed = _TYPES.get(kind)
        found += [
            f"{kind}: {name} is a {type(one).__name__}, not {' or '.join(t.__name__ for t in allowed)}"
            for name, one in objects.items()
            if allowed and not isinstance(one, allowed)
        ]
    for name, action in registered.of("actions").items():
        if isinstance(action, Action) and name in actions:
            found += _action_differences(action, actions[name])
    return tuple(found)


def _action_differences(action: Action, spec: ActionSpec) -> Iterator[str]:
    if action.repeat is not spec.repeat:
        yield f"actions: {action.name} has repeat {action.repeat}, and its manifest says {spec.repeat}"
    if action.moves is not spec.moves:
        yield f"actions: {action.name} has moves {action.moves}, and its manifest says {spec.moves}"
    if spec.repeat is Repeat.WITH_STEP and (action.record is None or action.perform is not None):
        yield f"actions: {action.name} is written with its step, so it has `record` and no `perform`"
    if spec.repeat is not Repeat.WITH_STEP and action.perform is None:
        yield f"actions: {action.name} acts outside, so it has `perform`"
