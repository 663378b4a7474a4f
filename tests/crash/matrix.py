"""The driver: kills real processes with SIGKILL, lets another one finish each story, and checks from outside. Prints JSON.

    python -m tests.crash.matrix sample      # a seeded sample with about 200 kills
    python -m tests.crash.matrix full        # everything: more than 3,000 kills, about half an hour of two cores
    python -m tests.crash.matrix full 2/8    # the second eighth of that
    python -m tests.crash.matrix few         # the same of one scenario
    python -m tests.crash.matrix faults      # breaks the engine on purpose, once for each promise
    python -m tests.crash.matrix case 'waits' 'run.woken:1 commit.before:3' late

Each takes `postgres` as its last word: then the databases are those of a server that outlives the killed processes.

It imports everything once and forks each life, so that a life costs what it does and not what Python's start does; a forked life shares nothing with
the one before but the files. It has no loop and no thread of its own, since it forks.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import random
import resource
import select
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from siteward.core.store.migrate import migrate
from tests.crash import world
from tests.crash.checks import End, Story, ends, violations
from tests.crash.clock import DOWNS, read_times, write_times
from tests.crash.coverage import covers
from tests.crash.databases import Databases, databases
from tests.crash.deaths import RESTLESS, Hiccup, Kill, KillAt, lose_the_answer
from tests.crash.evidence import Evidence
from tests.crash.faults import FAULTS, Fault
from tests.crash.scenarios import SCENARIOS, Scenario
from tests.engine.house import Looks, Outside

ALIKE = "commit.begin"
"""Dying here leaves the same database as dying at `commit.before`: nothing of the transaction is kept at either."""
STANDING = ("step.begin", "step.answered", "step.committed", "intent.committed", "act.before", "act.after")
"""Boundaries of the loop, at which a frozen process holds no lock of the database."""
LIFE_SECONDS = 60
MOST_BOUNDARIES = 1500
"""Five times those of the longest life."""
MEMORY = Path("/dev/shm")
MOST_TRIES = 12
"""Stories that are told of one broken build."""
MOSTLY_SOON = ("soon", "soon", "soon", *DOWNS)
SEED = 20260302


@dataclass(frozen=True)
class Case:
    """One story: how each of its lives but the last dies (at a boundary by name and number, or so many seconds after its start), how long the machine is down
    after each, and what else happens. `frozen`: where the first process stands still until the second one does, too."""

    scenario: str
    deaths: tuple[Kill | float, ...] = ()
    down: str = "soon"
    hiccup: Hiccup | None = None
    frozen: tuple[Kill, Kill] | None = None

    def __str__(self) -> str:
        said = [f"{death:.3f}s" if isinstance(death, float) else f"{death[0]}:{death[1]}" for death in self.deaths]
        said += [str(self.hiccup)] if self.hiccup is not None else []
        said += [f"frozen {self.frozen}"] if self.frozen is not None else []
        return f"{self.scenario} {' '.join(said)} {self.down}"


@dataclass
class Prepared:
    """A scenario whose database is made, and what a life of it is that nobody disturbs."""

    scenario: Scenario
    template: Path
    kills: list[Kill] = field(default_factory=list)
    seconds: float = 0.0
    ends: frozenset[End] = frozenset()
    covers: frozenset[str] = frozenset()


class Matrix:
    """All stories over one kind of database. `fault` makes each life one of a build that breaks a promise."""

    def __init__(self, folder: Path, databases: Databases, fault: Callable[[], None] | None = None) -> None:
        self._folder = folder
        self._databases = databases
        self.fault = fault
        self.prepared: dict[str, Prepared] = {}
        self.killed = 0
        self.died_at: dict[str, set[str]] = {}
        """The names of the boundaries at which lives of each scenario were killed."""

    def prepare(self, names: Iterable[str]) -> None:
        """Make the databases of scenarios, and count the boundaries of a life that nobody disturbs."""
        for name in names:
            made = Prepared(SCENARIOS[name], self._folder / f"template-{name}")
            self._databases.make(made.template)
            if _ended(_fork(partial(_prepare, made))) != 0:
                raise SystemExit(f"{name} could not be prepared")
            self.prepared[name] = made
            self._undisturbed(made)

    def _undisturbed(self, made: Prepared) -> None:
        place, names = self._place(made, "undisturbed"), self._folder / "names"
        names.unlink(missing_ok=True)
        began = time.monotonic()
        status = _ended(self._fork_life(place, made.scenario, _boundaries(names=names)))
        made.seconds = time.monotonic() - began
        found = Evidence.read(place, made.scenario)
        wrong = _unfinished(status) or violations(found, Story())
        if wrong:
            raise SystemExit(f"the undisturbed life of {made.scenario.name}: {wrong}")
        made.ends, made.covers = ends(found), covers(found)
        reached: Counter[str] = Counter()
        for name in names.read_text().splitlines():
            reached[name] += 1
            made.kills.append((name, reached[name]))
        self._databases.drop(place)

    def run(self, case: Case) -> list[str]:
        """Tell one story; what is wrong with its end."""
        made = self.prepared[case.scenario]
        place = self._place(made, f"story-{os.getpid()}")
        try:
            if case.frozen is None:
                status = self._lives(place, made.scenario, case)
            else:
                status = self._two_at_once(place, made.scenario, case.frozen, case.down)
            return _unfinished(status) or violations(Evidence.read(place, made.scenario), _story(case, made))
        finally:
            self._databases.drop(place)

    def _lives(self, place: Path, scenario: Scenario, case: Case) -> int:
        for death in case.deaths:
            at = None if isinstance(death, float) else death
            pid = self._fork_life(place, scenario, _boundaries(at))
            if isinstance(death, float):
                _kill_after(pid, death)
            status = _ended(pid)
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
                self.killed += 1
                self.died_at.setdefault(scenario.name, set()).add("a moment" if at is None else at[0])
            _pass(place, case.down)
        return _ended(self._fork_life(place, scenario, _boundaries(), case.hiccup))

    def _two_at_once(self, place: Path, scenario: Scenario, frozen: tuple[Kill, Kill], down: str) -> int:
        """A process stands still in the middle of its work, and another one takes over; when that one stands still, the first goes on."""
        first, second = frozen
        one = self._fork_life(place, scenario, _boundaries(first, signal.SIGSTOP))
        if _stopped(one):
            _pass(place, down)
            other = self._fork_life(place, scenario, _boundaries(second, signal.SIGSTOP))
            stands = _stopped(other)
            _pass(place, "soon")
            os.kill(one, signal.SIGCONT)
            left = _ended(one)
            if not stands:
                return left
            _pass(place, "soon")
            os.kill(other, signal.SIGCONT)
            if (went := _ended(other)) != 0:
                return went
        _pass(place, "soon")
        return _ended(self._fork_life(place, scenario, _boundaries()))

    def _fork_life(self, place: Path, scenario: Scenario, boundaries: KillAt, hiccup: Hiccup | None = None) -> int:
        def live() -> int:
            if hiccup is not None:
                lose_the_answer(hiccup)
            if self.fault is not None:
                self.fault()
            return 0 if asyncio.run(world.live(place, scenario, boundaries)) else world.UNFINISHED

        return _fork(live)

    def _place(self, made: Prepared, name: str) -> Path:
        place = self._folder / f"{made.scenario.name}-{name}"
        self._databases.copy(made.template, place)
        return place


def _boundaries(
    at: Kill | None = None, with_signal: signal.Signals = signal.SIGKILL, names: Path | None = None
) -> KillAt:
    return KillAt(at, names, with_signal, MOST_BOUNDARIES)


def _prepare(made: Prepared) -> None:
    asyncio.run(world.prepare(made.template, made.scenario))


# -- processes ---------------------------------------------------------------------------------------------------------
def _fork(live: Callable[[], int | None]) -> int:
    """Start a life in a process of its own."""
    pid = os.fork()
    if pid == 0:
        gc.disable()
        signal.alarm(LIFE_SECONDS)
        code = 1
        try:
            code = live() or 0
        finally:
            os._exit(code)
    return pid


def _ended(pid: int) -> int:
    """Wait for the end of a process; its wait status."""
    return os.waitpid(pid, 0)[1]


def _stopped(pid: int) -> bool:
    """Wait until a process stands still; False where it ended instead."""
    return os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])


def _kill_after(pid: int, seconds: float) -> None:
    """SIGKILL a process after a while, if it lives that long."""
    handle = os.pidfd_open(pid)
    try:
        ended, _, _ = select.select([handle], [], [], seconds)
        if not ended:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    finally:
        os.close(handle)


def _pass(place: Path, down: str) -> None:
    """Let the time pass in which nobody lives."""
    file = place / "clock"
    write_times(file, read_times(file).after(DOWNS[down]))


def _unfinished(status: int) -> list[str]:
    """What is wrong with how the last life ended."""
    if status == 0:
        return []
    code = os.waitstatus_to_exitcode(status)
    said = {RESTLESS: "never came to rest", world.UNFINISHED: "stood still before its story had ended"}
    return [f"the last life {said.get(code, f'ended with {code}')}"]


def _story(case: Case, made: Prepared) -> Story:
    alone = case.frozen is None and case.hiccup is None
    return Story(
        calm=case.frozen is None and case.down == "soon",
        clock_set=case.down in ("ahead", "back"),
        alone=alone,
        undisturbed=made.ends,
    )


# -- which stories -----------------------------------------------------------------------------------------------------
def sample(matrix: Matrix, chosen: random.Random) -> list[Case]:
    """About 200 kills: each boundary of each scenario once by its name, and of everything else a little."""
    found: list[Case] = []
    for name, made in matrix.prepared.items():
        by_name: dict[str, list[Kill]] = {}
        for kill in made.kills:
            by_name.setdefault(kill[0], []).append(kill)
        # How many writes share a commit differs from life to life, so that the last of them may not be reached again.
        surely = [kills[: (len(kills) + 1) // 2] for kills in by_name.values()]
        found += [Case(name, (chosen.choice(kills),), chosen.choice(MOSTLY_SOON)) for kills in surely]
        found += _several(made, chosen, 2, 2) + _several(made, chosen, 4, 2)
        found += _moments(made, chosen, 1) + _hiccups(made, chosen, 1)
    return found + _frozen(matrix.prepared["everything"], chosen, 4)


def everything(matrix: Matrix, chosen: random.Random) -> list[Case]:
    """Every boundary of every scenario, each with a restart soon and one of the others; and hundreds of everything else."""
    found: list[Case] = []
    for name, made in matrix.prepared.items():
        kills = [kill for kill in made.kills if kill[0] != ALIKE]
        found += [Case(name, (kill,)) for kill in kills]
        found += [Case(name, (kill,), chosen.choice(("late", "power cut", "ahead", "back"))) for kill in kills]
        found += _several(made, chosen, 2, 40) + _several(made, chosen, 3, 20) + _moments(made, chosen, 40)
        found += _hiccups(made, chosen, 20) + _frozen(made, chosen, 10)
    return found


def _several(made: Prepared, chosen: random.Random, deaths: int, count: int) -> list[Case]:
    """Killed again while it recovers: early in each life, so that there is something left for the next."""
    early = made.kills[: len(made.kills) // deaths]
    return [
        Case(made.scenario.name, tuple(chosen.choices(early, k=deaths)), chosen.choice(("soon", "soon", "late")))
        for _ in range(count)
    ]


def _moments(made: Prepared, chosen: random.Random, count: int) -> list[Case]:
    moments = [chosen.uniform(0.0, made.seconds) for _ in range(count)]
    return [Case(made.scenario.name, (moment,), chosen.choice(("soon", "late"))) for moment in moments]


def _hiccups(made: Prepared, chosen: random.Random, count: int) -> list[Case]:
    writes = sum(name == "commit.after" for name, _ in made.kills)
    return [
        Case(made.scenario.name, hiccup=Hiccup(chosen.randint(1, writes), chosen.random() < 0.5)) for _ in range(count)
    ]


def _frozen(made: Prepared, chosen: random.Random, count: int) -> list[Case]:
    standing = [kill for kill in made.kills if kill[0] in STANDING]
    return [
        Case(
            made.scenario.name,
            frozen=(chosen.choice(standing), (chosen.choice(STANDING), chosen.randint(1, 3))),
            down=chosen.choice(("soon", "late")),
        )
        for _ in range(count)
    ]


def of_a_fault(fault: Fault, made: Prepared) -> list[Case]:
    """The few stories of which one must show a fault."""
    name = fault.scenario
    kills = [kill for kill in made.kills if kill[0] in fault.at]
    if fault.hiccup:
        return [Case(name, hiccup=Hiccup(nth, kept=False)) for nth in range(1, MOST_TRIES + 1)]
    if fault.frozen:
        return [Case(name, frozen=(kill, kills[1])) for kill in kills[:MOST_TRIES]]
    return [Case(name, (kill,), fault.down) for kill in kills[:MOST_TRIES]] or [Case(name)]


def break_and_tell(matrix: Matrix) -> dict[str, object]:
    """Tell stories of each broken build until one shows what is broken: by how many it was shown, and what was found in that one."""
    matrix.prepare(sorted({fault.scenario for fault in FAULTS.values()}))
    told: dict[str, object] = {}
    for name, fault in FAULTS.items():
        matrix.fault = fault.breaks
        found: list[list[str]] = []
        for case in of_a_fault(fault, matrix.prepared[fault.scenario]):
            found.append(matrix.run(case))
            if any(fault.finds in sentence for sentence in found[-1]):
                break
        told[name] = {"stories": len(found), "found": found[-1]}
    return told


# -- the program -------------------------------------------------------------------------------------------------------
def warm() -> None:
    """Make what every life needs and no life changes, before the first fork."""
    logging.disable()
    world.skills(Outside(), Looks())
    with tempfile.TemporaryDirectory() as folder:
        migrate(f"{folder}/first.db")
    # A collection in a forked life would touch, and so copy, everything that was imported.
    gc.collect()
    gc.freeze()


def tell(matrix: Matrix, cases: Sequence[Case], side_by_side: int) -> dict[str, object]:
    """Tell all stories, some side by side, and say what was found."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, str(number)) for number in range(side_by_side)]
        tellers = [
            _teller(partial(_tell_some, matrix, cases[number::side_by_side], file)) for number, file in enumerate(files)
        ]
        statuses = [_ended(pid) for pid in tellers]
        if any(statuses):
            raise SystemExit("a teller of stories broke")
        parts = [json.loads(file.read_text()) for file in files]
    return {
        "stories": len(cases),
        "killed": sum(part["killed"] for part in parts),
        "died_at": {
            name: sorted({died for part in parts for died in part["died_at"].get(name, ())}) for name in matrix.prepared
        },
        "violations": {case: wrong for part in parts for case, wrong in part["violations"].items()},
        "seconds": round(time.monotonic() - began, 1),
    }


