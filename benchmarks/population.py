"""The workflows and events of a large site, as the matching and camera benchmarks use them.

200 cameras that send five events a second each, of 20 types. Of the workflows 94 % listen to one type of one camera, 4 % to one type of ten cameras, 1 % to
one type of every camera and 1 % to all types of one camera; each also asks for one of two zones, so that half of those looked up fit, and for two seconds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from siteward.core.clock import SystemClock
from siteward.core.contract.document import Document, Place, State, TriggerUse, Value, WorkflowLimits
from siteward.core.contract.registry import Provenance
from siteward.core.engine.plan import Plan, compile_plan
from siteward.core.events.event import Event
from siteward.core.plugins.event_triggers import equals, event_trigger, lasted
from siteward.core.plugins.objects import Trigger

CAMERAS = 200
TYPES = tuple(f"detect.kind_{number}" for number in range(20))
ZONES = ("apron", "lawn")
SEED = 7

TRIGGERS: dict[str, Trigger] = {
    name: event_trigger(name, ("zone", "seconds"), equals("zone"), lasted("min_seconds")) for name in TYPES
}


def cameras_of(role: str) -> frozenset[str]:
    """A role is mapped to the camera of its name."""
    return frozenset({role})


def plans(count: int) -> list[Plan]:
    """`count` workflows."""
    chance = random.Random(SEED)
    return [_plan(f"w{number}", _uses(number, chance)) for number in range(count)]


def _uses(number: int, chance: random.Random) -> tuple[TriggerUse, ...]:
    kinds: tuple[str, ...] = (chance.choice(TYPES),)
    settings: dict[str, Value] = {"zone": chance.choice(ZONES), "min_seconds": 2}
    share = number * 37 % 100  # each hundred has its shares, and fifty nearly half of them
    if share < 94:
        settings["cameras"] = (f"cam-{chance.randrange(CAMERAS)}",)
    elif share < 98:
        settings["cameras"] = tuple(f"cam-{camera}" for camera in chance.sample(range(CAMERAS), 10))
    elif share == 99:
        kinds, settings["cameras"] = TYPES, (f"cam-{chance.randrange(CAMERAS)}",)
    return tuple(TriggerUse(kind, settings, ("when", "any", at, kind), Place(1, 1)) for at, kind in enumerate(kinds))


def _plan(name: str, uses: tuple[TriggerUse, ...]) -> Plan:
    document = Document(
        text="",
        name=name,
        description=None,
        state=State.ON,
        needs={},
        limits=WorkflowLimits(),
        triggers=uses,
        conditions=(),
        then=(),
        always=(),
        places={},
        key_places={},
    )
    return compile_plan(name, 1, document)


def events(count: int) -> Iterator[Event]:
    """Events of all cameras, types and zones alike."""
    chance, now = random.Random(SEED + 1), SystemClock().now()
    for number in range(count):
        yield Event(
            f"e{number}",
            chance.choice(TYPES),
            "detector",
            Provenance.SENSOR,
            now,
            f"cam-{chance.randrange(CAMERAS)}",
            payload={"zone": chance.choice(ZONES), "seconds": 5, "track": f"t{number}"},
        )


def unwanted(event: Event) -> Event:
    """The same of a type that no workflow names."""
    return replace(event, type="detect.nobody")
