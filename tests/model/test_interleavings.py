"""What happens at the same time comes to one of the ends that the reference allows, in whatever order the engine's tasks and the database's answers
take turns. Story and order are seeds. `SITEWARD_MODEL_STORIES=5000 python -m pytest tests/model/test_interleavings.py` is the long run.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest

from .language import Program, Sighting
from .machine import Known, Twins
from .shapes import ON_ALERTS, SHAPES
from .shuffled import InlineHouse, ShuffledLoop
from .things import ALIVE

STORIES = int(os.environ.get("SITEWARD_MODEL_STORIES", "6"))
ORDERS = 10
ROUNDS = 4


@pytest.mark.parametrize("always_suspend", [False, True], ids=["in-memory", "always-suspend"])
def test_any_order_of_turns_comes_to_an_end_that_is_allowed(tmp_path: Path, always_suspend: bool) -> None:
    for story in range(STORIES):
        known = Known()
        for order in range(ORDERS):
            turns = Random(f"{story} {order}")
            with asyncio.Runner(loop_factory=partial(ShuffledLoop, turns)) as runner:
                house = InlineHouse(tmp_path, always_suspend=always_suspend)
                house.random = turns
                try:
                    runner.run(_tells(Random(2 * story + always_suspend), Twins(house, known)))
                except BaseException as error:
                    error.add_note(f"This was story {story} in order {order}, {always_suspend=}.")
                    raise


async def _tells(random: Random, twins: Twins) -> None:
    programs = [_limited(random) for _ in range(random.randint(1, 2))]
    await twins.open(programs + [*ON_ALERTS] * (random.random() < 0.2))
    try:
        for number in range(ROUNDS):
            await _round(random, twins, number)
    finally:
        await twins.close()


def _limited(random: Random) -> Program:
    return replace(
        random.choice(SHAPES),
        scope=random.choice(("camera", "plate", "track")),
        cooldown=random.choice((0, 60)),
        per_hour=random.choice((2, 600)),
    )


async def _round(random: Random, twins: Twins, number: int) -> None:
    """Two or three things at once, and then some time."""
    cars = [_car(random, twins, f"car {number}.{which}") for which in range(random.randint(0, 2))]
    asking = [run for run in twins.reference.runs.values() if run.questions and run.event.severity is None]
    waiting = [run for run in twins.reference.runs.values() if run.state in ALIVE and run.event.severity is None]
    deeds = [twins.seeing(car) for car in cars]
    if asking and random.random() < 0.7:
        run = random.choice(asking)
        deeds += [await twins.answering(run.key, random.choice(run.replies())) for _ in range(random.randint(1, 2))]
    if waiting and random.random() < 0.3:
        deeds.append(await twins.cancelling(random.choice(waiting).key))
    if random.random() < 0.2:
        deeds.append(twins.switching(0, random.choice(("off", "test", "on"))))
    await twins.does(deeds)
    await twins.passes(random.choice((1.0, 5.0, 61.0, 301.0)))


def _car(random: Random, twins: Twins, id: str) -> Sighting:
    plate, track = random.choice((None, "B AA 1", "B BB 2")), random.choice((None, "1", "2"))
    return Sighting(id, random.choice(("cam-1", "cam-1", "cam-2")), twins.reference.now, plate, track)
