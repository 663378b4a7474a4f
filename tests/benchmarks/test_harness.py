"""The benchmarks' figures are what they say: pairs of one round, medians, ranges, bounds, and a past that is whole."""

from __future__ import annotations

import argparse
import json
import sqlite3
from pathlib import Path

import pytest

from benchmarks.harness import AtLeast, AtMost, Report, Spread, Watch, in_turn, percentile, tree_cpu
from benchmarks.large_site import SENT, STARTED, LargeSite, matching, sent, watching, with_workflows
from benchmarks.past import TABLES, add_past
from siteward.core.contract.manifest_data import shipped_registry
from siteward.core.contract.validate import validate


def report(folder: Path | None = None) -> Report:
    return Report("some", argparse.Namespace(json=folder))


def test_neither_of_two_always_follows_the_other() -> None:
    order: list[str] = []

    def sampler(name: str, figure: float) -> float:
        order.append(name)
        return figure

    found = in_turn({"a": lambda: sampler("a", 1.0), "b": lambda: sampler("b", 2.0)}, 4, Watch())

    assert order == ["a", "b", "b", "a", "a", "b", "b", "a"]
    assert found == {"a": [1.0] * 4, "b": [2.0] * 4}


def test_a_ratio_is_of_pairs_and_not_of_medians() -> None:
    told = report().ratio("one to other", [1.0, 10.0, 3.0], [1.0, 2.0, 30.0])

    assert told == Spread(1.0, 0.1, 5.0, (1.0, 5.0, 0.1))


@pytest.mark.parametrize(("bound", "met"), [(AtLeast(2.0), True), (AtLeast(2.1), False), (AtMost(2.0), True)])
def test_a_bound_is_about_the_median(bound: AtLeast | AtMost, met: bool) -> None:
    told = report()
    told.add("some", "ms", [1.0, 2.0, 50.0], bound)

    assert told.lines[0].met is met


def test_a_busy_machine_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = report(tmp_path / "figures")
    told.add("some", "ms", [1.0])
    told.watch.foreign.append(0.9)
    told.finish()

    assert "NOT A QUIET MACHINE" in capsys.readouterr().out
    assert json.loads((tmp_path / "figures" / "some.json").read_text())["others_cores"] == [0.9]


def test_processor_time_of_this_process_is_not_that_of_others() -> None:
    before = tree_cpu()
    sum(number * number for number in range(2_000_000))

    assert tree_cpu() > before


def test_a_percentile_is_one_of_the_samples() -> None:
    assert [percentile([4.0, 1.0, 3.0, 2.0], share) for share in (0.0, 0.5, 0.99)] == [1.0, 3.0, 4.0]


def test_a_past_is_whole_and_gives_the_engine_nothing_to_do(tmp_path: Path) -> None:
    add_past(tmp_path, 30)
    with sqlite3.connect(tmp_path / "site.db") as connection:
        counts = {table: connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in TABLES}
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        states = connection.execute("SELECT DISTINCT state FROM workflow_runs").fetchall()
        ends = connection.execute("SELECT COUNT(*) FROM workflow_runs WHERE ended_at > started_at").fetchone()
    connection.close()

    assert counts["events"] == counts["workflow_runs"] == counts["logs"] == 30
    assert counts["workflow_run_steps"] == 60
    assert states == [("done",)] and ends == (30,)


async def test_of_a_large_site_only_the_fifty_are_started(tmp_path: Path) -> None:
    house = with_workflows(tmp_path, watching(200))
    await house.open()
    try:
        stream = sent()
        found = [house.engine.catalog.index.find(next(stream)).matches for _ in range(len(SENT) * 200)]
        started = [match.plan.workflow_id for matches in found for match in matches]
        assert len(started) == len(set(started)) == STARTED
    finally:
        await house.close()


def test_the_files_of_a_large_site_have_no_errors() -> None:
    for text in {*list(watching(60)), *list(matching())[:2]}:
        assert validate(text, shipped_registry(), LargeSite().view(None)).ok, text
