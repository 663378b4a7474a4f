"""What a past of finished runs changes: the same figures over an empty database and over one with 50,000 finished runs (1,000,000 with `--full`).

The past is `benchmarks.past`'s, rows of real runs spread over 29 days, in one SQLite file. Of each kind of site two processes are started, one per database, and
sampled in turn, at least five times: units 100 at once and alone (`benchmarks.ours`), 200 cameras with 50 workflows (`benchmarks.large_site`), and restarts
with waiting runs (1,000; 10,000 with `--full`). What is told is the ratio of each pair, past to empty; a million runs may change none by more than a fifth.
"""

from __future__ import annotations

import tempfile
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path

from benchmarks.bench_waiting import Restarts, make_waiting, restart
from benchmarks.harness import AtLeast, AtMost, Report, arguments
from benchmarks.past import add_past
from benchmarks.processes import Sample, ours, site, worker

AT_ONCE = 100
RATE = 1000
WARM_UP = 200
NAMES = ("empty", "past")


def turns(number: int) -> tuple[str, ...]:
    """Which comes first changes with each round."""
    return NAMES if number % 2 == 0 else NAMES[::-1]


def units(folder: Path, asked: Namespace, report: Report) -> None:
    """Runs a second at 100 at once, and the time of one alone."""
    many: dict[str, list[Sample]] = {name: [] for name in NAMES}
    alone: dict[str, list[Sample]] = {name: [] for name in NAMES}
    with ExitStack() as exits:
        workers = {
            name: exits.enter_context(worker(name, ours("--folder", str(folder / name)), folder)) for name in NAMES
        }
        size = int(min(one.sample(WARM_UP, AT_ONCE).runs_a_second for one in workers.values()) * asked.seconds)
        for number in range(asked.rounds):
            for name in turns(number):
                report.watch.begin()
                many[name].append(workers[name].sample(max(WARM_UP, size), AT_ONCE))
                alone[name].append(workers[name].sample(max(50, size // 20), 1))
                report.watch.end()
    for name in NAMES:
        report.add(f"{name}, {AT_ONCE} at once", "runs/s", [one.runs_a_second for one in many[name]])
        report.add(f"{name}, alone, p50", "ms", [one.p50_ms for one in alone[name]])
    rates = {name: [one.runs_a_second for one in found] for name, found in many.items()}
    report.ratio(f"{AT_ONCE} at once, past to empty", rates["past"], rates["empty"], AtLeast(0.8))
    times = {name: [one.p50_ms for one in found] for name, found in alone.items()}
    report.ratio("alone, p50, past to empty", times["past"], times["empty"], AtMost(1.2))


def cameras(folder: Path, asked: Namespace, report: Report) -> None:
    """Processor time and the time to the first committed row, of 200 cameras."""
    cores: dict[str, list[float]] = {name: [] for name in NAMES}
    late: dict[str, list[float]] = {name: [] for name in NAMES}
    with ExitStack() as exits:
        sites = {
            name: exits.enter_context(worker(name, site("--workflows", "50", "--folder", str(folder / name)), folder))
            for name in NAMES
        }
        for one in sites.values():
            one.ask({"seconds": 2.0, "rate": RATE})
        for number in range(asked.rounds):
            for name in turns(number):
                report.watch.begin()
                told = sites[name].ask({"seconds": asked.seconds * 2, "rate": RATE})
                report.watch.end()
                cores[name].append(told["cores"])
                late[name].append(told["p99_ms"])
    for name in NAMES:
        report.add(f"{name}, 200 cameras, processor", "cores", cores[name])
        report.add(f"{name}, 200 cameras, p99", "ms", late[name])
    report.ratio("200 cameras, processor, past to empty", cores["past"], cores["empty"], AtMost(1.2))
    report.ratio("200 cameras, p99, past to empty", late["past"], late["empty"], AtMost(1.2))


def waiting(folder: Path, asked: Namespace, report: Report) -> None:
    """Restarts with runs that wait."""
    runs = 10_000 if asked.full else 1_000
    found = {name: Restarts() for name in NAMES}
    for name in NAMES:
        make_waiting(folder / name, runs)
    for number in range(asked.rounds):
        for name in turns(number):
            report.watch.begin()
            restart(folder / name, found[name], answers=True)
            report.watch.end()
    for name in NAMES:
        report.add(f"{name}, {runs:,} waiting, ready after", "s", found[name].ready_s)
        report.add(f"{name}, {runs:,} waiting, memory", "MB", found[name].resident_mb)
    past, empty = found["past"], found["empty"]
    report.ratio("ready after, past to empty", past.ready_s, empty.ready_s, AtMost(1.2))
    report.ratio("memory, past to empty", past.resident_mb, empty.resident_mb, AtMost(1.2))
    report.ratio("an answer until its run is done, past to empty", past.answer_ms, empty.answer_ms, AtMost(1.2))


def main() -> None:
    reads = arguments(__doc__)
    reads.add_argument("--history", type=int, help="finished runs in the past")
    reads.add_argument("--seconds", type=float, default=3.0, help="length of a sample")
    asked = reads.parse_args()
    runs = asked.history or (1_000_000 if asked.full else 50_000)
    report = Report("history", asked)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name in NAMES:
            (folder / name).mkdir()
        add_past(folder / "empty", 1)
        add_past(folder / "past", runs)
        size = (folder / "past" / "site.db").stat().st_size
        report.note(f"The past: {runs:,} finished runs, {size / runs:,.0f} bytes each in the file.")
        units(folder, asked, report)
        cameras(folder, asked, report)
        waiting(folder, asked, report)
    report.finish()


if __name__ == "__main__":
    main()
