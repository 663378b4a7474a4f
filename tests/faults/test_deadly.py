"""A run, or an event, that takes the process with it at each start: after some deaths it is buried with an alert, everybody else gets on, and the
host stays up. The lives are real processes (`deadly.py`)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from siteward.core.engine.deaths import LIMIT

from .deadly import INNOCENT

ROOT = Path(__file__).parents[2]
SECONDS = 200


def lived(kind: str) -> dict[str, Any]:
    command = [sys.executable, "-W", "error", "-m", "tests.faults.deadly", kind]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_a_run_that_kills_the_host_is_buried_and_the_innocent_get_by() -> None:
    seen = lived("run")
    assert seen["ended"]
    assert seen["Deadly"] == ["failed"]
    # One death made it, and each of its turns another.
    assert seen["lives"] == 1 + LIMIT + 1
    assert seen["Good"].count("done") == len(seen["Good"]) >= INNOCENT
    assert seen["alerts"] == ["A run of Deadly broke"]
    assert seen["logged"].count("before") == 1


def test_an_event_that_kills_the_host_starts_nothing_and_an_alert_says_so() -> None:
    seen = lived("event")
    assert seen["ended"]
    assert (seen["Plates"], seen["unmatched"]) == ([], [])
    assert seen["lives"] == 1 + LIMIT + 1
    assert seen["Good"].count("done") == len(seen["Good"]) >= INNOCENT
    assert seen["alerts"] == ["An event of the type plate.recognized.v1 starts nothing"]
