"""10,000 runs that wait for a person: the memory of the process that holds them, and how soon it is ready after a restart.

The runs are made through the engine, on SQLite. Then processes are started in turn over a database with none and over that with 10,000 waiting, at least five
times each. Ready is the time from the start of the process (Python and its imports included) until the engine takes events; then one question is answered and its
run ends. Memory is the resident memory of the whole process once it is ready.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.harness import AtMost, Report, arguments
from benchmarks.processes import ROOT, worker

WAITING = 10_000
MODULE = (sys.executable, "-m", "benchmarks.waiting_worker")


@dataclass
class Restarts:
    """What was seen of one database's restarts."""

    ready_s: list[float] = field(default_factory=list)
    started_s: list[float] = field(default_factory=list)
    resident_mb: list[float] = field(default_factory=list)
    answer_ms: list[float] = field(default_factory=list)


def restart(folder: Path, into: Restarts, *, answers: bool) -> None:
    """One start over the folder's database."""
    begun = time.perf_counter()
    with worker("waiting", (*MODULE, "--folder", str(folder)), folder) as one:
        into.ready_s.append(time.perf_counter() - begun)
        into.started_s.append(one.settings["started_s"])
        into.resident_mb.append(one.settings["resident_mb"])
        if answers:
            into.answer_ms.append(one.ask({})["answer_ms"])


def make_waiting(folder: Path, runs: int) -> None:
    """A database in the folder with so many waiting runs more."""
    subprocess.run((*MODULE, "--folder", str(folder), "--make", str(runs)), cwd=ROOT, check=True)


def main() -> None:
    reads = arguments(__doc__)
    reads.add_argument("--waiting", type=int, default=WAITING, help="how many runs wait")
    asked = reads.parse_args()
    report = Report("waiting", asked)
    none, many = Restarts(), Restarts()
    with tempfile.TemporaryDirectory() as scratch:
        empty, full = Path(scratch, "empty"), Path(scratch, "full")
        for folder, runs in ((empty, 0), (full, asked.waiting)):
            folder.mkdir()
            make_waiting(folder, runs)
        for number in range(asked.rounds):
            pairs = [(empty, none, False), (full, many, True)]
            for folder, into, answers in pairs if number % 2 == 0 else pairs[::-1]:
                report.watch.begin()
                restart(folder, into, answers=answers)
                report.watch.end()
    name = f"{asked.waiting:,} waiting"
    report.add(f"{name}, memory", "MB", many.resident_mb, AtMost(200.0))
    report.add("none waiting, memory", "MB", none.resident_mb)
    report.add(f"{name}, ready after", "s", many.ready_s, AtMost(5.0))
    report.add("none waiting, ready after", "s", none.ready_s)
    report.add(f"{name}, of which the engine", "s", many.started_s)
    report.add(f"{name}, an answer until its run is done", "ms", many.answer_ms)
    report.ratio("ready, many to none", many.ready_s, none.ready_s)
    report.finish()


if __name__ == "__main__":
    main()
