"""Ours beside the engines that people know, in one run: event -> `if` -> one recorded action -> done, 100 at once and alone.

Each engine is a process of its own, started and warmed once and then sampled in turn (A B C A B C ...), at least five times; a sample is about `--seconds` long.
What each one's unit is, what it makes durable and how it is set stands in its script in `benchmarks/peers/`; they are installed on first use
(`benchmarks.peers.install`). Ratios are of the samples of one round. Home Assistant keeps nothing: it is there for scale. 100 at once is a closed loop of 100
clients; runs a second over the whole sample, p50 and p99 of single runs. Alone is one client.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks.harness import AtLeast, AtMost, Bound, Report, arguments
from benchmarks.peers import install
from benchmarks.processes import PeerBroken, Sample, Worker, ours, worker
from tests.postgres import server

AT_ONCE = 100
WARM_UP = 100
SLOWEST = 20
"""Runs in the smallest sample, alone."""
OURS = "siteward"

OURS_ON_POSTGRES = "siteward on PostgreSQL"
DBOS_ON_POSTGRES = "dbos on PostgreSQL"

PEERS: dict[str, Callable[[], list[str]]] = {
    "home assistant": lambda: [str(install.home_assistant()), "-m", "benchmarks.peers.home_assistant_peer"],
    "restate": lambda: [
        *(str(install.restate()), "-m", "benchmarks.peers.restate_peer", "--server", str(install.restate_server())),
    ],
    "dbos, WAL by hand": lambda: _dbos("sqlite-wal", "threads"),
    "dbos async, WAL by hand": lambda: _dbos("sqlite-wal", "async"),
    "dbos as shipped": lambda: _dbos("sqlite", "threads"),
}
POSTGRES = "postgresql"
"""Asked for like a peer: ours and DBOS, each on a database of its own of one server (`fsync` and `synchronous_commit` on)."""
FASTER: dict[str, Bound] = {
    "home assistant": AtLeast(1.0),
    "restate": AtLeast(4.0),
    "dbos, WAL by hand": AtLeast(12.0),
    "dbos async, WAL by hand": AtLeast(12.0),
    DBOS_ON_POSTGRES: AtLeast(10.0),
}
DURABLE = (*(name for name in PEERS if name != "home assistant"), DBOS_ON_POSTGRES)
ALONE = AtMost(0.5)
"""Our p50 to that of the best durable peer."""


def _dbos(database: str, style: str) -> list[str]:
    return [str(install.dbos()), "-m", "benchmarks.peers.dbos_peer", "--database", database, "--style", style]


def size_of(worker: Worker, at_once: int, seconds: float) -> int:
    """How many runs make a sample of about so many seconds, by a warm-up."""
    warm = worker.sample(WARM_UP if at_once > 1 else SLOWEST, at_once)
    return max(at_once * 2 if at_once > 1 else SLOWEST, int(warm.runs_a_second * seconds))


def samples(
    workers: dict[str, Worker], at_once: int, seconds: float, rounds: int, report: Report
) -> dict[str, list[Sample]]:
    """Samples of all, taken in turn."""
    sizes = {name: size_of(one, at_once, seconds) for name, one in workers.items()}
    found: dict[str, list[Sample]] = {name: [] for name in workers}
    for number in range(rounds):
        for name in list(workers) if number % 2 == 0 else list(workers)[::-1]:
            report.watch.begin()
            found[name].append(workers[name].sample(sizes[name], at_once))
            report.watch.end()
    return found


def tell(report: Report, at_once: dict[str, list[Sample]], alone: dict[str, list[Sample]]) -> None:
    """The figures, and ours to each peer's."""
    for name, found in at_once.items():
        report.add(f"{name}, {AT_ONCE} at once", "runs/s", [one.runs_a_second for one in found])
        report.add(f"{name}, {AT_ONCE} at once, p99", "ms", [one.p99_ms for one in found])
    for name, found in alone.items():
        report.add(f"{name}, alone, p50", "ms", [one.p50_ms for one in found])
    if OURS not in at_once:
        return
    for name in at_once:
        if name not in (OURS, OURS_ON_POSTGRES):
            ours_there = at_once[OURS_ON_POSTGRES if name == DBOS_ON_POSTGRES else OURS]
            mine, theirs = ([one.runs_a_second for one in found] for found in (ours_there, at_once[name]))
            report.ratio(f"ours to {name}, {AT_ONCE} at once", mine, theirs, FASTER.get(name))
    durable = [alone[name] for name in DURABLE if name in alone]
    if durable:
        best = [min(one.p50_ms for one in found) for found in zip(*durable, strict=True)]
        report.ratio("ours to the best durable peer, alone", [one.p50_ms for one in alone[OURS]], best, ALONE)


def main() -> None:
    reads = arguments(__doc__)
    reads.add_argument("--seconds", type=float, default=2.0, help="length of a sample")
    reads.add_argument(
        "--peers", nargs="*", choices=[*PEERS, POSTGRES], default=[*PEERS, POSTGRES], help="only these, beside ours"
    )
    asked = reads.parse_args()
    report, missing = Report("peers", asked), False
    with ExitStack() as exits:
        folder = Path(exits.enter_context(tempfile.TemporaryDirectory()))
        commands: dict[str, Callable[[], list[str]]] = {OURS: ours, **PEERS}
        if POSTGRES in asked.peers:
            running = exits.enter_context(server(durable=True))
            commands[OURS_ON_POSTGRES] = partial(ours, "--database", running.database())
            commands[DBOS_ON_POSTGRES] = partial(_dbos, running.empty(), "threads")
        workers: dict[str, Worker] = {}
        for name in [name for name in commands if name not in PEERS or name in asked.peers]:
            try:
                workers[name] = exits.enter_context(worker(name, commands[name](), folder))
            except (install.CannotInstall, PeerBroken) as error:
                missing = True
                report.note(f"{name} IS MISSING: {error}")
        for name, one in workers.items():
            report.note(f"{name}: {one.settings}")
        at_once = samples(workers, AT_ONCE, asked.seconds, asked.rounds, report)
        alone = samples(workers, 1, asked.seconds, asked.rounds, report)
        tell(report, at_once, alone)
    report.finish()
    if missing:
        sys.exit(2)


if __name__ == "__main__":
    main()
