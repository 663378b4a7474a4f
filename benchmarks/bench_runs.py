"""Whole runs against the bare commits of the same rows: event, `if`, one recorded action, done; 10 and 100 at once.

Ours is the engine on SQLite (WAL, `synchronous=FULL`), a closed loop of so many clients. Raw is the same statements with the same parameters, kept from that
round of ours, written by one thread in as many transactions as the engine's group commit made of them (`benchmarks.raw`). So the ratio is what is left of the
disk's speed once matching, conditions, plans, live updates and Python have had their share. Medians of seven pairs, taken in turn.
"""

from __future__ import annotations

from benchmarks.harness import Report, arguments
from benchmarks.raw import played, raw_commits

AT_ONCE = (10, 100)
RUNS = 1000
PAIRS = 7


def main() -> None:
    reads = arguments(__doc__)
    reads.set_defaults(rounds=PAIRS)
    asked = reads.parse_args()
    report = Report("runs", asked)
    for at_once in AT_ONCE:
        mine, theirs, riders = list[float](), list[float](), list[float]()
        for _ in range(asked.rounds):
            report.watch.begin()
            round_of_ours = played(RUNS, at_once)
            mine.append(RUNS / round_of_ours.spent)
            theirs.append(RUNS / sum(raw_commits(round_of_ours)))
            riders.append(len(round_of_ours.written) / round_of_ours.commits)
            report.watch.end()
        report.add(f"engine, {at_once} at once", "runs/s", mine)
        report.add(f"raw, {at_once} at once", "runs/s", theirs)
        report.add(f"writes in one commit, {at_once} at once", "", riders)
        report.ratio(f"engine to raw, {at_once} at once", mine, theirs)
    report.finish()


if __name__ == "__main__":
    main()
