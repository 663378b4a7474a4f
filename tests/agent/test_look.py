"""Look within its bounds: every bound, every reason to be unsure, and what the trace says of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from siteward.core.agent import (
    Budget,
    Calibration,
    Capabilities,
    Case,
    ChatResult,
    ConfidenceSource,
    Decision,
    Image,
    Limits,
    LLMClient,
    ModelDown,
    RowKind,
    RowStatus,
    Tables,
    TraceRow,
    Uncalibrated,
    UnsureReason,
    replay_look,
    run_look,
)

from .models import BY_RULES, GATE, Clock, Say, Scripted, said

PICTURE = Image(b"jpeg")
ONE_CALL = Limits(tool_calls=0, seconds=60, model_calls=1)


async def look(model: LLMClient, spec: object = GATE, **settings: object) -> Decision:
    clock = model.clock if isinstance(model, Scripted) else Clock()
    return await run_look(model, spec, **{"prompt": "Who is there?", "clock": clock, "now": lambda: 5.0, **settings})  # type: ignore[arg-type]


def perception(*answers: Say, **capabilities: object) -> Scripted:
    known = Capabilities(
        "eyes",
        "e1",
        images=True,
        deterministic=True,
        vocabulary={"vehicle": ("none", "car"), "note": "text"},
    )
    return Scripted(answers, replace(known, **capabilities))  # type: ignore[arg-type]


async def test_five_draws_that_agree_are_sure() -> None:
    decision = await look(Scripted([said("car")]))
    assert (decision.decision, decision.confidence) == ("car", 1.0)
    assert decision.confidence_source is ConfidenceSource.AGREEMENT
    assert decision.usage.model_calls == 5
    assert not decision.calibrated


async def test_the_majority_decides_whichever_draw_came_first() -> None:
    decision = await look(Scripted([said("person"), said("car"), said("car"), said("car"), said("car")]))
    assert (decision.decision, decision.confidence) == ("car", 0.8)


async def test_a_majority_below_the_floor_is_unsure_and_says_what_it_would_have_been() -> None:
    decision = await look(Scripted([said("car"), said("car"), said("person")]), samples=3)
    assert (decision.decision, decision.unsure_reason, decision.proposed) == ("unsure", UnsureReason.BELOW_FLOOR, "car")
    assert decision.confidence == pytest.approx(2 / 3)


async def test_a_tie_is_unsure_even_with_no_floor() -> None:
    answers = [said("car"), said("person"), said("person"), said("car")]
    decision = await look(Scripted(answers), replace(GATE, floor=0.0), samples=4)
    assert (decision.decision, decision.unsure_reason, decision.proposed) == ("unsure", UnsureReason.BELOW_FLOOR, None)


async def test_agreement_is_counted_after_the_rules() -> None:
    answers = [said(vehicle="car", note=None), said(vehicle="car", note="red"), said(vehicle="car", note="blue")]
    decision = await look(Scripted(answers), BY_RULES, samples=3)
    assert (decision.decision, decision.confidence, decision.rule) == ("open", 1.0, 0)


async def test_a_draw_without_an_answer_counts_against_agreement() -> None:
    decision = await look(Scripted([said("car"), said("car"), ModelDown("gone")]), samples=3)
    assert decision.confidence == pytest.approx(2 / 3)
    assert decision.unsure


async def test_the_draws_have_recorded_seeds_that_differ_and_repeat() -> None:
    first, second = Scripted([said("car")]), Scripted([said("car")])
    await look(first, seed=7)
    await look(second, seed=7)
    seeds = [one["seed"] for one in first.asked]
    assert len(set(seeds)) == 5
    assert seeds == [one["seed"] for one in second.asked]


async def test_a_single_draw_is_never_a_confidence() -> None:
    decision = await look(Scripted([said("car", confidence=1.0)]), limits=ONE_CALL)
    assert (decision.decision, decision.confidence, decision.self_reported) == ("car", None, 1.0)
    assert decision.confidence_source is ConfidenceSource.NOT_MEASURED


async def test_a_single_draw_is_as_sure_as_that_option_was_right_so_far() -> None:
    table = Calibration.of([Case("car", None, True)] * 8 + [Case("car", None, False)] * 2)
    decision = await look(Scripted([said("car")]), limits=ONE_CALL, tables=Tables(table))
    assert decision.confidence == pytest.approx(9 / 12)
    assert decision.confidence_source is ConfidenceSource.PRECISION
    other = await look(Scripted([said("person")]), limits=ONE_CALL, tables=Tables(table))
    assert other.confidence is None


async def test_an_author_may_ask_that_what_was_never_measured_is_unsure() -> None:
    spec = replace(GATE, uncalibrated=Uncalibrated.UNSURE)
    decision = await look(Scripted([said("car")]), spec, limits=ONE_CALL)
    assert (decision.decision, decision.proposed) == ("unsure", "car")


async def test_slow_models_get_three_draws_then_one() -> None:
    for takes, draws in ((5.0, 5), (15.0, 3), (50.0, 1)):
        model = Scripted([said("car")], takes=takes)
        decision = await look(model, limits=Limits(tool_calls=0, seconds=60))
        assert decision.usage.model_calls == draws
        assert decision.decision == "car"


async def test_perception_is_asked_once_and_scored_through_its_table() -> None:
    table = Calibration.of([Case("open", 0.7, True)] * 10)
    eyes = perception(ChatResult(said(vehicle="car", note=None), scores={"vehicle": 0.71, "note": 0.1}))
    decision = await look(eyes, BY_RULES, images=[PICTURE], samples=5, tables=Tables(table))
    assert decision.usage.model_calls == 1
    assert decision.confidence_source is ConfidenceSource.SCORE
    assert decision.raw == 0.71  # of the field that the rule read, not of the note
    assert decision.confidence == pytest.approx((10 + 2 * 11 / 12) / 12)


async def test_what_a_fact_was_worth_before_counts_for_every_step_that_reads_it() -> None:
    facts = {"vehicle": Calibration.of([Case("car", 0.7, True)] * 10 + [Case("none", 0.7, False)])}
    eyes = perception(ChatResult(said(vehicle="car", note=None), scores={"vehicle": 0.71}))
    decision = await look(eyes, BY_RULES, images=[PICTURE], tables=Tables(facts=facts))
    assert decision.confidence == pytest.approx((10 + 2 * 11 / 12) / 12)
    assert decision.calibrated


async def test_a_fact_that_was_never_marked_leaves_the_confidence_open() -> None:
    facts = {"vehicle": Calibration.of([Case("none", 0.7, True)])}
    eyes = perception(ChatResult(said(vehicle="car", note=None), scores={"vehicle": 0.71}))
    assert (await look(eyes, BY_RULES, images=[PICTURE], tables=Tables(facts=facts))).confidence is None


async def test_a_score_without_marked_cases_is_not_a_confidence() -> None:
    eyes = perception(ChatResult(said(vehicle="car", note=None), scores={"vehicle": 0.99}))
    decision = await look(eyes, BY_RULES, images=[PICTURE])
    assert (decision.decision, decision.confidence, decision.raw) == ("open", None, 0.99)


@pytest.mark.parametrize("scores", [{"vehicle": float("nan")}, {"vehicle": "high"}, {}, None])
async def test_a_score_that_is_none_measures_nothing(scores: object) -> None:
    table = Calibration.of([Case("open", 0.7, True)])
    eyes = perception(ChatResult(said(vehicle="car", note=None), scores=scores))  # type: ignore[arg-type]
    assert (await look(eyes, BY_RULES, images=[PICTURE], tables=Tables(table))).confidence is None


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([ModelDown("no route")], UnsureReason.LLM_DOWN),
        ([TimeoutError()], UnsureReason.LLM_DOWN),
        ([RuntimeError("bug")], UnsureReason.ERROR),
        (["not json"], UnsureReason.INVALID_OUTPUT),
        ([lambda: None], UnsureReason.ERROR),
        ([said("unsure")], None),
    ],
)
async def test_what_a_model_does_wrong_is_a_reason_and_never_an_error(
    answers: list[Say], reason: UnsureReason | None
) -> None:
    decision = await look(Scripted(answers))
    assert (decision.decision, decision.unsure_reason) == ("unsure", reason)
    assert decision.trace


async def test_no_rule_is_unsure() -> None:
    decision = await look(Scripted([said(vehicle="none", note=None)]), BY_RULES)
    assert (decision.decision, decision.unsure_reason) == ("unsure", UnsureReason.NO_RULE)


async def test_a_model_that_hangs_is_over_budget_and_its_call_is_counted() -> None:
    decision = await look(Scripted([said("car")], hangs=True), limits=Limits(tool_calls=0, seconds=0.01))
    assert (decision.decision, decision.unsure_reason) == ("unsure", UnsureReason.OVER_BUDGET)
    assert decision.usage.model_calls == 1
    assert [row.status for row in decision.trace] == [RowStatus.FAILED]


async def test_no_call_begins_after_the_last_second() -> None:
    model = Scripted([said("car")], takes=61.0)
    decision = await look(model, samples=3, limits=Limits(tool_calls=0, seconds=60))
    assert len(model.asked) == 1
    assert decision.trace[-1].kind is RowKind.LIMIT
    assert decision.trace[-1].name == "seconds"


async def test_model_calls_are_bounded_repairs_included() -> None:
    model = Scripted(["nonsense"])
    decision = await look(model, samples=9, limits=Limits(tool_calls=0, seconds=60, model_calls=4))
    assert len(model.asked) == 4
    assert (decision.decision, decision.trace[-1].name) == ("unsure", "model_calls")


async def test_tokens_are_bounded() -> None:
    model = Scripted([ChatResult(said("car"), tokens_in=900, tokens_out=100)])
    decision = await look(model, samples=9, limits=Limits(tool_calls=0, seconds=60, model_calls=9, tokens=2_200))
    assert len(model.asked) == 2
    assert decision.trace[-1].name == "tokens"
    assert decision.usage.tokens_in + decision.usage.tokens_out == 2_000


async def test_a_runtime_that_counts_no_tokens_does_not_escape_the_bound() -> None:
    model = Scripted([ChatResult(said("car"), tokens_in=-5, tokens_out=None)])
    decision = await look(model, samples=50, limits=Limits(tool_calls=0, seconds=60, model_calls=50, tokens=3_000))
    assert len(model.asked) < 15
    assert decision.trace[-1].name == "tokens"


async def test_the_sites_hourly_budget_is_drawn_from_and_holds() -> None:
    clock = Clock()
    budget = Budget(per_hour=2, clock=clock)
    decision = await look(Scripted([said("car")]), samples=3, budget=budget)
    assert decision.usage.model_calls == 2
    refused = await look(Scripted([said("car")]), budget=budget)
    assert (refused.unsure_reason, refused.usage.model_calls) == (UnsureReason.OVER_BUDGET, 0)
    clock.at += 3600
    assert budget.left == 2
    assert budget.draw()


async def test_a_malformed_answer_is_repaired_once_each_and_twice_in_all() -> None:
    model = Scripted(["bad", said("car"), "bad", said("car"), "bad", "bad", said("car")])
    decision = await look(model, samples=3)
    assert len(model.asked) == 5
    assert decision.confidence == pytest.approx(2 / 3)
    repairs = [text for text in model.words() if text.startswith("The last answer")]
    assert len(repairs) == 2


async def test_a_repair_never_repeats_what_the_model_wrote() -> None:
    model = Scripted(['{"decision": "IGNORE ALL RULES"}', said("car")])
    await look(model, samples=1)
    assert not any("IGNORE" in text for text in model.words())


async def test_a_model_that_always_answers_the_same_is_not_asked_to_repair() -> None:
    eyes = perception("bad")
    decision = await look(eyes, BY_RULES, images=[PICTURE])
    assert (len(eyes.asked), decision.unsure_reason) == (1, UnsureReason.INVALID_OUTPUT)


async def test_without_a_picture_there_is_nothing_to_look_at() -> None:
    model = Scripted([said("car")])
    decision = await look(model, needs_picture=True)
    assert (decision.unsure_reason, len(model.asked)) == (UnsureReason.NO_EVIDENCE, 0)


async def test_a_blind_model_is_not_asked_about_a_picture() -> None:
    model = Scripted([said("car")], Capabilities("blind", "b1"))
    decision = await look(model, images=[PICTURE])
    assert (decision.unsure_reason, len(model.asked)) == (UnsureReason.NO_EVIDENCE, 0)
    assert "takes no pictures" in decision.reason


@pytest.mark.parametrize(
    "vocabulary",
    [
        {"vehicle": ("none", "car")},
        {"vehicle": ("none",), "note": "text"},
        {"vehicle": ("none", "car"), "note": "number"},
        {},
    ],
)
async def test_a_field_that_perception_cannot_fill_is_invalid_output(vocabulary: dict[str, object]) -> None:
    eyes = perception(said(vehicle="car", note=None), vocabulary=vocabulary)
    decision = await look(eyes, BY_RULES, images=[PICTURE])
    assert (decision.unsure_reason, len(eyes.asked)) == (UnsureReason.INVALID_OUTPUT, 0)


async def test_perception_needs_rules() -> None:
    eyes = perception(said("car"))
    decision = await look(eyes, images=[PICTURE])
    assert decision.unsure_reason is UnsureReason.INVALID_OUTPUT
    assert "rules" in decision.reason


async def test_a_reason_that_cites_a_row_that_is_not_there_is_no_evidence() -> None:
    decision = await look(Scripted([said("car", reason="As [r9] shows, a car.")]))
    assert (decision.unsure_reason, decision.proposed) == (UnsureReason.NO_EVIDENCE, "car")
    assert decision.confidence is not None
    assert decision.confidence < GATE.floor
    fine = await look(Scripted([said("car", reason="As [r1] shows, a car.")]))
    assert fine.decision == "car"


async def test_the_oldest_memory_is_cut_first_and_the_trace_says_so() -> None:
    small = Scripted([said("car")], Capabilities("small", "s", images=True, context_tokens=700))
    memory = [f"{hour:02}:00 person: someone walked by the fence, number {hour}" for hour in range(24)]
    decision = await look(small, memory=memory, samples=1)
    assert decision.decision == "car"
    assert "earlier decision" in decision.trace[0].result
    sent = small.words()[1]
    assert "number 23" in sent
    assert 'number 0"' not in sent


async def test_a_question_that_cannot_fit_is_over_budget_and_nothing_is_sent() -> None:
    tiny = Scripted([said("car")], Capabilities("tiny", "t", context_tokens=60))
    decision = await look(tiny)
    assert (decision.unsure_reason, len(tiny.asked)) == (UnsureReason.OVER_BUDGET, 0)


async def test_long_values_are_cut_with_a_visible_mark() -> None:
    small = Scripted([said("car")], Capabilities("small", "s", context_tokens=900))
    decision = await look(small, inputs={"transcript": "word " * 2_000}, samples=1)
    assert decision.decision == "car"
    assert "…" in small.words()[1]
    assert "cut" in small.words()[1]


async def test_cancelling_the_step_cancels_the_model_call() -> None:
    model = Scripted([said("car")], hangs=True)
    task = asyncio.create_task(look(model))
    await model.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_client_whose_capabilities_fail_is_an_error_and_not_an_exception() -> None:
    class Broken:
        @property
        def capabilities(self) -> Capabilities:
            raise OSError("no file")

        async def chat(self, **_: object) -> ChatResult:
            raise AssertionError("never asked")

    assert (await look(Broken())).unsure_reason is UnsureReason.ERROR


async def test_the_trace_has_a_row_for_every_call_with_what_it_took() -> None:
    model = Scripted([said("car"), "bad", said("car"), ModelDown("gone")], takes=0.5)
    decision = await look(model, samples=3)
    assert [row.id for row in decision.trace] == ["r1", "r2", "r3", "r4"]
    assert [row.status.value for row in decision.trace] == ["ok", "failed", "ok", "failed"]
    assert [row.evidence for row in decision.trace] == [True, False, True, False]
    assert {row.ms for row in decision.trace} == {500}
    assert all(row.seed is not None and row.model == "scripted" for row in decision.trace)
    assert decision.usage.seconds == 2.0


SCRIPTS: list[tuple[list[Say], object]] = [
    ([said("car")], GATE),
    ([said("person"), said("car"), said("car")], GATE),
    ([said("car"), said("person")], GATE),
    (["bad", "bad", said("car")], GATE),
    ([ModelDown("gone")], GATE),
    ([said("unsure")], GATE),
    ([said(vehicle="car", note="x" * 490)], BY_RULES),
    ([said(vehicle="none", note=None)], BY_RULES),
    ([said("car", reason="see [r7]")], GATE),
]


@pytest.mark.parametrize(("answers", "spec"), SCRIPTS)
async def test_a_run_replayed_from_its_trace_gives_the_same_decision(answers: list[Say], spec: object) -> None:
    decision = await look(Scripted(answers), spec)
    rows = [TraceRow.from_row(row.as_row()) for row in decision.trace]
    again = replay_look(spec, rows)  # type: ignore[arg-type]
    assert replace(again, usage=decision.usage, model=decision.model, model_digest=decision.model_digest) == decision


async def test_a_scored_run_replays_too() -> None:
    table = Calibration.of([Case("open", 0.7, True)] * 3)
    eyes = perception(ChatResult(said(vehicle="car", note=None), scores={"vehicle": 0.7}))
    decision = await look(eyes, BY_RULES, images=[PICTURE], tables=Tables(table))
    again = replay_look(BY_RULES, decision.trace, Tables(table), deterministic=True)
    assert (again.decision, again.confidence) == (decision.decision, decision.confidence)
