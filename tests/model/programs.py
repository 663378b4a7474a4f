"""Random small workflows that the validator accepts: nothing moves but on a reply or under a rule, and never by silence. A seed gives the same
workflow again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Final

from .language import Act, Ask, Await, Block, Branch, Each, Open, Pause, Program, Raise, Say, Tell, every_act

MODES: Final = ("disarmed", "armed_home")
REPLIES: Final = ("Let in", "Send away")
SCOPES: Final = ("camera", "plate", "track")
WAITS: Final = (5, 30, 300)
TIMEOUTS: Final = (60, 300, 600)
LOOP_NAMES: Final = ("item", "inner")


@dataclass(frozen=True, slots=True)
class Place:
    """What may stand at a place: how deep lanes may still go, whether somebody or a rule `allowed` what moves, whether nobody may have answered
    before it (`silent`: only a reply allows then), and the loops around it."""

    depth: int
    allowed: bool = False
    silent: bool = False
    loops: int = 0

    def inside(self) -> Place:
        """A lane of an act at this place."""
        return replace(self, depth=self.depth - 1)

    def ruled(self) -> Place:
        """The `true` lane of a rule."""
        return replace(self.inside(), allowed=not self.silent)

    def answered(self) -> Place:
        """The lane of a person's reply."""
        return replace(self.inside(), allowed=True, silent=False)

    def unanswered(self) -> Place:
        """Behind a question, or where nobody answered it."""
        return replace(self, allowed=False, silent=True)


def program(random: Random, name: str, *, depth: int = 2, most: int = 4) -> Program:
    """A workflow that sightings start."""
    mode = random.choice((None, None, *MODES))
    then = block(random, Place(depth, allowed=mode is not None), most)
    always = block(random, Place(0), 2) if random.random() < 0.5 else ()
    return Program(
        name,
        then,
        always,
        random.choice(SCOPES),
        random.choice((0, 60, 300)),
        random.choice((2, 600)),
        mode,
    )


def block(random: Random, place: Place, most: int = 2) -> Block:
    """A lane with at least one act."""
    acts: list[Act] = []
    for _ in range(random.randint(1, most)):
        acts.append(_act(random, place))
        if _holds(Ask, (acts[-1],)):
            place = place.unanswered()
    return tuple(acts)


def _act(random: Random, place: Place) -> Act:
    kinds = ["say", "tell", "raise", "pause"]
    kinds += ["open"] if place.allowed else []
    if place.depth:
        kinds += ["ask", "ask", "await", "branch"]
        kinds += ["each"] if place.loops < len(LOOP_NAMES) else []
    match random.choice(kinds):
        case "say":
            return Say(_text(random, place))
        case "tell":
            return Tell(_text(random, place))
        case "raise":
            return Raise(random.choice(("low", "medium", "high")), "Look")
        case "pause":
            return Pause(random.choice(WAITS))
        case "open":
            return Open()
        case "ask":
            return _ask(random, place)
        case "await":
            happened, not_happened = block(random, place.inside()), block(random, place.inside())
            return Await(random.choice(("open", "closed")), random.choice(TIMEOUTS), happened, not_happened)
        case "branch":
            false = block(random, place.inside()) if random.random() < 0.5 else None
            return Branch(random.choice(MODES), block(random, place.ruled()), false)
    return _each(random, place)


def _each(random: Random, place: Place) -> Each:
    inside = replace(place.inside(), loops=place.loops + 1)
    body = block(random, inside)
    if _holds(Ask, body):
        # The next item comes behind the question of this one.
        body = block(random, inside.unanswered())
    return Each(LOOP_NAMES[place.loops], tuple(random.choices("abc", k=random.randint(1, 2))), body)


def _ask(random: Random, place: Place) -> Ask:
    lanes: dict[str, Block | None] = {}
    for reply in REPLIES:
        lanes[reply] = block(random, place.answered()) if random.random() < 0.8 else None
    quiet = [reply for reply, lane in lanes.items() if lane is not None and not _holds(Open, lane)]
    default = random.choice((None, *quiet))
    silent = block(random, place.inside().unanswered()) if default is None and random.random() < 0.5 else None
    return Ask("A car?", tuple(lanes.items()), random.choice(TIMEOUTS), default, silent, random.choice((None, 45)))


def _text(random: Random, place: Place) -> str:
    names = [f" {{{name}}}" for name in LOOP_NAMES[: place.loops]]
    return random.choice(("one", "two", "three")) + random.choice(("", *names))


def _holds(kind: type[Act], acts: Block) -> bool:
    return any(isinstance(act, kind) for act in every_act(acts))
