"""200 cameras with five events a second each: processor time of the process and time to the first committed row, with 50 and with 5,000 workflows.

The sites are `benchmarks.large_site.watching`'s on SQLite (WAL, `synchronous=FULL`), each in a process of its own, fed in turn at 1,000 events a second; 42 runs a
second start in both. A sample is `--seconds` long (12; 60 with `--full`). Processor time is that of the whole process by `getrusage`, in cores, making the
events included. The time is from when an event was due until its row and its runs' first rows are committed. Every figure is the median of five samples or more.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.harness import AtLeast, AtMost, Report, arguments
from benchmarks.processes import Worker, site, worker

RATE = 1000
WORKFLOWS = (50, 5000)
WARM_UP_SECONDS = 3.0


def main() -> None:
    reads = arguments(__doc__)
    reads.add_argument("--seconds", type=float, help="length of a sample")
    reads.add_argument("--rate", type=int, default=RATE, help="events a second")
    asked = reads.parse_args()
    seconds = asked.seconds or (60.0 if asked.full else 12.0)
    report = Report("cameras", asked)
    found: dict[int, list[dict[str, Any]]] = {count: [] for count in WORKFLOWS}
    with ExitStack() as exits:
        folder = Path(exits.enter_context(tempfile.TemporaryDirectory()))
        sites: dict[int, Worker] = {
            count: exits.enter_context(worker(f"site of {count}", site("--workflows", str(count)), folder))
            for count in WORKFLOWS
        }
        for one in sites.values():
            one.ask({"seconds": WARM_UP_SECONDS, "rate": asked.rate})
        for number in range(asked.rounds):
            for count in WORKFLOWS if number % 2 == 0 else WORKFLOWS[::-1]:
                report.watch.begin()
                found[count].append(sites[count].ask({"seconds": seconds, "rate": asked.rate}))
                report.watch.end()
    for count, samples in found.items():
        name = f"{count:,} workflows"
        report.add(f"{name}, processor", "cores", [one["cores"] for one in samples], AtMost(0.5))
        report.add(f"{name}, event to committed, p50", "ms", [one["p50_ms"] for one in samples])
        report.add(f"{name}, event to committed, p99", "ms", [one["p99_ms"] for one in samples], AtMost(50.0))
        rates = [one["events_a_second"] for one in samples]
        report.add(f"{name}, taken", "events/s", rates, AtLeast(asked.rate * 0.99))
        report.add(f"{name}, runs", "a second", [one["runs"] / seconds for one in samples])
    many, few = ([one["cores"] for one in found[count]] for count in WORKFLOWS[::-1])
    report.ratio("processor, 5,000 to 50 workflows", many, few, AtMost(1.2))
    report.finish()


if __name__ == "__main__":
    main()
