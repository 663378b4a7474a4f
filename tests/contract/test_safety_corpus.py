"""The corpus against the safety and severity rules: each refused file gets exactly its problems, each accepted one none."""

from __future__ import annotations

import pytest

from siteward.core.contract import apply_edits, safety, severity, validate
from siteward.core.contract.document import Document
from siteward.core.contract.explain import explain
from siteward.core.contract.flow import analyse
from siteward.core.contract.problems import Problem, Severity
from tests.contract.corpus_files import REGISTRY, CorpusFile, corpus, refused_by_safety

CODES = (
    "safety.no_guard",
    "safety.ai_unguarded",
    "safety.no_answer_moves",
    "safety.default_moves",
    "safety.unconfirmed_call",
    "safety.always_unguarded",
    "safety.ai_argument",
    "safety.ai_recipient",
)


def problems_of(document: Document) -> list[Problem]:
    flow = analyse(document, REGISTRY)
    return [*safety.check(document, REGISTRY, flow=flow), *severity.check(document, REGISTRY, flow=flow)]


def errors_of(text: str, *, fragment: bool) -> list[Problem]:
    report = validate(text, REGISTRY, fragment=fragment)
    return [problem for problem in report.problems if problem.severity is Severity.ERROR]


def named(file: CorpusFile) -> str:
    return file.name


@pytest.mark.parametrize("file", [file for file in corpus("refused") if file.problems], ids=named)
def test_a_refused_file_gets_exactly_its_problems_at_their_lines(file: CorpusFile) -> None:
    found = problems_of(file.document())
    assert {(problem.code, problem.place.line) for problem in found} == file.problems


@pytest.mark.parametrize("file", corpus("accepted"), ids=named)
def test_an_accepted_file_gets_no_more_than_its_warnings(file: CorpusFile) -> None:
    found = problems_of(file.document())
    assert {(problem.code, problem.place.line) for problem in found} == file.problems


@pytest.mark.parametrize("file", corpus("accepted"), ids=named)
def test_explain_names_exactly_the_actions_that_a_file_may_move(file: CorpusFile) -> None:
    assert {move.action for move in explain(file.document(), REGISTRY).moves} == file.moves


@pytest.mark.parametrize("code", CODES)
def test_each_safety_code_has_a_refused_file(code: str) -> None:
    assert any(code == found for file in corpus("refused") for found, _ in file.problems)


@pytest.mark.parametrize("file", refused_by_safety(), ids=named)
def test_a_fix_does_away_with_its_problem_and_brings_no_other(file: CorpusFile) -> None:
    before = errors_of(file.text, fragment=file.fragment)
    for problem in problems_of(file.document()):
        for fix in problem.fixes:
            after = errors_of(apply_edits(file.text, fix.edits), fragment=file.fragment)
            assert len(after) < len(before), fix.title
            assert {one.code for one in after} <= {one.code for one in before}, fix.title


def test_every_move_problem_offers_a_fix() -> None:
    for file in refused_by_safety():
        for problem in problems_of(file.document()):
            assert problem.fixes or problem.code in ("safety.ai_recipient", "safety.ai_argument"), file.name
