"""The engine does what the reference says, whatever happens in whatever order, and whenever its process dies.

A state machine of hypothesis lets the same things happen to a real engine (simulated clock; its tasks and its database take turns in an order that is
drawn, so that a red run can be repeated) and to the reference, and compares all that can be seen after each. The random workflows beside it run on the
real store. `SITEWARD_MODEL_EXAMPLES=2000 python -m pytest tests/model/test_engine_against_reference.py` is the long run.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from .language import Program, Sighting
from .machine import Dies, Thing, Twins
from .shapes import ON_ALERTS, REPLIES, SHAPES
from .shuffled import MortalInlineHouse, ShuffledLoop
from .things import Run

T = TypeVar("T")
EXAMPLES = int(os.environ.get("SITEWARD_MODEL_EXAMPLES", "8"))

limited = st.builds(
    lambda shape, scope, cooldown, per_hour: replace(shape, scope=scope, cooldown=cooldown, per_hour=per_hour),
    st.sampled_from(SHAPES),
    st.sampled_from(("camera", "plate", "track")),
    st.sampled_from((0, 60, 300)),
    st.sampled_from((600, 2)),
)
deaths = st.none() | st.builds(Dies, st.integers(1, 8), st.booleans(), st.sampled_from((0.0, 30.0, 3600.0)))
cars = st.tuples(
    st.sampled_from(("cam-1", "cam-2")),
    st.sampled_from((None, "B AA 1", "B BB 2")),
    st.sampled_from((None, "1", "2")),
    st.sampled_from((None, "early", "late")),
)
Car = tuple[str, str | None, str | None, str | None]


class Lives(RuleBasedStateMachine):
    """One site for as long as hypothesis likes."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = Random(0)
        self.runner = asyncio.Runner(loop_factory=partial(ShuffledLoop, self.turns))
        self.events = 0
        self.twins: Twins

    def does(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def happens(self, things: Sequence[Thing], dies: Dies | None = None) -> None:
        self.does(self.twins.does(things, dies))

    @initialize(
        programs=st.lists(limited, min_size=1, max_size=2),
        alerts=st.booleans(),
        suspend=st.booleans(),
        order=st.integers(0, 1000),
    )
    def opens(self, programs: list[Program], alerts: bool, suspend: bool, order: int) -> None:
        self.turns.seed(order)
        house = MortalInlineHouse(Path(), always_suspend=suspend)
        house.random = self.turns
        self.twins = Twins(house)
        self.does(self.twins.open([*programs, *(ON_ALERTS if alerts else ())]))

    # -- what happens --------------------------------------------------------------------------------------------------
    @rule(car=cars, dies=deaths)
    def a_car_comes(self, car: Car, dies: Dies | None) -> None:
        self.happens([self.twins.seeing(self._sighting(car))], dies)

    @rule(two=st.lists(cars, min_size=2, max_size=2))
    def cars_come_at_once(self, two: list[Car]) -> None:
        self.happens([self.twins.seeing(self._sighting(car)) for car in two])

    @precondition(lambda self: self._sightings())
    @rule(number=st.integers(0, 9))
    def an_event_is_sent_again(self, number: int) -> None:
        known = self._sightings()
        self.happens([self.twins.seeing(known[number % len(known)].event)])

    @precondition(lambda self: self._asking())
    @rule(number=st.integers(0, 9), replies=st.lists(st.sampled_from(REPLIES), min_size=1, max_size=2), dies=deaths)
    def somebody_answers(self, number: int, replies: list[str], dies: Dies | None) -> None:
        asking = self._asking()
        run = asking[number % len(asking)]
        known = [reply for reply in replies if reply in run.replies()] or [run.replies()[0]]
        answers = [self.does(self.twins.answering(run.key, reply)) for reply in known]
        self.happens(answers, dies if len(answers) == 1 else None)

    @precondition(lambda self: any(run.state == "waiting" for run in self._asking()))
    @rule(number=st.integers(0, 9))
    def somebody_answers_wrongly(self, number: int) -> None:
        asking = [run for run in self._asking() if run.state == "waiting"]
        self.does(self.twins.answers_wrongly(asking[number % len(asking)].key))

    @rule(to=st.sampled_from(("open", "closed")), dies=deaths)
    def the_gate_changes(self, to: str, dies: Dies | None) -> None:
        self.does(self.twins.gate_changes(self._new_id(), to, dies))

    @rule(seconds=st.sampled_from((1.0, 5.0, 59.0, 60.0, 61.0, 300.0, 600.0, 3600.0)), dies=deaths)
    def time_passes(self, seconds: float, dies: Dies | None) -> None:
        self.does(self.twins.passes(seconds, dies))

    @rule(place=st.integers(0, 1), shape=limited, dies=deaths)
    def somebody_edits(self, place: int, shape: Program, dies: Dies | None) -> None:
        place, held = self._at(place)
        self.happens([self.twins.editing(place, replace(shape, name=held.name, cooldown=held.cooldown))], dies)

    @rule(place=st.integers(0, 1), state=st.sampled_from(("off", "test", "on", "on")), dies=deaths)
    def somebody_switches(self, place: int, state: str, dies: Dies | None) -> None:
        self.happens([self.twins.switching(self._at(place)[0], state)], dies)

    @precondition(lambda self: self._alive())
    @rule(number=st.integers(0, 9), dies=deaths)
    def somebody_cancels(self, number: int, dies: Dies | None) -> None:
        alive = self._alive()
        self.happens([self.does(self.twins.cancelling(alive[number % len(alive)].key))], dies)

    @rule(mode=st.sampled_from(("disarmed", "armed_home")))
    def the_mode_changes(self, mode: str) -> None:
        self.twins.mode_is(mode)

    @rule(down=st.sampled_from((0.0, 30.0, 3600.0)))
    def the_host_restarts(self, down: float) -> None:
        self.does(self.twins.restarts(down))

    def teardown(self) -> None:
        with self.runner:
            if hasattr(self, "twins"):
                self.does(self.twins.close())

    # -- who is there --------------------------------------------------------------------------------------------------
    def _sighting(self, car: Car) -> Sighting:
        camera, plate, track, picture = car
        return Sighting(self._new_id(), camera, self.twins.reference.now, plate, track, picture)

    def _new_id(self) -> str:
        self.events += 1
        return f"event {self.events}"

    def _at(self, place: int) -> tuple[int, Program]:
        workflows = self.twins.reference.workflows
        place = min(place, sum(1 for one in workflows if one.program.starts_at is None) - 1)
        return place, workflows[place].program

    def _runs(self) -> list[Run]:
        return [run for run in self.twins.reference.runs.values() if run.event.severity is None]

    def _sightings(self) -> list[Run]:
        return self._runs()

    def _asking(self) -> list[Run]:
        return [run for run in self._runs() if run.questions]

    def _alive(self) -> list[Run]:
        return [run for run in self._runs() if run.state == "waiting"]


Lives.TestCase.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLives = Lives.TestCase
