"""Look: one question about what is shown, answered within bounds. It never raises for what a model does.

`run_look` makes trace rows; `conclude` reads a decision out of rows and nothing else. So a run can be replayed from its trace, with no
model, and gives the same decision.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .client import Capabilities, ChatResult, Image, LLMClient, ModelDown
from .conclusion import Conclusion, conclude
from .confidence import Tables, usable_scores
from .decision import Decision, DecisionSpec, Reading, UnsureReason
from .fields import FieldType, Malformed
from .limits import Budget, Limits, Usage
from .prompt import Material, Prompt, boundary, fitted, repair_message, tokens_of
from .trace import RowKind, RowStatus, TraceRow, capped

DRAWS = (5, 3)
"""How many draws are tried, as far as the step's limits allow; else one."""
TEMPERATURE_ALONE, TEMPERATURE_DRAWS = 0.2, 0.8
REPAIRS = 2
"""Malformed answers that are answered with a repair, in all; one for each draw."""
MIN_ANSWER_TOKENS = 32


async def run_look(
    client: LLMClient,
    spec: DecisionSpec,
    *,
    prompt: str,
    inputs: Mapping[str, Any] | None = None,
    images: Sequence[Image] = (),
    limits: Limits | None = None,
    samples: int | None = None,
    max_tokens: int = 256,
    site_facts: str = "",
    memory: Sequence[str] = (),
    seed: int = 0,
    tables: Tables | None = None,
    budget: Budget | None = None,
    needs_picture: bool = False,
    clock: Callable[[], float] = time.monotonic,
    now: Callable[[], float] = time.time,
) -> Decision:
    """Decide. `inputs` (values by name), `site_facts` and `memory` are sent as data only. `samples` fixes the number of draws; without it the limits
    say. `needs_picture`: without a picture that the model can see the answer is `unsure` (`no_evidence`), not a guess. `clock` is in seconds and
    never jumps, `now` is seconds since 1970. Cancelling it cancels the model call.
    """
    limits = limits or Limits.cpu()
    look = _Look(client, spec, limits, tuple(images), max_tokens, seed, budget, clock, now)
    material = Material(inputs or {}, site_facts, tuple(memory), len(images))
    look.ask(prompt, material, needs_picture)
    await look.draw(samples)
    conclusion = conclude(
        spec, look.rows, tables or Tables(), deterministic=look.capabilities.deterministic, read=look.readings
    )
    return look.decision(conclusion)


def replay_look(
    spec: DecisionSpec, rows: Sequence[TraceRow], tables: Tables | None = None, *, deterministic: bool = False
) -> Decision:
    """The decision of a recorded run, from its rows alone. `deterministic` as the recorded model's capabilities said."""
    conclusion = conclude(spec, rows, tables or Tables(), deterministic=deterministic)
    return replace(conclusion.decision, trace=conclusion.rows)


