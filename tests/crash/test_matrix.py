"""Killed at any moment, the story ends once, its records are written once, and the gate opens at most once and never late."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 900
EVERY_PLACE = {
    *("event.accepted", "event.matched", "step.begin", "step.answered", "step.committed"),
    *("intent.committed", "act.before", "act.after", "answer.committed", "run.woken"),
    *("commit.begin", "commit.before", "commit.after"),
}


def matrices(*arguments: str, shards: int = 1) -> list[dict[str, Any]]:
    """Run a part of the matrix in processes of its own, `shards` of them side by side."""
    command = [sys.executable, "-W", "error", "-m", "tests.crash.matrix", *arguments]
    several = [[*command, "-", str(shard), str(shards)] for shard in range(shards)]
    commands = several if shards > 1 else [command]
    running = [
        subprocess.Popen(one, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for one in commands
    ]
    told = []
    for process in running:
        out, error = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, error
        told.append(json.loads(out))
    return told


def kills_and_cases(found: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> tuple[int, int]:
    """How many kills there were in how many stories; both are printed, so that a run says what it was worth."""
    killed, cases = sum(one["killed"] for one in found), sum(one["cases"] for one in found)
    cpu = sum(one["cpu_seconds"] for one in found)
    with capsys.disabled():
        print(f"\n{killed} kills in {cases} stories, {cpu:.0f} s of processor time")  # noqa: T201
    return killed, cases


def test_killed_at_every_boundary_the_story_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    found = matrices("all", shards=2)
    assert [one["violations"] for one in found] == [{}, {}]
    assert set(found[0]["names"]) >= EVERY_PLACE
    killed, cases = kills_and_cases(found, capsys)
    # How many writes share a commit differs from life to life, so the last of them may not be reached.
    assert cases > 90
    assert killed >= cases - 10


def test_a_restart_long_after_never_moves_on_an_old_word(capsys: pytest.CaptureFixture[str]) -> None:
    found = matrices("late", shards=2)
    assert [one["violations"] for one in found] == [{}, {}]
    killed, cases = kills_and_cases(found, capsys)
    assert killed >= cases - 2


def test_killed_again_during_the_recovery_the_story_still_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    found = matrices("pairs", shards=2)
    assert [one["violations"] for one in found] == [{}, {}]
    killed, cases = kills_and_cases(found, capsys)
    assert killed > cases


@pytest.mark.parametrize("fault", ["skip_the_intent", "repeat_what_moves"])
def test_the_matrix_finds_a_build_that_breaks_its_promise(fault: str) -> None:
    (found,) = matrices("fault", fault)
    assert any("the gate was opened 2 times" in wrong for wrong in found["violations"].values())
