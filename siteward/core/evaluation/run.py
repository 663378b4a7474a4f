"""Running a model over a case set, and what came of each case."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from siteward.core.agent import UNSURE, Decision, Image, Limits, LLMClient, RowKind, Tables, run_look

from .cases import Case, CaseSet
from .pictures import picture_of

LIMITS = Limits.cpu()


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to one case: `said` is what the model would decide (before the confidence floor), `acted` the lane that a run takes."""

    said: str
    acted: str
    right: bool
    confidence: float | None
    raw: float | None
    unsure_reason: str | None
    reason: str
    ms: float
    fields: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    scores: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A case and its answers, one for each repeat. It counts as right when most of its answers are."""

    case: Case
    answers: tuple[Answer, ...]

    @property
    def right(self) -> bool:
        """Whether more than half of the answers are right."""
        return 2 * sum(answer.right for answer in self.answers) > len(self.answers)

    @property
    def said(self) -> str:
        """The answer that came most often (the first of those)."""
        return Counter(answer.said for answer in self.answers).most_common(1)[0][0]

    @property
    def acted(self) -> bool:
        """Whether most of the answers took another lane than `unsure`."""
        return 2 * sum(answer.acted != UNSURE for answer in self.answers) > len(self.answers)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A case set run over a model."""

    case_set: CaseSet
    model: str
    model_digest: str
    repeats: int
    results: tuple[CaseResult, ...]


async def run_eval(
    cases: CaseSet,
    client: LLMClient,
    repeats: int = 1,
    *,
    tables: Tables | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Evaluation:
    """Ask the model about every case, `repeats` times with other seeds. One at a time: a local model serves one, and times are honest.
    Raises `ConfigurationInvalid` where a picture cannot be read; what the model does wrong is a result."""
    if repeats < 1:
        raise ValueError("A case is asked at least once.")
    model = client.capabilities
    results: list[CaseResult] = []
    for case in cases.cases:
        image = await asyncio.to_thread(picture_of, case)
        answers = [await _answer(cases, case, client, image, tables, _seed(case, n), clock) for n in range(repeats)]
        results.append(CaseResult(case, tuple(answers)))
    return Evaluation(cases, model.model, model.digest, repeats, tuple(results))


async def _answer(
    cases: CaseSet,
    case: Case,
    client: LLMClient,
    image: Image,
    tables: Tables | None,
    seed: int,
    clock: Callable[[], float],
) -> Answer:
    started = clock()
    decision = await run_look(
        client,
        cases.step.spec,
        prompt=cases.prompt,
        images=[image],
        limits=LIMITS,
        seed=seed,
        tables=tables,
        needs_picture=True,
        clock=clock,
    )
    said = decision.proposed or decision.decision
    rows = [row for row in decision.trace if row.kind is RowKind.LLM]
    return Answer(
        said=said,
        acted=decision.decision,
        right=is_right(case, said, decision),
        confidence=decision.confidence,
        raw=decision.raw,
        unsure_reason=decision.unsure_reason.value if decision.unsure_reason else None,
        reason=decision.reason,
        ms=(clock() - started) * 1000,
        fields=dict(decision.fields),
        scores=rows[-1].scores or {} if rows else {},
    )


def is_right(case: Case, said: str, decision: Decision) -> bool:
    """Whether an answer is right: by the decision where the case names one, else by every field that it names."""
    if case.decision is not None:
        return said == case.decision
    return all(decision.fields.get(name) in values for name, values in case.fields.items())


def fact_is_right(case: Case, name: str, value: Any) -> bool | None:
    """Whether a field's value is right; None where the case says nothing of it."""
    values = case.fields.get(name)
    return None if values is None else value in values


def group(results: Sequence[CaseResult], *, held_out: bool | None) -> tuple[CaseResult, ...]:
    """The seen half, the held-out half, or all."""
    return tuple(one for one in results if held_out is None or one.case.held_out is held_out)


def _seed(case: Case, repeat: int) -> int:
    return int(hashlib.sha256(f"{case.id} {repeat}".encode()).hexdigest()[:12], 16)
