"""Every way in which a workflow can go: choices, the runs that they lead to, and what runs them.

Whatever decides outside a workflow (a model, a person, a clock, a list) decides by `Choices`. `every_run` enumerates them all, over the
interpreter of `siteward.sdk.scripted` or over a real engine behind scripted providers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from siteward.core.contract.document import Document, Step
from siteward.core.engine.seam import Authority


class Says(StrEnum):
    """Who decides a choice: a model, or the world (people, clocks, lists, sensors)."""

    AI = "ai"
    PERSON = "person"
    IDENTITY = "identity"
    RULE = "rule"
    WORLD = "world"


@dataclass(frozen=True, slots=True)
class Choice:
    """A point at which something outside decides: who decides and where (the step's path in the run)."""

    says: Says
    at: str


class TooManyRuns(RuntimeError):
    """A file has more ways to go than a test should take."""


class Choices:
    """One way to go: what has been decided, and, for what has not, the first option."""

    def __init__(self, given: Mapping[Choice, int] | None = None) -> None:
        self.given: dict[Choice, int] = dict(given or {})
        self.taken: dict[Choice, tuple[int, int]] = {}

    def choose(self, choice: Choice, options: int) -> int:
        """The index of the option that is taken."""
        index = min(self.given.get(choice, 0), options - 1)
        self.taken[choice] = (index, options)
        return index


@dataclass(frozen=True, slots=True)
class Moved:
    """A move that was made: what, on what, where in the file, by which authority, and whether AI came before."""

    action: str
    target: Any
    step: Step
    authority: Authority | None
    ai_before: bool


@dataclass(slots=True)
class Trace:
    """What a run did. `choices` maps each choice to the option taken; `refused` are codes of moves and questions that were stopped."""

    moves: list[Moved] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    choices: dict[Choice, int] = field(default_factory=dict)


class Performs(Protocol):
    """Whatever runs a document by choices: the interpreter here, or the real engine behind scripted providers."""

    async def perform(self, document: Document, choices: Choices) -> Trace: ...


async def every_run(performs: Performs, document: Document, *, at_most: int = 50_000) -> AsyncIterator[Trace]:
    """Every way in which the document can go. Raises `TooManyRuns` over the bound."""
    given: dict[Choice, int] | None = {}
    runs = 0
    while given is not None:
        runs += 1
        if runs > at_most:
            raise TooManyRuns(f"{document.name} goes over {at_most} ways")
        choices = Choices(given)
        yield await performs.perform(document, choices)
        given = _next(choices.taken)


def _next(taken: Mapping[Choice, tuple[int, int]]) -> dict[Choice, int] | None:
    order = list(taken.items())
    while order:
        choice, (index, options) = order.pop()
        if index + 1 < options:
            return {**{earlier: chosen for earlier, (chosen, _) in order}, choice: index + 1}
    return None


def world_of(trace: Trace) -> Iterator[tuple[Choice, int]]:
    """What people, clocks, lists and sensors decided in a run: everything but the model's part."""
    return ((choice, index) for choice, index in trace.choices.items() if choice.says is not Says.AI)
