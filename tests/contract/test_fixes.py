"""Fixes: applying one and validating again never brings the same problem."""

from __future__ import annotations

import pytest

from siteward.core.contract import Fix, Problem, Report, apply_edits, validate
from siteward.core.contract.manifest_data import shipped_registry
from tests.contract.expected import Expected, files

REGISTRY = shipped_registry()
ALL = (*files("refused"), *files("accepted"))


def offered(file: Expected) -> list[tuple[Problem, Fix]]:
    report = validate(file.data, REGISTRY, fragment=file.fragment)
    return [(problem, fix) for problem in report.problems for fix in problem.fixes]


def has(report: Report, problem: Problem) -> bool:
    return any((p.code, p.path, p.message) == (problem.code, problem.path, problem.message) for p in report.problems)


@pytest.mark.parametrize("file", [file for file in ALL if offered(file)], ids=lambda file: file.name)
def test_no_fix_brings_the_same_problem_again(file: Expected) -> None:
    for problem, fix in offered(file):
        assert file.text is not None
        mended = apply_edits(file.text, fix.edits)
        assert mended != file.text
        report = validate(mended, REGISTRY, fragment=file.fragment)
        assert report.document is not None
        assert not has(report, problem), (problem.code, fix.title, mended)


@pytest.mark.parametrize(
    ("wrong", "title", "right"),
    [
        ('limits: { per_hour: "20" }', "Write 20", "limits: { per_hour: 20 }"),
        ("limits: { cooldown: 2 minutes }", "Write 2m", "limits: { cooldown: 2m }"),
        ("limits: { cooldown: 90 }", "Write 90s", "limits: { cooldown: 90s }"),
        ("limits: { cool_down: 2m }  # why", "Rename to cooldown", "limits: { cooldown: 2m }  # why"),
        ("limits: { per_hour: 0 }", "Write 1", "limits: { per_hour: 1 }"),
        ("state: armed", None, None),
        ("stаte: test", "Rename to state", "state: test"),
        ("alway:\n  - log: end", "Rename to always", "always:\n  - log: end"),
        ("if: [ time: { from: 7am, to: 19.30 } ]", 'Write "07:00"', 'if: [ time: { from: "07:00", to: 19.30 } ]'),
        ("if: [ days: [monday] ]", "Write mon", "if: [ days: [mon] ]"),
        ("if: [ days: mon ]", "Write it as a list", "if: [ days: [mon] ]"),
        ('if: { time: { from: "07:00", to: "08:00" } }', "Write it as a list", None),
        ("contract: workflow.v2", "Write workflow.v1", "contract: workflow.v1"),
    ],
)
def test_frequent_mistakes_have_the_fix_that_a_person_would_make(
    wrong: str, title: str | None, right: str | None
) -> None:
    text = f"name: Round\n{wrong}\nwhen:\n  button: {{ name: round }}\nthen:\n  - log: x\n"
    fixes = [fix for problem in validate(text, REGISTRY).problems for fix in problem.fixes]
    if title is None:
        assert not fixes
        return
    fix = next(fix for fix in fixes if fix.title == title)
    mended = apply_edits(text, fix.edits)
    if right is not None:
        assert mended == text.replace(wrong, right)
    assert not [p for p in validate(mended, REGISTRY).problems if title in [f.title for f in p.fixes]]


def test_a_missing_lane_is_added_and_nothing_else_changes() -> None:
    text = (
        "name: Round  # mine\nwhen:\n  button: { name: round }\nthen:\n  - ai:\n      mode: look\n"
        "      prompt: x?\n      decision: [yes, no]  # both\n      yes: [ log: y ]\n      no: [ log: n ]\n"
    )
    (problem,) = validate(text, REGISTRY).problems
    mended = apply_edits(text, problem.fixes[0].edits)
    assert mended == text + '      unsure: [{ log: "{reason}" }]\n'
    assert validate(mended, REGISTRY).ok


def test_two_actions_in_one_step_become_two_steps() -> None:
    text = "name: Round\nwhen:\n  button: { name: round }\nthen:\n  - log: x\n    wait: 30s\n  - log: y\n"
    (problem,) = validate(text, REGISTRY).problems
    mended = apply_edits(text, problem.fixes[0].edits)
    assert mended == "name: Round\nwhen:\n  button: { name: round }\nthen:\n  - log: x\n  - { wait: 30s }\n  - log: y\n"
