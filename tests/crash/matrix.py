"""The driver: kills a real process at a boundary with SIGKILL, lets another one finish, and checks from outside. Prints JSON.

Run as a program of its own (`python -m tests.crash.matrix all`, or `fault skip_the_intent`, or `all - 0 2` for every second case). It imports everything once and forks each life, so that a life costs what it does
and not what Python's start does; a forked life shares nothing with the one before but the files.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from siteward.core.store.migrate import migrate
from tests.crash import world
from tests.crash.checks import violations
from tests.crash.world import Kill
from tests.engine.house import Looks, Outside, scripted_skills

SOON, LATE = 1.0, 3600.0
"""Seconds that the machine is down between two lives: shortly, and for longer than any reply is good for."""
NEAR_THE_MOVE = ("answer.committed", "intent.committed", "act.before", "act.after", "run.woken", "step.answered")
ALIKE = "commit.begin"
"""Dying here leaves the same file as dying at `commit.before`: nothing of the transaction is on the disk at either."""
PAIRS = 16
MEMORY = Path("/dev/shm")
SEED = 20260302


@dataclass(frozen=True)
class Case:
    """The boundaries to die at, one per life (by name and number, since how many writes share a commit differs), and how long the machine is down after each."""

    kills: tuple[Kill, ...]
    down: float


class Matrix:
    """All lives of one scenario."""

    def __init__(self, folder: Path, fault: str | None) -> None:
        self.folder = folder
        self.template = folder / "template"
        self.template.mkdir()
        self.kills: list[Kill] = []
        self.killed = 0
        if fault is not None:
            world.FAULTS[fault]()
        # What every life needs and no life changes is made before the first fork.
        scripted_skills(Outside(), Looks())
        migrate(str(folder / "first.db"))
        # A collection in a forked life would touch, and so copy, everything that was imported.
        gc.collect()
        gc.freeze()

    def prepare(self) -> None:
        """Make the database, and count the boundaries of a life that nobody disturbs."""
        _life(lambda: asyncio.run(world.prepare(self.template)))
        (self.template / "clock").unlink()
        place, names = self._place("undisturbed"), self.folder / "names"
        if _life(lambda: asyncio.run(world.live(place, None, names, 0.0))) != 0:
            raise SystemExit("the undisturbed life did not end well")
        reached: Counter[str] = Counter()
        for name in names.read_text().splitlines():
            reached[name] += 1
            self.kills.append((name, reached[name]))
        if found := violations(place):
            raise SystemExit(f"the undisturbed life: {found}")

    def run(self, case: Case) -> list[str]:
        """One story with its kills; what is wrong with its end."""
        place = self._place("-".join(f"{name}-{nth}" for name, nth in case.kills) + f"-{case.down:.0f}")
        down = 0.0
        for kill in case.kills:
            status = _life(lambda at=kill, down=down: asyncio.run(world.live(place, at, None, down)))
            self.killed += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
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
        gc.disable()
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
    everywhere = [kill for kill in matrix.kills if kill[0] != ALIKE]
    match which:
        case "all":
            return [Case((kill,), SOON) for kill in everywhere]
        case "late":
            return [Case((kill,), LATE) for kill in everywhere if kill[0] in NEAR_THE_MOVE]
        case "pairs":
            chosen = random.Random(SEED)
            return [Case((chosen.choice(everywhere), chosen.choice(everywhere)), SOON) for _ in range(PAIRS)]
        case _:
            return [Case((kill,), SOON) for kill in everywhere if kill[0] in ("intent.committed", "act.after")]


def main(which: str, fault: str | None, shard: int = 0, shards: int = 1) -> None:
    """Run one part of the matrix, or every `shards`-th case of it, and print what it found."""
    began = time.monotonic()
    # A kill loses nothing that the kernel has: in memory the files survive it as they do on a disk, and each fsync costs less.
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        matrix = Matrix(Path(folder), fault)
        matrix.prepare()
        chosen = list(cases(matrix, which))[shard::shards]
        found = {}
        for case in chosen:
            if wrong := matrix.run(case):
                found[str(case.kills)] = wrong
        told = {
            "boundaries": len(matrix.kills),
            "names": sorted({name for name, _ in matrix.kills}),
            "cases": len(chosen),
            "killed": matrix.killed,
            "violations": found,
            "seconds": round(time.monotonic() - began, 1),
            "cpu_seconds": round(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]), 1),
        }
        print(json.dumps(told))  # noqa: T201


if __name__ == "__main__":
    _, part, *more = sys.argv
    main(part, more[0] if more and more[0] != "-" else None, *(int(number) for number in more[1:3]))
