"""The corpora: what must be refused is refused for its reason and at its line, what is right is accepted."""

from __future__ import annotations

import pytest

from siteward.core.contract import Report, Severity, explain, validate
from siteward.core.contract.codes import CODES, GROUPS
from siteward.core.contract.manifest_data import shipped_registry
from tests.contract.expected import Expected, files

REGISTRY = shipped_registry()
NEEDS_A_SITE = {
    "safety.list_not_allowed",
    "scope.unmapped_role",
    "scope.camera_not_visible",
    "limit.over_cap",
    "ai.field_not_seen",
}
"""Codes that no file earns by itself; their tests are in test_site_view."""

NEEDS_A_BLUEPRINT = {"shape.input_place"}
"""Codes of blueprints; their tests are with the blueprints."""


def found(report: Report, severity: Severity) -> tuple[tuple[int, str], ...]:
    return tuple(sorted((p.place.line, p.code) for p in report.problems if p.severity is severity))


@pytest.mark.parametrize("file", files("refused"), ids=lambda file: file.name)
def test_refused_files_get_exactly_their_errors_at_their_lines(file: Expected) -> None:
    report = validate(file.data, REGISTRY, fragment=file.fragment)
    assert file.errors, "a refused file expects an error"
    assert found(report, Severity.ERROR) == file.errors
    assert found(report, Severity.WARNING) == file.warnings
    assert not report.ok


@pytest.mark.parametrize("file", files("accepted"), ids=lambda file: file.name)
def test_accepted_files_get_no_error_and_exactly_their_warnings(file: Expected) -> None:
    report = validate(file.data, REGISTRY, fragment=file.fragment)
    assert found(report, Severity.ERROR) == ()
    assert found(report, Severity.WARNING) == file.warnings
    assert report.ok


@pytest.mark.parametrize("file", files("accepted"), ids=lambda file: file.name)
def test_accepted_files_move_what_they_say(file: Expected) -> None:
    document = validate(file.data, REGISTRY, fragment=file.fragment).document
    assert document is not None
    assert {move.action for move in explain(document, REGISTRY).moves} == file.moves


def test_the_corpora_are_large_enough_and_say_why() -> None:
    assert len(files("refused")) >= 120
    assert len(files("accepted")) >= 40
    assert all(file.why for folder in ("refused", "accepted") for file in files(folder))


def test_every_code_that_a_file_alone_can_earn_has_a_file() -> None:
    earned = {code for file in files("refused") for _, code in file.errors}
    warned = {code for file in files("accepted") for _, code in file.warnings}
    assert set(CODES) - earned - warned - NEEDS_A_SITE - NEEDS_A_BLUEPRINT == {
        "scope.admin"
    }  # an info: every file that moves has it


def test_every_code_belongs_to_a_documented_group() -> None:
    assert {code.split(".")[0] for code in CODES} == set(GROUPS)


@pytest.mark.parametrize("file", files("refused"), ids=lambda file: file.name)
def test_messages_say_what_is_wrong_in_a_sentence(file: Expected) -> None:
    for problem in validate(file.data, REGISTRY, fragment=file.fragment).problems:
        assert problem.message.endswith((".", "?", "}")) or problem.message[-1].isalnum()
        assert problem.message[0].isupper() or problem.message[0] in "`{\"'"
        assert len(problem.message) < 1200


@pytest.mark.parametrize("folder", ["refused", "accepted"])
def test_problems_come_sorted_by_place(folder: str) -> None:
    for file in files(folder):
        places = [
            (p.place.line, p.place.column) for p in validate(file.data, REGISTRY, fragment=file.fragment).problems
        ]
        assert places == sorted(places)