@dataclass(slots=True)
class _Look:
    """One run of Look: its bounds and what it used of them so far."""

    client: LLMClient
    spec: DecisionSpec
    limits: Limits
    images: tuple[Image, ...]
    max_tokens: int
    seed: int
    budget: Budget | None
    clock: Callable[[], float]
    now: Callable[[], float]
    rows: list[TraceRow] = field(default_factory=list)
    readings: dict[str, Reading] = field(default_factory=dict)
    prompt: Prompt | None = None
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    repairs: int = 0
    began: float = 0.0
    capabilities: Capabilities = field(default_factory=lambda: Capabilities(model="", digest=""))

    def ask(self, prompt: str, material: Material, needs_picture: bool) -> None:
        """Make the prompt, or leave the row that says why nothing is asked."""
        self.began = self.clock()
        try:
            self.capabilities = self.client.capabilities
        except Exception as error:  # noqa: BLE001 (a client is foreign code, and a step never raises for it)
            self._limit("model", UnsureReason.ERROR, f"The model's client failed: {type(error).__name__}.")
            return
        if fault := _cannot_answer(self.spec, self.capabilities, len(self.images), needs_picture):
            self._limit(*fault)
            return
        room = min(self.capabilities.context_tokens, self.limits.tokens) - MIN_ANSWER_TOKENS
        made = fitted(self.spec, prompt=prompt, material=material, mark=boundary(self.seed), room=room)
        if made is None:
            self._limit(
                "prompt",
                UnsureReason.OVER_BUDGET,
                "The question does not fit the model's context, even with all data cut.",
            )
            return
        if made.cut:
            self._limit("prompt", None, "Cut to fit the model's context: " + ", ".join(dict.fromkeys(made.cut)) + ".")
        self.prompt = made

    async def draw(self, samples: int | None) -> None:
        """Draw as often as planned; after the first one, as often as its time leaves room for."""
        if self.prompt is None:
            return
        planned = self._planned(samples)
        temperature = TEMPERATURE_DRAWS if planned > 1 else TEMPERATURE_ALONE
        done = 0
        while done < planned:
            started = self.clock()
            if not await self._one(done, temperature):
                return
            done += 1
            if done == 1 and samples is None:
                planned = self._affordable(planned, self.clock() - started)

    async def _one(self, draw: int, temperature: float) -> bool:
        """One draw with at most one repair. False: a bound or a dead model ended the drawing."""
        assert self.prompt is not None
        messages: tuple[Mapping[str, str], ...] = self.prompt.messages
        for attempt in (0, 1):
            row = await self._call(draw, attempt, messages, temperature)
            if row is None:
                return False
            if row.fault is None:
                return True
            if row.fault != UnsureReason.INVALID_OUTPUT:
                return False
            if attempt or self.capabilities.deterministic or self.repairs >= REPAIRS:
                return not self.capabilities.deterministic
            self.repairs += 1
            messages = (*self.prompt.messages, repair_message(self._fault_sentence(row)))
        return True

    async def _call(
        self, draw: int, attempt: int, messages: tuple[Mapping[str, str], ...], temperature: float
    ) -> TraceRow | None:
        """One model call inside every bound, as a row; None where a bound forbids it (which leaves its own row)."""
        left = self.limits.seconds - (self.clock() - self.began)
        first = self.prompt is not None and messages is self.prompt.messages
        size = self.prompt.tokens if first and self.prompt else tokens_of(messages, len(self.images))
        room = min(self.limits.tokens - self.tokens_in - self.tokens_out, self.capabilities.context_tokens) - size
        if refusal := self._refusal(left, room):
            self._limit(refusal, UnsureReason.OVER_BUDGET, f"The step's bound on {refusal} is reached.")
            return None
        asked = {
            "draw": draw,
            "attempt": attempt,
            "temperature": temperature,
            "max_tokens": min(self.max_tokens, room),
            "prompt": _digest("\x00".join(turn["content"] for turn in messages)),
            "images": [hashlib.sha256(image.data).hexdigest() for image in self.images],
        }
        seed = int(_digest(f"{self.seed} {draw} {attempt}")[:7], 16)
        self.calls += 1
        started, at = self.clock(), self.now()
        answer = await self._answer(messages, asked, seed, left)
        ms = round((self.clock() - started) * 1000)
        row = self._row(answer, asked, seed, at, ms, size)
        self.tokens_in += row.tokens_in or 0
        self.tokens_out += row.tokens_out or 0
        self.rows.append(row)
        return row

    async def _answer(
        self, messages: tuple[Mapping[str, str], ...], asked: Mapping[str, Any], seed: int, left: float
    ) -> ChatResult | tuple[UnsureReason, str]:
        """What the client gave within `left` seconds, or why there is nothing."""
        scope = asyncio.timeout(left)
        try:
            async with scope:
                answer: object = await self.client.chat(
                    messages=messages,
                    format=self.spec.schema(),
                    images=self.images,
                    temperature=asked["temperature"],
                    max_tokens=asked["max_tokens"],
                    seed=seed,
                )
        except ModelDown as error:
            return UnsureReason.LLM_DOWN, str(error) or "The model does not answer."
        except TimeoutError:
            if scope.expired():
                return UnsureReason.OVER_BUDGET, "The model did not answer within the step's seconds."
            return UnsureReason.LLM_DOWN, "The model did not answer in time."
        except Exception as error:  # noqa: BLE001 (a client is foreign code, and a step never raises for it)
            return UnsureReason.ERROR, f"The model's client failed: {type(error).__name__}."
        if isinstance(answer, ChatResult):
            return answer
        return UnsureReason.ERROR, "The model's client gave no chat result."

    def _row(
        self,
        answer: ChatResult | tuple[UnsureReason, str],
        asked: Mapping[str, Any],
        seed: int,
        at: float,
        ms: int,
        size: int,
    ) -> TraceRow:
        identity, fault, result = f"r{len(self.rows) + 1}", None, ""
        tokens_in, tokens_out, scores = size, 0, None
        if isinstance(answer, tuple):
            fault, result = answer[0].value, answer[1]
        else:
            result = answer.content if isinstance(answer.content, str) else ""
            tokens_in, tokens_out = _count(answer.tokens_in, size), _count(answer.tokens_out, len(result) // 3)
            scores = usable_scores(answer.scores)
            try:
                self.readings[identity] = self.spec.read(answer.content)
            except Malformed:
                fault = UnsureReason.INVALID_OUTPUT.value
        return TraceRow(
            id=identity,
            kind=RowKind.LLM,
            name="decide",
            status=RowStatus.OK if fault is None else RowStatus.FAILED,
            started_at=at,
            ms=ms,
            args_asked=asked,
            args_run=asked,
            result=capped(result),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            model=self.capabilities.model,
            seed=seed,
            fault=fault,
            scores=scores,
        )

    def _fault_sentence(self, row: TraceRow) -> str:
        try:
            self.spec.read(row.result)
        except Malformed as fault:
            return fault.sentence
        return "the answer was too long"

    def _refusal(self, left: float, room: int) -> str | None:
        if left <= 0:
            return "seconds"
        if self.calls >= self.limits.model_calls:
            return "model_calls"
        if room < MIN_ANSWER_TOKENS:
            return "tokens"
        if self.budget is not None and not self.budget.draw():
            return "the site's hourly budget"
        return None

    def _planned(self, samples: int | None) -> int:
        assert self.prompt is not None
        if self.capabilities.deterministic:
            return 1  # the same answer every time: agreement would say nothing
        if samples is not None:
            return max(1, samples)
        each = self.prompt.tokens + self.max_tokens
        fits = (k for k in DRAWS if k <= self.limits.model_calls and k * each <= self.limits.tokens)
        return next(fits, 1)

    def _affordable(self, planned: int, one: float) -> int:
        left = self.limits.seconds - (self.clock() - self.began)
        return next((k for k in DRAWS if k <= planned and (k - 1) * one <= left), 1)

    def _limit(self, name: str, fault: UnsureReason | None, sentence: str) -> None:
        self.rows.append(
            TraceRow(
                id=f"r{len(self.rows) + 1}",
                kind=RowKind.LIMIT,
                name=name,
                status=RowStatus.REFUSED if fault else RowStatus.OK,
                started_at=self.now(),
                ms=0,
                result=sentence,
                fault=fault.value if fault else None,
            )
        )

    def decision(self, conclusion: Conclusion) -> Decision:
        """The conclusion with what it cost."""
        usage = Usage(self.calls, 0, round(self.clock() - self.began, 3), self.tokens_in, self.tokens_out)
        model = self.capabilities
        return replace(
            conclusion.decision, trace=conclusion.rows, usage=usage, model=model.model, model_digest=model.digest
        )


def _cannot_answer(
    spec: DecisionSpec, model: Capabilities, images: int, needs_picture: bool
) -> tuple[str, UnsureReason, str] | None:
    """Why this model cannot answer this question at all, before it is asked: the bound, the reason, the sentence."""
    if needs_picture and not images:
        return "picture", UnsureReason.NO_EVIDENCE, "There is no picture to look at."
    if images and not model.images:
        return "picture", UnsureReason.NO_EVIDENCE, f"The model {model.model} takes no pictures."
    if model.vocabulary is None:
        return None
    if not spec.rules:
        return (
            "vocabulary",
            UnsureReason.INVALID_OUTPUT,
            f"{model.model} reports what it sees; `rules` must make the decision of it.",
        )
    for name, options in spec.fields.items():
        offered = model.vocabulary.get(name)
        if offered is None:
            known = ", ".join(sorted(model.vocabulary))
            return "vocabulary", UnsureReason.INVALID_OUTPUT, f"{model.model} cannot report {name}; it reports {known}."
        if not _fits(options, offered):
            return (
                "vocabulary",
                UnsureReason.INVALID_OUTPUT,
                f"{model.model} never reports some of the values that the step lists for {name}.",
            )
    return None


def _fits(options: tuple[str, ...] | FieldType, offered: tuple[str, ...] | str) -> bool:
    if isinstance(options, tuple):
        return isinstance(offered, tuple) and set(options) <= set(offered)
    return isinstance(offered, str) and offered == options.value


def _count(said: int | None, estimate: int) -> int:
    return said if isinstance(said, int) and not isinstance(said, bool) and said >= 0 else estimate


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
