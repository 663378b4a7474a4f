"""Random files against the same promises, on the interpreter and on the engine's own steps."""

from __future__ import annotations

import pytest

from siteward.core.contract import validate
from siteward.core.contract.document import Document
from siteward.core.contract.explain import explain
from siteward.core.contract.problems import Severity
from siteward.core.engine.authority import RULE
from siteward.sdk.choices import Performs, Says, TooManyRuns, Trace, every_run
from siteward.sdk.scripted import Interpreter
from tests.contract.corpus_files import REGISTRY
from tests.hostile.engine_walk import EngineWalk
from tests.hostile.random_files import random_file

WALKERS: dict[str, Performs] = {"interpreter": Interpreter(REGISTRY), "engine": EngineWalk(REGISTRY)}
MOST_RUNS = 300
SEEDS = range(30)


def judged(seed: int) -> tuple[Document, bool]:
    """The document of a seed and whether it is accepted. The writer writes files of the right shape: only safety may refuse them."""
    report = validate(random_file(seed), REGISTRY)
    errors = [problem.code for problem in report.problems if problem.severity is Severity.ERROR]
    assert report.document is not None
    assert all(code.startswith("safety.") for code in errors), errors
    return report.document, not errors


FILES = {seed: judged(seed) for seed in SEEDS}
ACCEPTED_AND_MOVING = [
    seed
    for seed in range(400)
    for document, accepted in [FILES[seed] if seed in FILES else judged(seed)]
    if accepted and explain(document, REGISTRY).moves
][:20]


async def runs_of(walker: Performs, document: Document) -> list[Trace]:
    """All runs, or the first few hundred of a file that has more."""
    traces: list[Trace] = []
    try:
        async for trace in every_run(walker, document, at_most=MOST_RUNS):
            traces.append(trace)
    except TooManyRuns:
        return traces
    return traces


def nobody_and_nothing(trace: Trace) -> bool:
    return all(index == 0 for choice, index in trace.choices.items() if choice.says in (Says.PERSON, Says.IDENTITY))


@pytest.mark.parametrize("walker", WALKERS.values(), ids=WALKERS)
@pytest.mark.parametrize("seed", SEEDS)
async def test_whether_accepted_or_not_nothing_moves_by_ai_s_word_alone(walker: Performs, seed: int) -> None:
    document, _ = FILES[seed]
    for trace in await runs_of(walker, document):
        for moved in trace.moves:
            if moved.ai_before:
                assert moved.authority is not None
                assert moved.authority.kind != RULE
                assert not nobody_and_nothing(trace)


@pytest.mark.parametrize("walker", WALKERS.values(), ids=WALKERS)
@pytest.mark.parametrize("seed", ACCEPTED_AND_MOVING)
async def test_what_an_accepted_file_moves_is_what_explain_says(walker: Performs, seed: int) -> None:
    document, _ = judged(seed)
    said = {(move.path, move.action) for move in explain(document, REGISTRY).moves}
    traces = await runs_of(walker, document)
    reached = {(moved.step.path, moved.action) for trace in traces for moved in trace.moves}
    assert [code for trace in traces for code in trace.refused] == []
    assert reached <= said
    if len(traces) < MOST_RUNS:
        assert reached == said
