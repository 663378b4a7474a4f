"""`/metrics`: the figures of a host in the text format of Prometheus, with what only the database knows read at that moment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric

from siteward import __version__
from siteward.core.metrics import Histogram, HostMeters, LoopLag, named
from siteward.core.store.store import Store

CONTENT_TYPE: Final = "text/plain"

_ALIVE: Final = (
    "SELECT state, count(*) AS found FROM workflow_runs WHERE state IN ('running', 'waiting') GROUP BY state"
)
_WAITS: Final = "SELECT kind, count(*) AS found FROM waits WHERE state = 'open' GROUP BY kind"
_DUE: Final = "SELECT min(due_at) AS oldest FROM waits WHERE state = 'open' AND due_at IS NOT NULL"
_UNMATCHED: Final = "SELECT count(*) AS found, min(accepted_at) AS oldest FROM events WHERE matched IS NULL"
_ASKED: Final = "SELECT count(*) AS found FROM workflow_approvals WHERE state = 'open' AND NOT rehearsal"
_WORKFLOWS: Final = "SELECT state, count(*) AS found, count(attention) AS wrong FROM workflows GROUP BY state"
QUERIES: Final = (_ALIVE, _WAITS, _DUE, _UNMATCHED, _ASKED, _WORKFLOWS)
"""All of them; each must stay fast however much past a site has."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What the database knows now. The lags are in seconds, 0 where nothing is late."""

    alive: dict[str, int]
    waits: dict[str, int]
    approvals: int
    unmatched: int
    wait_lag: float
    event_lag: float
    workflows: dict[str, int]
    attention: int


async def read_rows(store: Store, now: float) -> Rows:
    """Read them, each by an index. Raises `ReadFailed`."""
    due, unmatched = (await store.fetch(_DUE))[0], (await store.fetch(_UNMATCHED))[0]
    switched = await store.fetch(_WORKFLOWS)
    return Rows(
        alive={"running": 0, "waiting": 0} | {row["state"]: row["found"] for row in await store.fetch(_ALIVE)},
        waits={row["kind"]: row["found"] for row in await store.fetch(_WAITS)},
        approvals=(await store.fetch(_ASKED))[0]["found"],
        unmatched=unmatched["found"],
        wait_lag=_late(due["oldest"], now),
        event_lag=_late(unmatched["oldest"], now),
        workflows={"off": 0, "test": 0, "on": 0} | {row["state"]: row["found"] for row in switched},
        attention=sum(row["wrong"] for row in switched),
    )


def _late(oldest: float | None, now: float) -> float:
    return 0.0 if oldest is None else max(0.0, now - oldest)


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """Everything that one answer is made of."""

    meters: HostMeters
    loop: LoopLag
    store: Store
    rows: Rows
    name_of: Callable[[str], str]
    database: Path | None

    def collect(self) -> Iterator[Metric]:
        """The families, in the order in which they are written."""
        yield _gauge("siteward_info", "Which Siteward this is.", ("version",), [((__version__,), 1)])
        yield from self._counted()
        yield from self._now()
        yield from self._writer()
        yield from self._loop()

    def _counted(self) -> Iterator[Metric]:
        meters, name_of = self.meters, self.name_of
        for name, told, labels, counts in (
            ("started", "Runs that began.", ("mode",), named(meters.started, name_of)),
            ("ended", "Runs that ended, by how.", ("mode", "state"), named(meters.ended, name_of)),
        ):
            yield _counter(f"siteward_runs_{name}", told, ("workflow", *labels), counts)
        refused = "Events that fitted a workflow and started no run, by why."
        yield _counter("siteward_refused", refused, ("workflow", "reason"), named(meters.refused_events, name_of))
        yield _counter("siteward_events", "Accepted events.", ("type",), meters.events.items())
        of_steps = ("workflow", "kind", "ai", "mode", "status")
        yield _counter("siteward_steps", "Steps that ended, by how.", of_steps, named(meters.steps, name_of))
        of_calls = ("workflow", "ai", "mode")
        yield _counter("siteward_ai_calls", "Calls of a model by AI steps.", of_calls, named(meters.ai_calls, name_of))
        told = "Seconds in a step from its begin or wake to its end, waits left out."
        steps = HistogramMetricFamily("siteward_step_seconds", told, labels=("kind", "ai"))
        for (kind, ai), timed in meters.seconds.items():
            steps.add_metric((kind, ai), timed.buckets(), timed.total)
        yield steps

    def _now(self) -> Iterator[Metric]:
        rows = self.rows
        yield _gauge("siteward_runs_alive", "Runs that are not over.", ("state",), _by_one(rows.alive))
        yield _gauge("siteward_waits_open", "What runs and schedules wait for.", ("kind",), _by_one(rows.waits))
        yield _gauge("siteward_workflows", "Workflows by their switch.", ("state",), _by_one(rows.workflows))
        for name, told, value in (
            ("workflows_attention", "Workflows that need attention.", rows.attention),
            ("approvals_open", "Questions that wait for a person.", rows.approvals),
            ("events_unmatched", "Accepted events whose runs are not made yet.", rows.unmatched),
            ("event_lag_seconds", "Age of the oldest of them.", rows.event_lag),
            ("wait_lag_seconds", "By how much the most overdue wait is late.", rows.wait_lag),
        ):
            yield _gauge(f"siteward_{name}", told, (), [((), value)])

    def _writer(self) -> Iterator[Metric]:
        writer = self.store.writer
        yield _gauge("siteward_writer_queue", "Writes that wait for a commit.", (), [((), writer.waiting)])
        yield _counter("siteward_commits", "Commits of the database.", (), [((), writer.commits)])
        riders = "Writes that were committed; by commits: how many share one."
        yield _counter("siteward_commit_riders", riders, (), [((), writer.riders)])
        yield _counter("siteward_commit_seconds", "Seconds spent in commits.", (), [((), writer.seconds)])
        if self.database is not None:
            sizes = [(("database",), _size(self.database, "")), (("wal",), _size(self.database, "-wal"))]
            yield _gauge("siteward_database_bytes", "The database's files.", ("file",), sizes)

    def _loop(self) -> Iterator[Metric]:
        lag: Histogram = self.loop.lag
        family = HistogramMetricFamily("siteward_loop_lag_seconds", "How late the loop comes to what is due.")
        family.add_metric((), lag.buckets(), lag.total)
        yield family
        longest, self.loop.longest = self.loop.longest, 0.0
        told = "The longest of them since the last time this was asked."
        yield _gauge("siteward_loop_lag_longest_seconds", told, (), [((), longest)])


def metrics_text(figures: Figures) -> bytes:
    """The answer of `/metrics`."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(figures)
    ProcessCollector(registry=registry)
    return generate_latest(registry)


_Values = Iterable[tuple[tuple[str, ...], float]]


def _by_one(counts: dict[str, int]) -> _Values:
    return [((name,), count) for name, count in counts.items()]


def _gauge(name: str, told: str, labels: tuple[str, ...], values: _Values) -> Metric:
    family = GaugeMetricFamily(name, told, labels=labels)
    for key, value in values:
        family.add_metric(key, value)
    return family


def _counter(name: str, told: str, labels: tuple[str, ...], values: _Values) -> Metric:
    family = CounterMetricFamily(name, told, labels=labels)
    for key, value in values:
        family.add_metric(key, value)
    return family


def _size(database: Path, part: str) -> int:
    try:
        return os.stat(f"{database}{part}").st_size
    except OSError:
        return 0
