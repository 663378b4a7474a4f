"""Random workflows, run by the engine with restarts and deaths at random moments, leave what a tiny interpreter says.

Each seed is a workflow and a story: cars, replies, times and power cuts. `SITEWARD_MODEL_PROGRAMS=5000 python -m pytest tests/model/test_random_programs.py` is
the long run; the seed of a red one is in its message.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from .language import Sighting
from .machine import Dies, Twins
from .mortal import MortalHouse
from .programs import program
from .things import ALIVE, Run

PROGRAMS = int(os.environ.get("SITEWARD_MODEL_PROGRAMS", "8"))
DEEDS = 60
"""Replies, waits and power cuts after which a run that is still alive counts as stuck."""
DOWN = (0.0, 30.0, 3600.0)


@pytest.mark.parametrize("always_suspend", [False, True], ids=["in-memory", "always-suspend"])
async def test_random_workflows_leave_what_the_interpreter_says(tmp_path: Path, always_suspend: bool) -> None:
    for seed in range(PROGRAMS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            await _story(Random(2 * seed + always_suspend), folder, always_suspend=always_suspend)
        except BaseException as error:
            error.add_note(f"This was seed {seed}, {always_suspend=}.")
            raise


async def _story(random: Random, folder: Path, *, always_suspend: bool) -> None:
    twins = Twins(MortalHouse(folder, always_suspend=always_suspend))
    await twins.open([program(random, "Random")])
    try:
        car = Sighting("car", "cam-1", twins.reference.now, "B AA 1", "1")
        await twins.does([twins.seeing(car)], _dies(random))
        for number in range(DEEDS):
            run = next((run for run in twins.reference.runs.values() if run.state in ALIVE), None)
            if run is None:
                return
            await _something(random, twins, run, number)
        raise AssertionError(f"The run is stuck: {twins.reference.runs}")
    finally:
        await twins.close()


async def _something(random: Random, twins: Twins, run: Run, number: int) -> None:
    open_question = bool(run.questions) and run.questions[-1].state == "open"
    match random.choice(("answer", "answer", "due", "due", "gate", "restart", "mode")):
        case "answer" if open_question:
            await twins.does([await twins.answering(run.key, random.choice(run.replies()))], _dies(random))
        case "gate":
            await twins.gate_changes(f"gate {number}", random.choice(("open", "closed")), _dies(random))
        case "restart":
            await twins.restarts(random.choice(DOWN))
        case "mode":
            twins.mode_is(random.choice(("disarmed", "armed_home")))
        case _:
            due = min(wait.due for wait in run.waits)
            await twins.passes(max(due - twins.reference.now, 0.0), _dies(random))


def _dies(random: Random) -> Dies | None:
    if random.random() < 0.5:
        return None
    return Dies(random.randint(1, 8), random.random() < 0.5, random.choice(DOWN))
