"""The same hostile model on the engine's own steps and positions: what moves is what `explain` says, and never by AI's word alone."""

from __future__ import annotations

import pytest

from siteward.core.contract.document import Document
from siteward.core.contract.explain import explain
from siteward.core.engine.authority import AUTHORISING, CALL, REPLY
from siteward.sdk.choices import Says, Trace, every_run
from tests.contract.corpus_files import REGISTRY, CorpusFile, corpus, refused_by_safety
from tests.hostile.engine_walk import EngineWalk

ENGINE = EngineWalk(REGISTRY)


def known(files: list[CorpusFile]) -> list[CorpusFile]:
    return [file for file in files if ENGINE.knows(file.document())]


MOVING = known([file for file in corpus("accepted") if file.moves])
REFUSED = known(list(refused_by_safety()))


def named(file: CorpusFile) -> str:
    return file.name


async def runs_of(document: Document) -> list[Trace]:
    return [trace async for trace in every_run(ENGINE, document)]


def nobody_and_nothing(trace: Trace) -> bool:
    return all(index == 0 for choice, index in trace.choices.items() if choice.says in (Says.PERSON, Says.IDENTITY))


def test_most_of_the_corpus_has_its_steps_in_the_host() -> None:
    assert len(MOVING) >= 35
    assert len(REFUSED) >= 90


@pytest.mark.parametrize("file", MOVING, ids=named)
async def test_the_engine_moves_exactly_what_explain_says(file: CorpusFile) -> None:
    document = file.document()
    said = explain(document, REGISTRY).moves
    open_targets = {(move.path, move.action) for move in said if "{" in move.target}
    traces = await runs_of(document)
    reached = {(m.step.path, m.action, str(m.target)) for t in traces for m in t.moves}
    assert {move for move in reached if move[:2] not in open_targets} == {
        (move.path, move.action, move.target) for move in said if "{" not in move.target
    }
    assert {move[:2] for move in reached if move[:2] in open_targets} == open_targets
    assert [refused for trace in traces for refused in trace.refused] == []


@pytest.mark.parametrize("file", [*MOVING, *REFUSED], ids=named)
async def test_with_nobody_answering_and_lists_empty_the_engine_moves_nothing_after_ai(file: CorpusFile) -> None:
    for trace in await runs_of(file.document()):
        for moved in trace.moves:
            if moved.ai_before:
                assert not nobody_and_nothing(trace)
                assert moved.authority is not None
                assert moved.authority.kind in (REPLY, CALL, AUTHORISING)
