"""Gates behind an HTTP relay: `gate.open` and `gate.close`, with the state read back."""

from __future__ import annotations

from collections.abc import Sequence

from siteward.sdk import TRIGGERS, Action, GateDriver, Moves, Repeat, Trigger, hookimpl

from .move import close_gate, open_gate
from .relay import read_state


@hookimpl
def siteward_actions() -> Sequence[Action]:
    """Both move things and act once."""
    return (
        Action("gate.open", Repeat.ONCE, Moves.YES, perform=open_gate),
        Action("gate.close", Repeat.ONCE, Moves.YES, perform=close_gate),
    )


@hookimpl
def siteward_triggers() -> Sequence[Trigger]:
    """A gate that was moved is seen to have changed."""
    return (TRIGGERS["gate.changed"],)


@hookimpl
def siteward_gates() -> Sequence[GateDriver]:
    """The driver."""
    return (GateDriver("gate_relay", read_state),)
