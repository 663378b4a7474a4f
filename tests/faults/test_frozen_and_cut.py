"""A process that is frozen for an hour, and a power cut of an hour, at every moment between a guard's word and the gate: nothing moves late, and
an alert says what did not happen, or may have. The lives are real processes (`lives.py`)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .lives import MOMENTS

ROOT = Path(__file__).parents[2]
SECONDS = 300
SENT = ("intent.committed", "act.before")
"""Moments after which a machine that starts anew cannot know whether the move was sent."""
CUTS = ("cut", "cut-clockless")


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    command = [sys.executable, "-W", "error", "-m", "tests.faults.lives"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_where_nothing_happens_the_gate_opens(seen: dict[str, Any]) -> None:
    assert (seen["undisturbed"]["opened"], seen["undisturbed"]["states"]) == (1, ["done"])


@pytest.mark.parametrize("moment", MOMENTS)
def test_frozen_for_an_hour_after_the_word_the_gate_stays_shut(seen: dict[str, Any], moment: str) -> None:
    found = seen[f"frozen-{moment}"]
    assert (found["ended"], found["opened"], found["states"]) == ("ended", 0, ["expired"])
    assert found["alerts"] == ["Gate: gate.open expired"]


@pytest.mark.parametrize("kind", CUTS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_after_a_power_cut_an_old_word_opens_nothing(seen: dict[str, Any], kind: str, moment: str) -> None:
    found = seen[f"{kind}-{moment}"]
    state = "unknown" if moment in SENT else "expired"
    assert (found["ended"], found["opened"], found["states"]) == ("ended", 0, [state])
    assert (found["alerts"], found["questions"]) == ([f"Gate: gate.open {state}"], ["answered"])


def test_frozen_while_it_waits_each_thing_that_was_due_happens_once_and_what_was_missed_is_told(
    seen: dict[str, Any],
) -> None:
    found = seen["frozen-idle"]
    assert (found["ended"], found["opened"], found["questions"]) == ("ended", 0, ["no_answer"])
    assert found["logged"] == ["nobody answered", "round", "waited"]
    assert found["alerts"] == ["Rounds: a schedule was missed"]
