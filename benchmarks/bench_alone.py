"""One run alone: the time from an event to the last row of its run, beside the bare commits of the same rows.

The unit is `benchmarks.ours`'s on SQLite (WAL, `synchronous=FULL`), one client. Raw is what its commits alone take: the same statements in as many transactions, by
one thread (`benchmarks.raw`). Each sample is the median of some hundred runs; medians of seven pairs, taken in turn. Beside other engines: `bench_peers`.
"""

from __future__ import annotations

from benchmarks.harness import Report, arguments, percentile
from benchmarks.raw import played, raw_commits

RUNS = 300
PAIRS = 7


def main() -> None:
    reads = arguments(__doc__)
    reads.set_defaults(rounds=PAIRS)
    asked = reads.parse_args()
    report = Report("alone", asked)
    p50, p99, commits, raw = list[float](), list[float](), list[float](), list[float]()
    for _ in range(asked.rounds):
        report.watch.begin()
        ours = played(RUNS, 1)
        p50.append(percentile(ours.took, 0.5) * 1000)
        p99.append(percentile(ours.took, 0.99) * 1000)
        commits.append(ours.commits / RUNS)
        raw.append(percentile(raw_commits(ours), 0.5) * 1000 * ours.commits / RUNS)
        report.watch.end()
    report.add("one run alone, p50", "ms", p50)
    report.add("one run alone, p99", "ms", p99)
    report.add("commits of a run", "", commits)
    report.add("these commits alone, p50", "ms", raw)
    report.ratio("a run to its commits", p50, raw)
    report.finish()


if __name__ == "__main__":
    main()
