"""The hostile model on the whole engine and its database: every move that `explain` names is made there, and no other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from siteward.core.contract.document import Document
from siteward.core.contract.explain import explain
from siteward.sdk.choices import Choices, Says, Trace, every_run
from tests.contract.corpus_files import REGISTRY, CorpusFile, corpus, refused_by_safety
from tests.hostile.database_walk import DatabaseWalk
from tests.hostile.engine_walk import EngineWalk

IN_MEMORY = EngineWalk(REGISTRY)
EACH = 6
"""Of the refused files every sixth: what they share is tried on each in memory."""


def in_reach(files: list[CorpusFile]) -> list[CorpusFile]:
    """Files whose steps have code in the host, and which do not start by the clock, since these tests set it."""
    return [
        file for file in files if len(file.text) < 6000 and IN_MEMORY.knows(file.document()) and not by_the_clock(file)
    ]


def by_the_clock(file: CorpusFile) -> bool:
    return any(use.name == "schedule" for use in file.document().triggers)


MOVING = in_reach([file for file in corpus("accepted") if file.moves])
REFUSED = in_reach(list(refused_by_safety()))[::EACH]


def named(file: CorpusFile) -> str:
    return file.name


def moves(trace: Trace) -> list[tuple[str, str]]:
    return [(moved.action, str(moved.target)) for moved in trace.moves]


async def ways(document: Document) -> list[Trace]:
    """One way to each move, and one for each word of the model with nobody answering and no list that matches."""
    chosen: dict[object, Trace] = {}
    async for trace in every_run(IN_MEMORY, document):
        if any(choice.at.endswith(":events") for choice in trace.choices):
            continue  # what happened before is read from the database itself
        for moved in trace.moves:
            chosen.setdefault((moved.step.path, moved.action, str(moved.target)), trace)
        if alone(trace):
            said = tuple((choice.at, index) for choice, index in trace.choices.items() if choice.says is Says.AI)
            chosen.setdefault(said[:2], trace)
    return list({id(trace): trace for trace in chosen.values()}.values())


def alone(trace: Trace) -> bool:
    return all(index == 0 for choice, index in trace.choices.items() if choice.says in (Says.PERSON, Says.IDENTITY))


@pytest.fixture
async def walk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[DatabaseWalk]:
    made = DatabaseWalk(REGISTRY, request.param.document(), tmp_path)
    await made.open()
    yield made
    await made.close()


@pytest.mark.parametrize("walk", MOVING, ids=named, indirect=True)
async def test_the_database_engine_makes_exactly_the_moves_that_explain_names(walk: DatabaseWalk) -> None:
    made: set[tuple[str, str]] = set()
    chosen = await ways(walk.document)
    for trace in chosen:
        again = await walk.perform(walk.document, Choices(trace.choices))
        assert again.choices == trace.choices
        assert moves(again) == moves(trace)
        made |= set(moves(again))
    said = explain(walk.document, REGISTRY).moves
    open_actions = {move.action for move in said if "{" in move.target}
    assert {move for move in made if move[0] not in open_actions} == {
        (move.action, move.target) for move in said if move.action not in open_actions
    }


@pytest.mark.parametrize("walk", REFUSED, ids=named, indirect=True)
async def test_with_the_validator_off_the_database_engine_moves_what_the_check_in_memory_lets_move(
    walk: DatabaseWalk,
) -> None:
    for trace in await ways(walk.document):
        again = await walk.perform(walk.document, Choices(trace.choices))
        assert moves(again) == moves(trace)
        assert not alone(again) or not any(moved.ai_before for moved in again.moves)


def test_most_files_that_move_something_are_run_on_the_database() -> None:
    assert len(MOVING) >= 30
    assert len(REFUSED) >= 14
