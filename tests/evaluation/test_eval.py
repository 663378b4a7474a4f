"""Evaluation: a perfect model is perfect, a guesser is at chance, and the held-out half never reaches a table."""

from __future__ import annotations

import hashlib
import io
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from siteward.core.agent import Capabilities, ChatResult, Image, ModelDown, Rule
from siteward.core.errors import ConfigurationInvalid
from siteward.core.evaluation import (
    CaseSet,
    cli_eval,
    confusion,
    file_of,
    group,
    load_cases,
    read_tables,
    run_eval,
    shipped_cases,
    tables_of,
    to_json,
    write_tables,
)
from siteward.core.evaluation.pictures import picture_of
from siteward.core.evaluation.statistics import auroc, brier, majority, percentile, share_of
from tests.agent.models import Clock

Says = Callable[[str, int], str | BaseException]


class Oracle:
    """A model that is told by the picture's bytes which case it is looking at, and says what `says` makes of the right answer."""

    def __init__(self, cases: CaseSet, says: Says, deterministic: bool = True) -> None:
        self.capabilities = Capabilities("oracle", "o1", images=True, deterministic=deterministic)
        self.right = {hashlib.sha256(picture_of(case).data).hexdigest(): case.decision for case in cases.cases}
        self.says = says
        self.asked = 0

    async def chat(self, *, images: Sequence[Image] = (), **_: Any) -> ChatResult:
        self.asked += 1
        right = self.right[hashlib.sha256(images[0].data).hexdigest()]
        said = self.says(str(right), self.asked)
        if isinstance(said, BaseException):
            raise said
        body = {"reason": "I look.", "decision": said, "confidence": 0.9}
        return ChatResult(json.dumps(body), scores={"": 0.7})


@pytest.fixture(scope="module")
def gate() -> CaseSet:
    """The gate's cases, asked without rules: the model decides itself."""
    cases = load_cases(next(file for file in shipped_cases() if file.stem == "gate_look"))
    spec = replace(cases.step.spec, fields={}, rules=())
    plain = tuple(replace(case, fields={}) for case in cases.cases)
    return replace(cases, step=replace(cases.step, spec=spec), cases=plain)


async def test_a_perfect_model_is_perfect(gate: CaseSet) -> None:
    evaluation = await run_eval(gate, Oracle(gate, lambda right, _: right), repeats=2, clock=Clock())
    figures = to_json(evaluation)["groups"]
    for half in ("seen", "held-out", "all"):
        assert figures[half]["accuracy"]["share"] == 1.0
        assert figures[half]["accuracy"]["low"] < 1.0
    assert all(len(row) == 1 and label in row for label, row in confusion(evaluation.results).items())


async def test_a_guesser_is_at_chance(gate: CaseSet) -> None:
    chance = random.Random(11)
    options = gate.step.spec.options
    evaluation = await run_eval(gate, Oracle(gate, lambda _r, _n: chance.choice(options)), repeats=9, clock=Clock())
    answers = [answer for one in evaluation.results for answer in one.answers]
    right = share_of(sum(answer.right for answer in answers), len(answers))
    assert right.low is not None
    assert right.high is not None
    assert right.low < 1 / len(options) < right.high


async def test_always_the_most_frequent_answer_is_the_baseline_and_no_better(gate: CaseSet) -> None:
    evaluation = await run_eval(gate, Oracle(gate, lambda _r, _n: "car"), clock=Clock())
    figures = to_json(evaluation)["groups"]["all"]
    assert figures["accuracy"] == figures["majority_class"]
    assert confusion(evaluation.results)["person"] == {"car": 13}


async def test_a_model_that_is_down_is_wrong_everywhere_and_unsure(gate: CaseSet) -> None:
    evaluation = await run_eval(gate, Oracle(gate, lambda _r, _n: ModelDown("gone")), clock=Clock())
    figures = to_json(evaluation)["groups"]["held-out"]
    assert (figures["accuracy"]["right"], figures["unsure"]["share"]) == (0, 1.0)
    assert {answer.unsure_reason for one in evaluation.results for answer in one.answers} == {"llm_down"}


async def test_repeats_have_other_seeds_and_show_how_steady_a_model_is(gate: CaseSet) -> None:
    evaluation = await run_eval(
        gate, Oracle(gate, lambda right, n: right if n % 2 else "nothing"), repeats=2, clock=Clock()
    )
    assert to_json(evaluation)["groups"]["all"]["steady"]["share"] < 0.5


