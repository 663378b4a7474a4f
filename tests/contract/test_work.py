"""How much work a file costs: calls are counted, never timed. Twice the file is about twice the work, and depth costs no power of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType

import pytest

from siteward.core.contract import explain, validate
from siteward.core.contract.flow import analyse
from siteward.core.contract.manifest_data import shipped_registry

REGISTRY = shipped_registry()
HEAD = "name: T\nwhen: { message: {} }\nthen:\n"


def steps(count: int, step: Callable[[int], str]) -> str:
    return HEAD + "".join(f"- {step(number)}\n" for number in range(count))


def ask(number: int, more: str = "") -> str:
    return f"{{ id: a{number}, ask_person: {{ who: role:guard, message: m, replies: [Yes, No], timeout: 60s{more} }}, Yes: [ log: a ], no_answer: [ log: b ] }}"


def look(number: int) -> str:
    return f"{{ id: l{number}, ai: {{ mode: look, prompt: x, decision: [go], go: [ log: a ], unsure: [ log: b ] }} }}"


def fields(count: int) -> str:
    many = ", ".join(f"f{number}: text" for number in range(count))
    return f"- {{ id: l, ai: {{ mode: look, prompt: x, decision: [go], go: [ log: a ], unsure: [ log: b ], fields: {{ {many} }} }} }}\n"


def shown(count: int) -> str:
    seen = " ".join(f"{{l.f{number}}}" for number in range(count))
    inside = "".join(
        f"  - {{ id: w{number}, wait_for: {{ message: {{}}, timeout: 1m }} }}\n" for number in range(count)
    )
    return (
        HEAD
        + fields(count)
        + f"- ask_person: {{ who: role:guard, message: '{seen}', replies: [Yes], timeout: 1m }}\n  Yes:\n"
        + inside
    )


WIDE: dict[str, Callable[[int], str]] = {
    "moves that nobody allows": lambda count: steps(count, lambda n: f"gate.open: {{ gate: g{n} }}"),
    "moves that share a gate": lambda count: steps(count, lambda n: "gate.open: { gate: g }"),
    "actions that nobody has": lambda count: steps(count, lambda n: "gat.opn: { gate: g }"),
    "questions": lambda count: steps(count, ask),
    "questions with a default": lambda count: steps(count, lambda n: ask(n, ", default: Yes")),
    "models": lambda count: steps(count, look),
    "loops": lambda count: steps(count, lambda n: f"for_each: {{ in: [a], as: i{n}, do: [ {look(n)} ] }}"),
    "rules": lambda count: steps(count, lambda n: "{ if: [ site_mode: [disarmed] ], 'true': [ log: a ] }"),
    "rules beside many names": lambda count: (
        HEAD + fields(count) + "- { if: [ site_mode: [x] ], 'true': [ log: a ] }\n" * count
    ),
    "values shown": shown,
}


def calls(work: Callable[[], object]) -> int:
    """How many functions are called."""
    count = 0

    def seen(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def judged(text: str) -> None:
    document = validate(text, REGISTRY).document
    assert document is not None
    explain(document, REGISTRY).text()


@pytest.mark.parametrize("shape", WIDE)
def test_twice_the_file_is_about_twice_the_work(shape: str) -> None:
    judged(WIDE[shape](10))  # what is made once is made now
    once, twice = (calls(partial(judged, WIDE[shape](count))) for count in (50, 100))
    assert twice <= 2.4 * once


def nested_questions(depth: int) -> str:
    body = "{ gate.open: { gate: g } }"
    for _ in range(depth):
        body = f"{{ ask_person: {{ who: role:guard, message: m, replies: [Yes], timeout: 60s, default: Yes }}, Yes: [ {body} ] }}"
    return f"{HEAD}- {body}\n"


def nested_loops(depth: int) -> str:
    body = "{ gate.open: { gate: g } }"
    for number in range(depth):
        body = f"{{ for_each: {{ in: [a, b], as: i{number}, do: [ {body}, {ask(number)}, {look(number)} ] }} }}"
    return f"{HEAD}- {body}\n"


@pytest.mark.parametrize(("nested", "steps_each"), [(nested_questions, 1), (nested_loops, 7)])
def test_depth_costs_work_by_its_square_and_not_by_its_power(nested: Callable[[int], str], steps_each: int) -> None:
    for depth in (4, 8, 12):
        document = validate(nested(depth), REGISTRY).document
        assert document is not None
        assert analyse(document, REGISTRY).steps_walked <= steps_each * (depth + 2) ** 2
