"""What the loaded integrations provide together: the registry of names, and the code behind each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from siteward.core.contract.manifest_data import registry_from_manifests
from siteward.core.contract.registry import ActionSpec, Registry

from .discovery import Source
from .drivers import by_driver, drives_gates
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
from .registered import Registered

FAULT: Final = "This is a fault in the integration: get another version of it, or take it out."
"""The end of each sentence on something that only the author of an integration can mend."""


class LoadState(StrEnum):
    """Where an integration stands. `discovered`: it works only when configured, and this site did not."""

    DISCOVERED = "discovered"
    LOADED = "loaded"
    FAILED = "failed"
    NEEDS_ATTENTION = "needs_attention"


@dataclass(frozen=True, slots=True)
class LoadRecord:
    """What became of an integration: the sentence for a person, and for whoever mends it the last line of the traceback and where it
    was raised. `needs_attention` means that somebody can put it right (a missing package), `failed` that its code or manifest is wrong."""

    domain: str
    source: Source
    state: LoadState
    sentence: str = ""
    last_line: str | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Integration:
    """A loaded integration: its manifest and its objects."""

    manifest: Manifest
    source: Source
    registered: Registered


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Loaded:
    """Everything that a host can use now, by name. Immutable: a new one is made when an integration comes or goes.

    An action that drives gates stands here once, whatever number of integrations provide it, and goes to the driver of its gate.
    """

    registry: Registry
    triggers: Mapping[str, Trigger] = field(default_factory=_nothing)
    conditions: Mapping[str, Condition] = field(default_factory=_nothing)
    actions: Mapping[str, Action] = field(default_factory=_nothing)
    step_kinds: Mapping[str, StepKind] = field(default_factory=_nothing)
    host_steps: Mapping[str, HostStepKind] = field(default_factory=_nothing)
    ai_modes: Mapping[str, AiMode] = field(default_factory=_nothing)
    tools: Mapping[str, Named] = field(default_factory=_nothing)
    model_kinds: Mapping[str, ModelKind] = field(default_factory=_nothing)
    camera_kinds: Mapping[str, CameraKind] = field(default_factory=_nothing)
    gate_drivers: Mapping[str, GateDriver] = field(default_factory=_nothing)
    lines: Mapping[str, Named] = field(default_factory=_nothing)
    integrations: Mapping[str, Integration] = field(default_factory=_nothing)
    records: tuple[LoadRecord, ...] = ()

    def record(self, domain: str) -> LoadRecord | None:
        """What became of one integration."""
        return next((one for one in self.records if one.domain == domain), None)


def assemble(integrations: Sequence[Integration], records: Iterable[LoadRecord] = ()) -> Loaded:
    """Put loaded integrations together. Raises `ManifestConflict` where two define one name."""
    registry = registry_from_manifests([one.manifest.data for one in integrations])
    step_kinds = _first(integrations, "step_kinds")
    return Loaded(
        registry=registry,
        triggers=_first(integrations, "triggers"),
        conditions=_first(integrations, "conditions"),
        actions=_actions(integrations, registry.actions),
        step_kinds=_only(step_kinds, StepKind),
        host_steps=_only(step_kinds, HostStepKind),
        ai_modes=_first(integrations, "ai_modes"),
        tools=_first(integrations, "tools"),
        model_kinds=_first(integrations, "models"),
        camera_kinds=_first(integrations, "cameras"),
        gate_drivers=_first(integrations, "gates"),
        lines=_first(integrations, "lines"),
        integrations=MappingProxyType({one.manifest.domain: one for one in integrations}),
        records=tuple(records),
    )


def _first(integrations: Sequence[Integration], kind: str) -> Mapping[str, Any]:
    """By name, the first provider's. Several provide a skill such as detect.vehicle_in_zone: they emit the same events, and the object
    that reads them is the vocabulary's own."""
    found: dict[str, Any] = {}
    for integration in integrations:
        for name, one in integration.registered.of(kind).items():
            found.setdefault(name, one)
    return MappingProxyType(found)


def _only(found: Mapping[str, Any], type_: type) -> Mapping[str, Any]:
    return MappingProxyType({name: one for name, one in found.items() if isinstance(one, type_)})


def _actions(integrations: Sequence[Integration], specs: Mapping[str, ActionSpec]) -> Mapping[str, Action]:
    actions = dict(_first(integrations, "actions"))
    for name, spec in specs.items():
        if name in actions and drives_gates(spec):
            drivers = {
                one.manifest.domain: one.registered.of("actions")[name]
                for one in integrations
                if name in one.registered.of("actions")
            }
            actions[name] = by_driver(spec, drivers)
    return MappingProxyType(actions)
