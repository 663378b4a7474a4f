"""Killed, frozen or cut off at any moment, each story ends once: nothing is lost, nothing is done twice, and nothing moves late."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.crash.scenarios import SCENARIOS

ROOT = Path(__file__).parents[2]
SECONDS = 900
EVERY_PLACE = {
    *("event.accepted", "event.matched", "step.begin", "step.answered", "step.committed"),
    *("intent.committed", "act.before", "act.after", "answer.committed", "run.woken", "schedule.fired"),
    *("commit.begin", "commit.before", "commit.after"),
}
EVERY_KIND = {
    *("rerun", "with_step", "keyed_retry", "once", "once and moves"),
    *("step ai", "step if", "step for_each", "step ask_person", "step wait", "step wait_for", "step world.measure"),
    *("wait ask", "wait escalate", "wait wait", "wait wait_for", "wait retry", "wait schedule", "wait rehearsal"),
    *("always", "nested lanes", "a lane inside of a for_each", "wait_for happened", "wait_for not_happened"),
    *("mode on", "mode test", "mode try", "mode replay", "question answered", "question no_answer"),
    *("seen again", "counter cooldown", "counter refused.cooldown", "end cancelled", "end not_met", "end failed"),
}


def matrix(*arguments: str) -> dict[str, Any]:
    """Run a part of the matrix in a process of its own."""
    command = [sys.executable, "-W", "error", "-m", "tests.crash.matrix", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """A seeded sample of all stories."""
    return matrix("sample")


def test_two_hundred_kills_break_no_promise(told: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        said = f"{told['killed']} kills in {told['stories']} stories, {told['cpu_seconds']} s of processor time"
        print(f"\n{said}")  # noqa: T201
    assert told["violations"] == {}
    assert told["killed"] >= 200


def test_each_scenario_is_killed_at_each_of_its_boundaries(told: dict[str, Any]) -> None:
    assert told["boundaries"].keys() == SCENARIOS.keys()
    for name, boundaries in told["boundaries"].items():
        # How many writes share a commit differs from life to life, so that the last of them may not be reached a second time.
        assert len(set(boundaries) - set(told["died_at"][name])) <= 1, name
    assert set().union(*told["died_at"].values()) >= EVERY_PLACE


def test_the_scenarios_leave_no_kind_of_step_or_wait_out(told: dict[str, Any]) -> None:
    assert set(told["covers"]) >= EVERY_KIND


def test_on_postgresql_the_same_holds() -> None:
    told = matrix("few", "postgres")
    assert told["violations"] == {}
    assert told["killed"] >= 25
