"""1,000 events a second that each start a run, for ten minutes: whether the engine keeps up.

The site is `benchmarks.large_site.matching`'s on SQLite (WAL, `synchronous=FULL`). There is one sample of `--seconds` (30; 600 with `--full`), since the question is
whether what is under way grows: the most under way in the last tenth of the time is compared with the first, and what was left when the last event was sent
must be done within a second. The site takes as many events a second as are sent, and every one has its run, done.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.harness import AtLeast, AtMost, Report, arguments
from benchmarks.processes import site, worker

RATE = 1000


def main() -> None:
    reads = arguments(__doc__)
    reads.add_argument("--seconds", type=float, help="how long")
    reads.add_argument("--rate", type=int, default=RATE, help="events a second")
    asked = reads.parse_args()
    seconds = asked.seconds or (600.0 if asked.full else 30.0)
    report = Report("backlog", asked)
    with ExitStack() as exits:
        folder = Path(exits.enter_context(tempfile.TemporaryDirectory()))
        busy = exits.enter_context(worker("busiest site", site("--workflows", "0"), folder))
        busy.ask({"seconds": 2.0, "rate": asked.rate})
        report.watch.begin()
        found = busy.ask({"seconds": seconds, "rate": asked.rate})
        report.watch.end()
    report.note(f"One sample of {seconds:.0f} s, {found['events']:,} events.")
    report.add("taken", "events/s", [found["events_a_second"]], AtLeast(asked.rate * 0.99))
    report.add("runs done, to events", "times", [found["runs"] / found["events"]], AtLeast(1.0))
    report.add("done after the last was sent", "s", [found["rest_s"]], AtMost(1.0))
    report.add("under way at most, first tenth", "events", [found["first_tenth"]])
    report.add("under way at most, last tenth", "events", [found["last_tenth"]])
    report.add("event to committed, p50", "ms", [found["p50_ms"]])
    report.add("event to committed, p99", "ms", [found["p99_ms"]])
    report.add("processor", "cores", [found["cores"]])
    report.finish()


if __name__ == "__main__":
    main()
