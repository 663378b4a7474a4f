"""Tools of Investigate: data and a handler. A tool that moves things cannot be made, whatever a validator thought of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Effect(StrEnum):
    """What a tool does. There is no effect that moves."""

    READ = "read"
    ASK_PERSON = "ask_person"
    TELL = "tell"


class ToolMode(StrEnum):
    """How a tool may be used, from loose to strict."""

    AUTO = "auto"
    ASK = "ask"
    UNAVAILABLE = "unavailable"


_STRICTNESS = tuple(ToolMode)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool returned: text for the model (data, never instructions), and whether it worked."""

    content: str
    ok: bool = True

    @classmethod
    def failed(cls, message: str) -> ToolResult:
        """A result that says what went wrong."""
        return cls(f"ERROR: {message}", ok=False)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as a step may be given it. `parameters` is the JSON schema of its arguments (an object); `handler` gets checked arguments.

    Raises `TypeError` for an effect that is not one of `Effect` (nothing that moves can reach a model), `ValueError` for the rest.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    handler: Callable[[Mapping[str, Any]], Awaitable[ToolResult | str]]
    mode: ToolMode = ToolMode.AUTO
    effect: Effect = Effect.READ

    def __post_init__(self) -> None:
        if not isinstance(self.effect, Effect):
            raise TypeError(
                f"A tool reads, asks a person or tells; {self.name!r} with effect {self.effect!r} cannot be a tool of an AI step."
            )
        if not isinstance(self.mode, ToolMode):
            raise ValueError(f"The tool {self.name!r} has no such mode: {self.mode!r}.")
        if not self.name or not self.description:
            raise ValueError("A tool has a name, and a description written for a model.")
        if self.parameters.get("type") != "object":
            raise ValueError(f"The parameters of {self.name!r} are a JSON schema of type object.")


def effective_mode(*modes: ToolMode | str | None) -> ToolMode:
    """The strictest of the modes (site, step, tool). None says nothing; a word that is no mode is unavailable, never loose."""
    strictest = ToolMode.AUTO
    for mode in modes:
        if mode is None:
            continue
        known = ToolMode(mode) if mode in ToolMode.__members__.values() else ToolMode.UNAVAILABLE
        strictest = max(strictest, known, key=_STRICTNESS.index)
    return strictest