def _teller(tell_some: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            tell_some()
            code = 0
        finally:
            os._exit(code)
    return pid


def _tell_some(matrix: Matrix, cases: Iterable[Case], file: Path) -> None:
    found = {str(case): wrong for case in cases if (wrong := matrix.run(case))}
    died_at = {name: sorted(names) for name, names in matrix.died_at.items()}
    file.write_text(json.dumps({"killed": matrix.killed, "violations": found, "died_at": died_at}))


def main(which: str, *more: str) -> None:
    """Run a part of the matrix and print what it found."""
    kind = "postgres" if "postgres" in more else "sqlite"
    warm()
    # A kill loses nothing that the kernel has: in memory the files survive it as they do on a disk, and each fsync costs less.
    memory = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder, databases(kind) as made:
        told = _told(which, more, Matrix(Path(folder), made))
        print(json.dumps(told, indent=1))  # noqa: T201


def _told(which: str, more: Sequence[str], matrix: Matrix) -> dict[str, object]:
    chosen = random.Random(SEED)
    match which:
        case "faults":
            return break_and_tell(matrix)
        case "case":
            name, deaths, down, *_ = more
            matrix.prepare([name])
            cases = [Case(name, tuple(_read_death(one) for one in deaths.split()), down)]
        case "few":
            matrix.prepare(["everything"])
            cases = sample(matrix, chosen)
        case "full":
            matrix.prepare(SCENARIOS)
            part, _, parts = next((word for word in more if "/" in word), "1/1").partition("/")
            cases = everything(matrix, chosen)[int(part) - 1 :: int(parts)]
        case _:
            matrix.prepare(SCENARIOS)
            cases = sample(matrix, chosen)
    told = tell(matrix, cases, 2)
    told["boundaries"] = {name: Counter(kill[0] for kill in made.kills) for name, made in matrix.prepared.items()}
    told["covers"] = sorted(set[str]().union(*(made.covers for made in matrix.prepared.values())))
    told["cpu_seconds"] = round(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]), 1)
    return told


def _read_death(text: str) -> Kill | float:
    name, colon, nth = text.partition(":")
    return (name, int(nth)) if colon else float(text.removesuffix("s"))


if __name__ == "__main__":
    main(*sys.argv[1:])
