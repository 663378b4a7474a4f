"""A model that says whatever helps it most, against every file of the corpus: it moves nothing by its own word.

Each file runs in every way in which it can go: each AI output, each reply and none, each rule true and false.
"""

from __future__ import annotations

import pytest

from siteward.core.contract.document import Document
from siteward.core.contract.explain import explain, reachable_moves
from siteward.core.contract.flow import analyse
from siteward.core.contract.safety import check
from siteward.core.engine.authority import AUTHORISING, CALL, REPLY
from siteward.sdk.choices import Choice, Choices, Moved, Performs, Says, Trace, every_run, world_of
from siteward.sdk.scripted import Interpreter
from tests.contract.corpus_files import REGISTRY, CorpusFile, corpus, refused_by_safety

PERFORMS: Performs = Interpreter(REGISTRY)


def moving_files() -> list[CorpusFile]:
    return [file for file in corpus("accepted") if file.moves]


def files_with_ai_on_a_moving_path() -> list[CorpusFile]:
    return [
        file
        for file in moving_files()
        if any(use.visit.point.ai for use in reachable_moves(analyse(file.document(), REGISTRY)))
    ]


def named(file: CorpusFile) -> str:
    return file.name


async def runs_of(document: Document) -> list[Trace]:
    return [trace async for trace in every_run(PERFORMS, document)]


def nobody_and_nothing(trace: Trace) -> bool:
    """Nobody answered, and no list held what was looked up."""
    return all(index == 0 for choice, index in trace.choices.items() if choice.says in (Says.PERSON, Says.IDENTITY))


def authorising_choice(trace: Trace, moved: Moved) -> Choice | None:
    """The choice of the world that gave the authority of a move."""
    given = moved.authority
    if given is None:
        return None
    says = {REPLY: Says.PERSON, CALL: Says.PERSON, AUTHORISING: Says.IDENTITY}.get(given.kind)
    return next((c for c in trace.choices if c.says is says and c.at == given.path), None)


def test_the_corpus_has_files_with_ai_on_a_moving_path() -> None:
    assert len(files_with_ai_on_a_moving_path()) >= 25


@pytest.mark.parametrize("file", moving_files(), ids=named)
async def test_a_file_moves_exactly_what_explain_says(file: CorpusFile) -> None:
    document = file.document()
    said = explain(document, REGISTRY).moves
    open_targets = {(move.path, move.action) for move in said if "{" in move.target}
    reached = {(m.step.path, m.action, str(m.target)) for t in await runs_of(document) for m in t.moves}
    assert {move for move in reached if move[:2] not in open_targets} == {
        (move.path, move.action, move.target) for move in said if "{" not in move.target
    }
    assert {move[:2] for move in reached if move[:2] in open_targets} == open_targets


@pytest.mark.parametrize("file", moving_files(), ids=named)
async def test_no_run_of_an_accepted_file_is_stopped_for_safety(file: CorpusFile) -> None:
    for trace in await runs_of(file.document()):
        assert trace.refused == []
        assert trace.missing == []


@pytest.mark.parametrize("file", files_with_ai_on_a_moving_path(), ids=named)
async def test_with_nobody_answering_and_lists_empty_no_ai_output_moves_anything(file: CorpusFile) -> None:
    for trace in await runs_of(file.document()):
        if nobody_and_nothing(trace):
            assert [moved.action for moved in trace.moves if moved.ai_before] == []


@pytest.mark.parametrize("file", files_with_ai_on_a_moving_path(), ids=named)
async def test_each_move_after_ai_hangs_on_a_person_or_an_identity(file: CorpusFile) -> None:
    """Take the authority of a move away and leave everything else as it was, the model's words included: the move is gone."""
    document = file.document()
    for trace in await runs_of(document):
        for moved in trace.moves:
            if not moved.ai_before:
                continue
            choice = authorising_choice(trace, moved)
            assert choice is not None
            without = await PERFORMS.perform(document, Choices({**trace.choices, choice: 0}))
            assert all(
                other.authority is not None and other.authority.path != choice.at
                for other in without.moves
                if other.step is moved.step
            )


@pytest.mark.parametrize("file", files_with_ai_on_a_moving_path(), ids=named)
async def test_with_the_world_fixed_ai_adds_no_move_beyond_what_was_authorised(file: CorpusFile) -> None:
    """For each fixed event, lists and answers, every move of every AI output is one that a choice of this world stands behind, on a
    target that the file names or that the person who answered was shown."""
    document = file.document()
    named_targets = {(m.path, m.action, m.target) for m in explain(document, REGISTRY).moves}
    for trace in await runs_of(document):
        world = dict(world_of(trace))
        for moved in (m for m in trace.moves if m.ai_before):
            assert authorising_choice(trace, moved) in world
            if (moved.step.path, moved.action, str(moved.target)) not in named_targets:
                assert moved.authority is not None
                assert shown_target(moved)


def shown_target(moved: Moved) -> bool:
    given = moved.authority
    if given is None or given.kind not in (REPLY, CALL):
        return False
    setting = str(moved.step.settings[REGISTRY.actions[moved.action].target or ""])
    return setting.strip("{}") in given.shown


@pytest.mark.parametrize("file", refused_by_safety(), ids=named)
async def test_with_the_validator_off_a_refused_file_moves_nothing_by_ai_s_word_alone(file: CorpusFile) -> None:
    document = file.document()
    assert check(document, REGISTRY) != []
    stopped, moved = False, False
    for trace in await runs_of(document):
        stopped = stopped or bool(trace.refused)
        for move in trace.moves:
            moved = True
            assert not (move.ai_before and nobody_and_nothing(trace))
            if move.ai_before:
                assert move.authority is not None
                assert move.authority.kind in (REPLY, CALL, AUTHORISING)
    assert stopped or not moved or only_asks_again(file)


def only_asks_again(file: CorpusFile) -> bool:
    """A default that leads to another question is refused for its silence; what moves then is moved by the second person's reply."""
    return {code for code, _ in file.problems} == {"safety.default_moves"}


async def test_a_gate_of_an_unguarded_model_is_stopped_at_run_time_in_every_run_that_reaches_it() -> None:
    (file,) = [file for file in corpus("refused") if file.name == "001-decision-opens"]
    document = file.document()
    reaching = [t for t in await runs_of(document) if t.choices[Choice(Says.AI, "then.0")] == 0]
    assert reaching
    for trace in reaching:
        assert trace.moves == []
        assert trace.refused == ["safety.ai_unguarded"]
