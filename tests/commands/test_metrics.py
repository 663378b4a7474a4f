"""`/metrics` of a whole host, as Prometheus reads it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from siteward.core import metrics
from siteward.core.contract.document import Place, Step
from siteward.core.demo_site import write_demo_site
from siteward.core.engine.seam import Mode, StepStatus
from siteward.core.host import open_host
from siteward.core.metrics import HostMeters
from siteward.core.metrics_text import QUERIES
from siteward.core.web import serving

TOKEN = "a-token-of-some-length"
Samples = dict[str, dict[frozenset[tuple[str, str]], float]]


def parsed(text: str) -> Samples:
    """The samples by name and labels."""
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return found


def labelled(**labels: str) -> frozenset[tuple[str, str]]:
    return frozenset(labels.items())


async def test_a_played_scene_is_counted_by_workflow_kind_and_mode(tmp_path: Path) -> None:
    write_demo_site(tmp_path)
    async with open_host(tmp_path) as host:
        await host.start()
        assert host.demo is not None
        await host.demo.play_next()
        await host.engine.drain()
        found = parsed((await host.metrics()).decode())
    workflow = "Gate concierge (demo)"
    assert found["siteward_runs_started_total"] == {labelled(workflow=workflow, mode="test"): 1}
    assert sum(found["siteward_runs_ended_total"].values()) == 1
    looked = labelled(workflow=workflow, kind="ai", ai="look", mode="test", status="done")
    assert found["siteward_steps_total"][looked] == 1
    assert found["siteward_ai_calls_total"] == {labelled(workflow=workflow, ai="look", mode="test"): 1}
    assert found["siteward_step_seconds_count"][labelled(kind="ai", ai="look")] == 1
    assert found["siteward_step_seconds_sum"][labelled(kind="ai", ai="look")] > 0
    assert sum(found["siteward_events_total"].values()) >= 1
    assert found["siteward_commits_total"][labelled()] > 0
    assert found["siteward_commit_riders_total"][labelled()] >= found["siteward_commits_total"][labelled()]
    assert found["siteward_runs_alive"] == {labelled(state="running"): 0, labelled(state="waiting"): 0}
    assert found["siteward_event_lag_seconds"] == found["siteward_wait_lag_seconds"] == {labelled(): 0}
    assert found["siteward_workflows"][labelled(state="test")] == 1
    assert found["siteward_database_bytes"][labelled(file="database")] > 0
    assert "process_resident_memory_bytes" in found
    assert "siteward_loop_lag_seconds_bucket" in found


async def test_only_who_has_the_token_or_is_an_admin_reads_it(tmp_path: Path) -> None:
    write_demo_site(tmp_path)
    file = tmp_path / "configuration.yaml"
    file.write_text(file.read_text().replace("  port: 8787\n", "  port: 8787\n  metrics_token: !secret metrics\n"))
    (tmp_path / "secrets.yaml").write_text(f"metrics: {TOKEN}\n")
    async with open_host(tmp_path) as host, serving(host, "127.0.0.1", 0) as address:
        async with aiohttp.ClientSession() as http:
            answers = {}
            for given in (None, TOKEN, TOKEN[:-1], "", "\u00e9"):
                headers = {} if given is None else {"Authorization": f"Bearer {given}"}
                async with http.get(f"{address}/metrics", headers=headers) as answer:
                    answers[given] = answer.status
                    text = await answer.text()
                    assert ("siteward_info" in text) == (answer.status == 200)
                    assert TOKEN not in text
    assert answers == {None: 401, TOKEN: 200, TOKEN[:-1]: 401, "": 401, "\u00e9": 401}


async def test_without_a_token_nobody_comes_in_with_an_empty_one(tmp_path: Path) -> None:
    write_demo_site(tmp_path)
    async with open_host(tmp_path) as host, serving(host, "127.0.0.1", 0) as address:
        async with aiohttp.ClientSession() as http:
            async with http.get(f"{address}/metrics", headers={"Authorization": "Bearer "}) as answer:
                assert answer.status == 401


def test_labels_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST_SERIES", 3)
    monkeypatch.setattr(metrics, "MOST_EVENT_TYPES", 2)
    meters = HostMeters()
    step = Step("log", {}, (), Place(1, 1), "then.0")
    for number in range(50):
        meters.event_accepted(f"type-{number}")
        meters.step_ended(f"w{number}", step, Mode.ON, StepStatus.DONE, 0.001)
    assert len(meters.events) == 3
    assert meters.events[(metrics.OTHER,)] == 48
    assert len(meters.steps) == 4
    assert sum(meters.steps.values()) == 50


@pytest.mark.parametrize("query", QUERIES)
def test_no_figure_reads_a_whole_past(site: Path, query: str) -> None:
    with closing(sqlite3.connect(site / "siteward.db")) as database:
        plan = " ".join(row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {query}"))
    if "FROM workflows" not in query:  # as many as a site has
        assert "USING" in plan and "INDEX" in plan, plan
