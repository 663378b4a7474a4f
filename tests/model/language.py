"""Small workflows as plain data: what the reference model interprets, what strategies generate, and the file that says the same to the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import yaml

SIGHTING = "plate.recognized.v1"
"""The event that starts workflows here: its payload may name a plate, a track, both or nothing."""
GATE_CHANGED = "gate.changed"


@dataclass(frozen=True, slots=True)
class Say:
    """`log`: a row in the step's own transaction."""

    text: str


@dataclass(frozen=True, slots=True)
class Raise:
    """`alert`: a row in the step's own transaction, and an event that may start other workflows."""

    severity: str
    title: str


@dataclass(frozen=True, slots=True)
class Tell:
    """`webhook` to a destination that only tells: sent under a key, again after a crash."""

    text: str


@dataclass(frozen=True, slots=True)
class Open:
    """`gate.open`: moves, so at most once and never late."""


@dataclass(frozen=True, slots=True)
class Pause:
    """`wait`, in seconds."""

    seconds: int


@dataclass(frozen=True, slots=True)
class Await:
    """`wait_for` the gate to be `to`; `timeout` in seconds."""

    to: str
    timeout: int
    happened: Block
    not_happened: Block


@dataclass(frozen=True, slots=True)
class Ask:
    """`ask_person`. `lanes` has each reply with its lane; without one the path ends. Times in seconds."""

    message: str
    lanes: tuple[tuple[str, Block | None], ...]
    timeout: int
    default: str | None = None
    no_answer: Block | None = None
    escalate_after: int | None = None

    @property
    def replies(self) -> tuple[str, ...]:
        """What can be answered."""
        return tuple(reply for reply, _ in self.lanes)

    def lane(self, outcome: str) -> Block | None:
        """What an outcome leads to."""
        return self.no_answer if outcome == "no_answer" else dict(self.lanes)[outcome]


@dataclass(frozen=True, slots=True)
class Branch:
    """`if` the site is in `mode`."""

    mode: str
    true: Block
    false: Block | None


@dataclass(frozen=True, slots=True)
class Each:
    """`for_each` over a written list; texts in the body may say the item by its `name`."""

    name: str
    items: tuple[str, ...]
    body: Block


Act: TypeAlias = "Say | Raise | Tell | Open | Pause | Await | Ask | Branch | Each"
Block: TypeAlias = "tuple[Act, ...]"


@dataclass(frozen=True, slots=True)
class Program:
    """A workflow. `starts_at` is the least severity of the alerts that start it; None: sightings do. `mode` is its top-level `if`. `cooldown`
    in seconds."""

    name: str
    then: Block
    always: Block = ()
    scope: str = "camera"
    cooldown: int = 0
    per_hour: int = 600
    mode: str | None = None
    starts_at: str | None = None

    def asks(self) -> bool:
        """Whether a question stands anywhere in it."""
        return any(isinstance(act, Ask) for act in every_act((*self.then, *self.always)))


def every_act(block: Block) -> Iterator[Act]:
    """All acts, also those in lanes and bodies."""
    for act in block:
        yield act
        for inner in _lanes(act):
            yield from every_act(inner)


def _lanes(act: Act) -> Sequence[Block]:
    match act:
        case Ask():
            return [lane for lane in (*dict(act.lanes).values(), act.no_answer) if lane is not None]
        case Await():
            return [act.happened, act.not_happened]
        case Branch():
            return [act.true, act.false or ()]
        case Each():
            return [act.body]
    return []


# -- the file ----------------------------------------------------------------------------------------------------------
@cache
def render(program: Program) -> str:
    """The workflow file of a program."""
    when: dict[str, Any] = {"event": {"type": SIGHTING, "cameras": ["gate", "yard"]}}
    if program.starts_at is not None:
        when = {"alert": {"min_severity": program.starts_at}}
    document: dict[str, Any] = {
        "contract": "workflow.v1",
        "name": program.name,
        "limits": {
            "cooldown": f"{program.cooldown}s",
            "one_at_a_time": program.scope,
            "per_hour": program.per_hour,
        },
        "when": when,
    }
    if program.mode is not None:
        document["if"] = [{"site_mode": [program.mode]}]
    document["then"] = _block(program.then)
    if program.always:
        document["always"] = _block(program.always)
    return yaml.safe_dump(document, sort_keys=False)


def _block(block: Block) -> list[dict[str, Any]]:
    return [_act(act) for act in block]


def _act(act: Act) -> dict[str, Any]:
    match act:
        case Say():
            return {"log": act.text}
        case Raise():
            return {"alert": {"severity": act.severity, "title": act.title}}
        case Tell():
            return {"webhook": {"to": "ticketing", "body": {"text": act.text}}}
        case Open():
            return {"gate.open": {"gate": "main_gate"}}
        case Pause():
            return {"wait": f"{act.seconds}s"}
        case Await():
            step: dict[str, Any] = {"wait_for": {GATE_CHANGED: {"to": act.to}, "timeout": f"{act.timeout}s"}}
            return step | {"happened": _block(act.happened), "not_happened": _block(act.not_happened)}
        case Ask():
            return _ask(act)
        case Branch():
            lanes = {"true": _block(act.true)} | ({} if act.false is None else {"false": _block(act.false)})
            return {"if": [{"site_mode": [act.mode]}], **lanes}
        case Each():
            return {"for_each": {"in": list(act.items), "as": act.name, "do": _block(act.body)}}


def _ask(ask: Ask) -> dict[str, Any]:
    question: dict[str, Any] = {
        "who": "role:guard",
        "message": ask.message,
        "replies": list(ask.replies),
        "timeout": f"{ask.timeout}s",
    }
    if ask.default is not None:
        question["default"] = ask.default
    if ask.escalate_after is not None:
        question["escalate"] = [{"after": f"{ask.escalate_after}s", "who": "role:boss"}]
    lanes = {reply: _block(lane) for reply, lane in ask.lanes if lane is not None}
    if ask.no_answer is not None:
        lanes["no_answer"] = _block(ask.no_answer)
    return {"ask_person": question, **lanes}


@dataclass(frozen=True, slots=True)
class Sighting:
    """Something that a camera saw. `chain` and `caused_by` (a program's place) are set where an alert of a run is the event; then `severity` is."""

    id: str
    camera: str
    at: float
    plate: str | None = None
    track: str | None = None
    picture: str | None = None
    chain: int = 0
    caused_by: int | None = None
    severity: str | None = None