async def test_tables_come_from_the_seen_half_alone(gate: CaseSet) -> None:
    held = {str(case.decision): case for case in gate.cases if case.held_out}
    assert held
    model = Oracle(gate, lambda right, _: right)
    model.capabilities = replace(model.capabilities, deterministic=True)
    evaluation = await run_eval(gate, model, clock=Clock())
    only_held = replace(evaluation, results=group(evaluation.results, held_out=True))
    assert tables_of(only_held).step.options == {}
    seen = tables_of(evaluation).step
    counted = sum(band.total for bands in seen.options.values() for band in bands)
    assert counted == len(group(evaluation.results, held_out=False))


def copied(gate: CaseSet, folder: Path) -> CaseSet:
    return replace(gate, file=folder / "gate_look.yaml")


async def test_tables_are_kept_by_the_models_digest_beside_the_cases(gate: CaseSet, tmp_path: Path) -> None:
    cases = copied(gate, tmp_path)
    evaluation = replace(await run_eval(gate, Oracle(gate, lambda right, _: right), clock=Clock()), case_set=cases)
    write_tables(evaluation)
    write_tables(replace(evaluation, model_digest="another"))
    assert set(json.loads(file_of(cases).read_text())["models"]) == {"o1", "another"}
    assert read_tables(cases, "o1").step == tables_of(evaluation).step
    assert read_tables(cases, "unknown").step.options == {}


async def test_tables_of_other_rules_are_not_used(gate: CaseSet, tmp_path: Path) -> None:
    cases = copied(gate, tmp_path)
    evaluation = replace(await run_eval(gate, Oracle(gate, lambda right, _: right), clock=Clock()), case_set=cases)
    write_tables(evaluation)
    other = replace(cases, step=replace(cases.step, spec=replace(cases.step.spec, rules=(Rule("car"),))))
    assert read_tables(other, "o1").step.options == {}


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 9, "models": {}}', '{"version": 1}'])
def test_a_broken_table_is_one_clear_sentence(gate: CaseSet, tmp_path: Path, text: str) -> None:
    cases = copied(gate, tmp_path)
    file_of(cases).write_text(text)
    with pytest.raises(ConfigurationInvalid, match="--calibrate"):
        read_tables(cases, "o1")


async def test_the_command_prints_tables_or_json_and_holds_the_bound() -> None:
    file = next(file for file in shipped_cases() if file.stem == "gate_look")
    cases = load_cases(file)
    perfect = Oracle(cases, lambda right, _: right)

    async def by_rules(*, images: Sequence[Image] = (), **_: Any) -> ChatResult:
        right = perfect.right[hashlib.sha256(images[0].data).hexdigest()]
        vehicle = {"two_wheeler": "bicycle", "person": "none", "nothing": "none"}.get(str(right), str(right))
        people = "one" if right == "person" else "none"
        return ChatResult(json.dumps({"reason": "r", "vehicle": vehicle, "people": people}))

    perfect.chat = by_rules  # type: ignore[method-assign]
    text, data = io.StringIO(), io.StringIO()
    assert await cli_eval((file,), perfect, out=text, least=0.8)
    assert "held-out" in text.getvalue()
    assert "majority class" in text.getvalue()
    assert not await cli_eval((file,), perfect, out=data, as_json=True, least=0.99)
    report = json.loads(data.getvalue())
    assert report["passed"] is False
    assert report["reports"][0]["groups"]["held-out"]["accuracy"]["share"] == 1.0
    assert len(report["reports"][0]["results"]) == len(cases.cases)


def test_intervals_are_those_of_wilson() -> None:
    twenty = share_of(20, 20)
    assert twenty.low == pytest.approx(0.839, abs=1e-3)
    assert share_of(16, 20).low == pytest.approx(0.584, abs=1e-3)
    assert share_of(16, 20).high == pytest.approx(0.919, abs=1e-3)
    assert share_of(0, 0).share is None


def test_the_small_figures() -> None:
    assert majority(["a", "b", "a"]).right == 2
    assert (percentile([], 0.5), percentile([3, 1, 2], 0.5), percentile([1, 2, 3, 4], 0.95)) == (None, 2, 4)
    assert auroc([(0.9, True), (0.1, False)]) == 1.0
    assert auroc([(0.5, True), (0.5, False)]) == 0.5
    assert auroc([(0.5, True)]) is None
    assert brier([(1.0, True), (0.5, False)]) == 0.125
    assert brier([]) is None
