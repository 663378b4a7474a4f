"""What a person reads before an import: what starts it, what it may move, who allows that, who is asked, what it reads."""

from __future__ import annotations

import pytest

from siteward.core.contract.explain import Explanation, explain
from tests.contract.corpus_files import REGISTRY, CorpusFile, corpus, document_of, refused_by_safety

CONCIERGE = """\
name: Gate concierge
when:
  event: { type: plate.recognized.v1, cameras: [gate] }
if:
  - time: { from: "06:00", to: "22:00" }
then:
  - id: look
    ai:
      mode: look
      prompt: What stands at the barrier?
      decision: [delivery, other]
      delivery: [ log: "{look.reason}" ]
      other: [ log: "{look.reason}" ]
      unsure: [ log: "{look.reason}" ]
  - if:
      - in_list: { value: "{plate}", list: expected_visitors }
    true:
      - gate.open: { gate: main_gate }
    false:
      - ask_person: { who: role:guard, message: "{look.reason}. Let in?", replies: [Let in, Refuse, Call back], timeout: 60s, default: Refuse }
        Let in: [ gate.open: { gate: main_gate }, siren: { siren: horn, seconds: 1 } ]
        Refuse: [ log: "Refused" ]
"""


def concierge() -> Explanation:
    return explain(document_of(CONCIERGE), REGISTRY)


def test_it_says_what_starts_a_run_and_what_must_hold() -> None:
    assert concierge().starts == (
        "event: type plate.recognized.v1, cameras gate",
        "only if time from 06:00 to 22:00",
    )


def test_each_move_stands_with_what_allows_it_and_its_line() -> None:
    assert [(move.action, move.target, move.authorised_by) for move in concierge().moves] == [
        ("gate.open", "main_gate", ("the identity that the trigger read is in the list expected_visitors (line 15)",)),
        ("gate.open", "main_gate", ('role:guard replies "Let in" (line 20)',)),
        ("siren", "horn", ('role:guard replies "Let in" (line 20)',)),
    ]


def test_it_says_who_is_asked_and_what_each_answer_would_do() -> None:
    (ask,) = concierge().asks
    assert ask.who == "role:guard"
    assert ask.message == "{look.reason}. Let in?"
    assert dict(ask.outcomes) == {
        "Let in": "may do: opens main_gate, sounds horn",
        "Refuse": "goes on with log, moves nothing",
        "Call back": "ends this path",
        "no answer": "counts as Refuse: goes on with log, moves nothing",
    }


def test_it_says_that_a_plate_is_a_sensor_s_reading() -> None:
    assert concierge().notes == ("plate of plate.recognized.v1 is what a sensor read: not AI, and it can misread.",)


def test_it_says_what_is_read() -> None:
    assert concierge().reads == ("plates", "pictures of the trigger's camera", "the list expected_visitors")


def test_the_text_has_every_part() -> None:
    text = concierge().text()
    for part in (
        "Gate concierge\n",
        "Starts when:\n",
        "May move:\n",
        "Asks:\n",
        "      Let in: may do: opens main_gate",
        "Needs:\n",
    ):
        assert part in text


def test_what_moves_nothing_says_so() -> None:
    text = explain(document_of("name: a\nwhen: { button: { name: b } }\nthen: [ log: c ]\n"), REGISTRY).text()
    assert "May move:\n  - nothing\n" in text


def test_a_chat_s_file_says_that_it_starts_with_ai() -> None:
    notes = explain(document_of("name: a\nwhen: { message: {} }\nthen: [ log: c ]\n"), REGISTRY).notes
    assert notes == ("What starts it may come from AI, so every move needs a person or a rule on an identity.",)


def test_a_call_without_confirmation_says_that_it_only_tells() -> None:
    (file,) = [file for file in corpus("accepted") if file.name.startswith("021-")]
    assert "A call is not confirmed: its outcomes may only tell." in explain(file.document(), REGISTRY).notes


@pytest.mark.parametrize("file", corpus("accepted"), ids=lambda file: file.name)
def test_every_move_of_an_accepted_file_says_what_allows_it(file: CorpusFile) -> None:
    assert all(move.authorised_by for move in explain(file.document(), REGISTRY).moves)


@pytest.mark.parametrize("file", refused_by_safety(), ids=lambda file: file.name)
def test_a_refused_file_is_explained_too(file: CorpusFile) -> None:
    assert explain(file.document(), REGISTRY).text().endswith("\n")
