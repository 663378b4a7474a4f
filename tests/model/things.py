"""What the reference model is made of, as plain data: moves, runs with their waits and questions, workflows, cooldowns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from .language import Ask, Block, Program, Sighting, every_act

ALIVE: Final = ("running", "waiting")
GUARD, BOSS = "role:guard", "role:boss"

Key = tuple[str, int]
"""A run by the id of its event and its workflow's place: there is never a second one."""


class Move(NamedTuple):
    """Something that the engine does by itself: `match` an event, `offer` it to who waits for it, let a run `step`, `wake` by an answer, `fire`
    what is due, or end with its workflow (`off`)."""

    kind: str
    about: Key


@dataclass(frozen=True, slots=True)
class Wait:
    """An open wait of a run; `due` in seconds since 1970."""

    kind: str
    due: float
    to: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question to people and what became of it."""

    due: float
    who: tuple[str, ...] = (GUARD,)
    state: str = "open"
    reply: str | None = None
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """A block with what holds inside it: the times of the authorities on its path, and the items of its loops by name."""

    acts: Block
    allowed_at: tuple[float, ...] = ()
    items: Mapping[str, str] = field(default_factory=dict)

    def fill(self, text: str) -> str:
        return text.format_map(self.items)


@dataclass(slots=True)
class Run:
    """A run: what is left of its path (innermost lane first) and what it left behind."""

    place: int
    program: Program = field(repr=False)
    event: Sighting = field(repr=False)
    mode: str
    one_key: str | None
    todo: tuple[Lane, ...]
    state: str = "running"
    reason: str | None = None
    verdict: str | None = None
    in_always: bool = False
    acting: bool = False
    seen_again: int = 0
    picture: str | None = None
    waits: tuple[Wait, ...] = ()
    questions: tuple[Question, ...] = ()
    logs: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    opened: int = 0
    raised: int = 0
    mark: str | None = field(default=None, repr=False)
    """How it reads, for as long as it does not change."""

    @property
    def key(self) -> Key:
        return (self.event.id, self.place)

    def replies(self) -> tuple[str, ...]:
        """The replies to its questions; each of a workflow here has the same."""
        return next(act.replies for act in every_act(self.program.then) if isinstance(act, Ask))


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow: its newest file and whether it is off, in test or on."""

    program: Program
    state: str = "on"


class Cooldown(NamedTuple):
    """Until when a key cools down, and for whom."""

    until: float
    whose: Sighting
