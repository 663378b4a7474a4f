"""The driver: kills a real process at a boundary with SIGKILL, lets another one finish, and checks from outside. Prints JSON.

Run as a program of its own (`python -m tests.crash.matrix all`). It imports everything once and forks each life, so that a life costs what it does
and not what Python's start does; a forked life shares nothing with the one before but the files.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.crash import world
from tests.crash.checks import violations
from tests.engine.house import Looks, Outside, scripted_skills

SOON, LATE = 1.0, 3600.0
"""Seconds that the machine is down between two lives: shortly, and for longer than any reply is good for."""
NEAR_THE_MOVE = ("answer.committed", "intent.committed", "act.before", "act.after", "run.woken", "step.answered")
PAIRS = 16
SEED = 20260302


@dataclass(frozen=True)
class Case:
    """The boundaries to die at, one per life, and how long the machine is down after each."""

    kills: tuple[int, ...]
    down: float


class Matrix:
    """All lives of one scenario."""

    def __init__(self, folder: Path, fault: str | None) -> None:
        self.folder = folder
        self.template = folder / "template"
        self.template.mkdir()
        self.names: list[str] = []
        if fault is not None:
            world.FAULTS[fault]()
        # What every life needs and no life changes is made before the first fork.
        scripted_skills(Outside(), Looks())

    def prepare(self) -> None:
        """Make the database, and count the boundaries of a life that nobody disturbs."""
        _life(lambda: asyncio.run(world.prepare(self.template)))
        (self.template / "clock").unlink()
        place, names = self._place("undisturbed"), self.folder / "names"
        if _life(lambda: asyncio.run(world.live(place, None, names, 0.0))) != 0:
            raise SystemExit("the undisturbed life did not end well")
        self.names = names.read_text().splitlines()
        if found := violations(place):
            raise SystemExit(f"the undisturbed life: {found}")

    def run(self, case: Case) -> list[str]:
        """One story with its kills; what is wrong with its end."""
        place = self._place("-".join(map(str, case.kills)) + f"-{case.down:.0f}")
        down = 0.0
        for kill_at in case.kills:
            _life(lambda at=kill_at, down=down: asyncio.run(world.live(place, at, None, down)))
            down = case.down
        left = _life(lambda: asyncio.run(world.live(place, None, None, down)))
        found = violations(place) if left == 0 else [f"the last life ended with {left}"]
        shutil.rmtree(place)
        return found

    def _place(self, name: str) -> Path:
        place = self.folder / name
        shutil.copytree(self.template, place)
        return place


def _life(live: object) -> int:
    """Run a life in a process of its own; its wait status."""
    assert callable(live)
    pid = os.fork()
    if pid == 0:
        signal.alarm(world.LIFE_SECONDS)
        code = 1
        try:
            live()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]


def cases(matrix: Matrix, which: str) -> Iterable[Case]:
    """The cases of a part: `all` boundaries, the same after a `late` restart near the move, `pairs`, or those that find a `fault`."""
    numbered = list(enumerate(matrix.names, 1))
    near = [number for number, name in numbered if name in NEAR_THE_MOVE]
    match which:
        case "all":
            return [Case((number,), SOON) for number, _ in numbered]
        case "late":
            return [Case((number,), LATE) for number in near]
        case "pairs":
            chosen = random.Random(SEED)
            last = len(numbered)
            return [Case((chosen.randint(1, last), chosen.randint(1, last // 2)), SOON) for _ in range(PAIRS)]
        case _:
            return [Case((number,), SOON) for number, name in numbered if name == "act.after"]


def main(which: str, fault: str | None) -> None:
    """Run one part of the matrix and print what it found."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        matrix = Matrix(Path(folder), fault)
        matrix.prepare()
        chosen = list(cases(matrix, which))
        found = {}
        for case in chosen:
            if wrong := matrix.run(case):
                found[f"{case.kills} {[matrix.names[n - 1] for n in case.kills if n <= len(matrix.names)]}"] = wrong
        told = {"boundaries": len(matrix.names), "names": sorted(set(matrix.names)), "cases": len(chosen)}
        print(json.dumps({**told, "violations": found, "seconds": round(time.monotonic() - began, 1)}))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
