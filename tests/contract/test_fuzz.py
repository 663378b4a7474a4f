"""Whatever is put in: no exception, no hang, and an amount of work that the length bounds (counted, never timed)."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siteward.core.contract import Report, apply_edits, explain, validate, write_back
from siteward.core.contract.codes import CODES
from siteward.core.contract.manifest_data import shipped_registry
from siteward.core.contract.notes import Notes
from siteward.core.contract.places import MOST_NODES, read_tree
from siteward.core.contract.text_edits import EditRefused
from tests.contract.expected import files

REGISTRY = shipped_registry()
SHORT = settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
CORPUS = [file.data for folder in ("accepted", "refused") for file in files(folder) if len(file.data) < 6000]
KEYS = (
    "name state limits needs when if then always any not id mode look investigate decision fields rules sure input who message "
    "replies timeout default attach escalate after in as do true false happened not_happened unsure no_answer contract"
)
SKILLS = {*REGISTRY.actions, *REGISTRY.step_kinds, *REGISTRY.triggers, *REGISTRY.conditions, *REGISTRY.tools}
WORDS = st.sampled_from([*sorted(SKILLS), *KEYS.split()])
ODD = st.sampled_from(
    ["{plate}", "{", "}}", "{a.b.c}", "{{x}}", "\u202e", "𝕬", "é", "e\u0301", "\u200b", "аlert", "9" * 400, "1e999", "-0", "0o9", ".nan",
     "22:00", "010", "Yes", "~", "null", "<<", "*x", "&x y", "!t z", "role:x", "list:y", "2m", "999999d", "::", "- -", "#", "'", '"', ""]
)  # fmt: skip


def judge(given: str | bytes) -> Report:
    """Validates, and does with the report all that a host does."""
    report = validate(given, REGISTRY)
    assert report.problems or report.ok
    json.dumps([problem.as_dict() for problem in report.problems])
    assert all(
        problem.code in CODES and problem.place.line >= 1 and problem.place.column >= 1 for problem in report.problems
    )
    if report.document is not None:
        explain(report.document, REGISTRY).text()
        if report.ok:
            again = validate(write_back(report.document), REGISTRY)
            assert again.ok
    return report


def work_of(text: str | bytes) -> int:
    return read_tree(text, Notes()).work


@SHORT
@given(st.binary(max_size=300))
def test_any_bytes_are_judged(data: bytes) -> None:
    judge(data)
    assert work_of(data) <= 3 * len(data) + 10


@SHORT
@given(st.text(max_size=200))
def test_any_text_is_judged(text: str) -> None:
    judge(text)
    assert work_of(text) <= 3 * len(text) + 10


@SHORT
@given(st.lists(st.sampled_from([*"[]{},:-?&*!|>'\"%@`#\n \t", "a", "- ", ": ", "&a ", "*a", "\n  "]), max_size=200))
def test_any_indicators_are_judged(parts: list[str]) -> None:
    text = "".join(parts)
    judge(text)
    assert work_of(text) <= 3 * len(text) + 10


VALUES: st.SearchStrategy[object] = st.recursive(
    ODD | WORDS | st.integers() | st.floats() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | ODD, inner, max_size=4),
    max_leaves=25,
)


@SHORT
@given(VALUES, VALUES, VALUES)
def test_any_tree_of_known_words_is_judged(when: object, conditions: object, then: object) -> None:
    text = json.dumps({"name": "x", "when": when, "if": conditions, "then": then}, ensure_ascii=False)
    judge(text)


@SHORT
@given(st.lists(st.dictionaries(WORDS, VALUES, min_size=1, max_size=3), min_size=1, max_size=5))
def test_any_steps_of_known_words_are_judged(steps: list[object]) -> None:
    judge(json.dumps({"name": "x", "when": {"button": {"name": "r"}}, "then": steps}, ensure_ascii=False))


@SHORT
@given(st.data())
def test_any_mutation_of_a_corpus_file_is_judged(data: st.DataObject) -> None:
    text = bytearray(data.draw(st.sampled_from(CORPUS)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        end = min(len(text), at + data.draw(st.integers(0, 12)))
        text[at:end] = data.draw(ODD | WORDS).encode() + data.draw(
            st.sampled_from([b"", b"\n", b": ", b" ", b"\xff", b"\x00"])
        )
    judge(bytes(text))


@SHORT
@given(st.data())
def test_fixes_of_any_mutation_can_be_applied_or_are_refused(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(CORPUS)).decode("utf-8", "replace")
    at = data.draw(st.integers(0, len(text)))
    mutated = text[:at] + data.draw(ODD | WORDS) + text[at + data.draw(st.integers(0, 9)) :]
    report = judge(mutated)
    for problem in report.problems[:8]:
        for fix in problem.fixes:
            try:
                judge(apply_edits(mutated, fix.edits))
            except EditRefused as refusal:
                assert refusal.args[0]


@SHORT
@given(st.integers(1, 40), st.integers(1, 60))
def test_aliases_of_any_width_and_depth_cost_what_the_text_costs(levels: int, width: int) -> None:
    lines = ["a0: &a0 x"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * width) + "]" for n in range(1, levels)]
    text = "\n".join(lines)
    source = read_tree(text, Notes())
    assert source.work <= 3 * len(text) + 10
    assert source.tree is None or source.tree.size <= MOST_NODES
    judge(text)
