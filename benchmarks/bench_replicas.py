"""Two engines beside one, on the same PostgreSQL: the runs a second of both together by those of one alone.

Each engine is a process pinned to a core of its own; each run computes for some milliseconds (`--work`, 5 by default), as steps that look at pictures do,
so that the database is not the limit: on a machine of two cores PostgreSQL has no core of its own, and takes from both what its part of each run costs. One
engine alone has the other core's help for that, two have not: the ratio is the worse for it, and says what a machine for each would say or less.
`synchronous_commit` and `fsync` are on.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.harness import AtLeast, Report, arguments
from benchmarks.processes import Worker, worker
from tests.postgres import server

RUNS = 300
AT_ONCE = 16
WORK_MS = 5.0


def main() -> None:
    reads = arguments(__doc__)
    reads.add_argument("--work", type=float, default=WORK_MS, help="milliseconds of computing in each run")
    reads.add_argument("--runs", type=int, default=RUNS, help="runs of each engine in a sample")
    asked = reads.parse_args()
    report = Report("replicas", asked)
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit("This needs two cores.")
    one, both = list[float](), list[float]()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(server(durable=True)).database()
        engines = [
            stack.enter_context(worker(name, _engine(name, url, core, asked.work), folder))
            for name, core in zip("ab", cores, strict=False)
        ]
        _together(engines, asked.runs)
        for number in range(asked.rounds):
            report.watch.begin()
            samples = [(both, engines), (one, engines[number % 2 : number % 2 + 1])]
            for found, some in samples if number % 2 else samples[::-1]:
                found.append(_together(some, asked.runs))
            report.watch.end()
    report.add("one engine", "runs/s", one)
    report.add("two engines", "runs/s", both)
    report.ratio("two engines to one", both, one, AtLeast(1.6))
    report.note(
        f"each run computes for {asked.work:g} ms; {AT_ONCE} runs at once in each engine; PostgreSQL shares the two cores"
    )
    report.finish()


def _engine(name: str, url: str, core: int, work: float) -> list[str]:
    return [sys.executable, "-m", "benchmarks.replica_worker", name, url, str(core), str(work)]


def _together(engines: list[Worker], runs: int) -> float:
    """Runs a second of these engines at the same time: what each did by its own seconds."""
    for engine in engines:
        engine.say({"runs": runs, "at_once": AT_ONCE})
    return sum((runs / float(engine.answer()["seconds"]) for engine in engines), 0.0)


if __name__ == "__main__":
    main()
