"""Several integrations may open gates; the site says which one drives which gate."""

from __future__ import annotations

from collections.abc import Mapping

from siteward.core.contract.registry import ActionSpec
from siteward.core.errors import ActionFailed

from .objects import JSON, Action, ActionCall, Host


def drives_gates(spec: ActionSpec) -> bool:
    """Whether the target of an action is a gate."""
    return any(one.name == spec.target and one.role == "gate" for one in spec.fields)


def by_driver(spec: ActionSpec, drivers: Mapping[str, Action]) -> Action:
    """One action that hands each call to the driver of its gate. `drivers` are the providers by domain.

    It raises `ActionFailed` (nothing moved) where the gate's driver is none of them, and `UnknownRole` for no gate at all.
    """

    async def perform(call: ActionCall, host: Host) -> Mapping[str, JSON]:
        gate = host.gate(str(call.arguments[str(spec.target)]))
        driver = drivers.get(gate.driver)
        if driver is None or driver.perform is None:
            raise ActionFailed(
                f"The gate {gate.role} is driven by {gate.driver}, and no loaded integration of that name provides {spec.name}. "
                f"Enable it, or choose another driver for the gate.",
                where=gate.role,
            )
        return await driver.perform(call, host)

    return Action(spec.name, spec.repeat, spec.moves, perform=perform)
