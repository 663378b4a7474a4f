"""The demo as a user has it: killed at any moment and started again, its story ends once, and the gate opens at most once and never late."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 900
PARTS = ("first_start", "boundaries", "moments", "power_cut", "worker", "fault")
ARRIVAL_TO_END = {
    *("event.accepted", "event.matched", "step.begin", "step.answered", "step.committed", "commit.before"),
    *("commit.after", "intent.committed", "act.before", "act.after", "answer.committed", "run.woken"),
}


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """All stories, told by one driver: preparing the demo once is most of what a single one would cost."""
    command = [sys.executable, "-W", "error", "-m", "tests.crash.demo_story", "2", *PARTS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    parts: dict[str, Any] = json.loads(done.stdout)["parts"]
    return parts


def test_killed_while_the_demo_is_made_the_next_start_makes_it_whole(told: dict[str, Any]) -> None:
    part = told["first_start"]
    assert part["violations"] == {}
    assert part["killed"] == part["cases"] == 8


def test_killed_at_every_boundary_the_story_is_finished_by_the_next_start(told: dict[str, Any]) -> None:
    part = told["boundaries"]
    assert part["violations"] == {}
    assert set(part["names"]) >= ARRIVAL_TO_END
    # How many writes share a commit differs from life to life, so that some boundaries are not reached a second time.
    assert part["killed"] >= part["cases"] - 4


def test_killed_at_any_moment_the_story_is_finished_by_the_next_start(told: dict[str, Any]) -> None:
    part = told["moments"]
    assert part["violations"] == {}
    assert part["killed"] == part["cases"]


def test_two_minutes_without_power_make_the_answer_too_old_and_the_gate_stays_shut(told: dict[str, Any]) -> None:
    part = told["power_cut"]
    assert part["violations"] == {}
    assert part["killed"] == part["cases"] >= 4


def test_the_host_outlives_its_perception_and_the_guard_is_asked_all_the_same(told: dict[str, Any]) -> None:
    assert told["worker"] == {"names": [], "cases": 1, "killed": 0, "violations": {}}


def test_a_build_that_repeats_what_moves_is_found(told: dict[str, Any]) -> None:
    wrong = [sentence for found in told["fault"]["violations"].values() for sentence in found]
    assert any("told to open more than once" in sentence for sentence in wrong)
