"""What a story is made of, so that a test can say that the scenarios together leave nothing out."""

from __future__ import annotations

from collections.abc import Iterator

from tests.crash.evidence import Evidence
from tests.crash.world import registry


def covers(found: Evidence) -> frozenset[str]:
    """Repeat classes, step kinds, waits and ends that a story holds, in words."""
    return frozenset(_covers(found))


def _covers(found: Evidence) -> Iterator[str]:
    actions = registry().actions
    moved = {(line["run"], line["path"]) for line in found.outside if line["moves"]}
    for key, step in found.steps.items():
        yield f"step {step['kind']}"
        if step["kind"] in actions and step["status"] == "done":
            repeat = "once" if key in moved else actions[step["kind"]].repeat.value
            yield f"{repeat}{' and moves' if key in moved else ''}"
        if step["path"].startswith("always"):
            yield "always"
        if step["path"].count("/") > 1:
            yield "nested lanes"
        if step["path"].count("[") and step["path"].count("/") > 1:
            yield "a lane inside of a for_each"
    for wait in found["waits"]:
        yield f"wait {wait['kind']}"
    for run in found.runs.values():
        yield f"mode {run['mode']}"
        yield f"end {run['state']}"
        if run["seen_again"]:
            yield "seen again"
    for counter in found["counters"]:
        yield f"counter {counter['name']}"
    for approval in found["workflow_approvals"]:
        yield f"question {approval['state']}"
    for step in found.steps.values():
        if step["kind"] == "wait_for":
            yield f"wait_for {step['outcome']}"
