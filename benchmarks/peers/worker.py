"""What a peer's script speaks with the benchmark: a line of JSON in for each sample, a line of JSON out. Standard library only.

In: `{"runs": 500, "at_once": 100}`. Out, once: `{"ready": {...settings...}}`; for each sample `{"seconds": 1.2, "p50_ms": 3.4, "p99_ms": 9.9}`, or
`{"error": "..."}`. The sample counts what was recorded before and after: a unit whose action is not recorded is no unit.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

One = Callable[[int], Awaitable[None]]
Recorded = Callable[[], Awaitable[int]]


async def closed_loop(one: One, first: int, runs: int, at_once: int) -> tuple[float, list[float]]:
    """Seconds for `runs` units with `at_once` under way at each moment, and the seconds of each."""
    numbers = itertools.count(first)
    took: list[float] = []

    async def client() -> None:
        for number in numbers:
            if number >= first + runs:
                return
            started = time.perf_counter()
            await one(number)
            took.append(time.perf_counter() - started)

    begun = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(at_once)))
    return time.perf_counter() - begun, took


def _at(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000


class Told:
    """The way out to the benchmark. Whatever else the process prints goes to standard error."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)

    def say(self, what: dict[str, Any]) -> None:
        self._out.write(json.dumps(what) + "\n")
        self._out.flush()


async def serve(told: Told, settings: dict[str, Any], one: One, recorded: Recorded) -> None:
    """Say what this peer runs with, then do what each line asks for until there is no more."""
    loop, first = asyncio.get_running_loop(), 0
    told.say({"ready": settings})
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        asked = json.loads(line)
        runs, at_once = int(asked["runs"]), int(asked["at_once"])
        before = await recorded()
        spent, took = await closed_loop(one, first, runs, at_once)
        first += runs
        done = await recorded() - before
        if done != runs:
            told.say({"error": f"{done} of {runs} actions are recorded"})
            continue
        took.sort()
        told.say({"seconds": spent, "p50_ms": _at(took, 0.5), "p99_ms": _at(took, 0.99)})
