"""Models for the tests of the AI step: scripted ones, and a clock that moves only when a model takes time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from siteward.core.agent import Capabilities, ChatResult, DecisionSpec, FieldType, Image, Rule

Say = str | ChatResult | BaseException | Callable[[], Any]

GATE = DecisionSpec(("car", "person", "nothing"), floor=0.75)
BY_RULES = DecisionSpec(
    ("open", "wait"),
    fields={"vehicle": ("none", "car"), "note": FieldType.TEXT},
    rules=(Rule("open", {"vehicle": ("car",)}),),
)


def said(decision: str | None = None, *, reason: str = "I saw it.", confidence: float = 0.9, **fields: object) -> str:
    """An answer as a model writes it."""
    body: dict[str, object] = {"reason": reason, **fields}
    if decision is not None:
        body["decision"] = decision
    return json.dumps({**body, "confidence": confidence})


@dataclass
class Clock:
    """Seconds that pass when somebody says so."""

    at: float = 1_000.0

    def __call__(self) -> float:
        return self.at


@dataclass
class Scripted:
    """A model that says what it was told to, in order (the last answer again and again); it keeps what it was asked."""

    answers: Sequence[Say]
    capabilities: Capabilities = field(default_factory=lambda: Capabilities("scripted", "d1", images=True, schema=True))
    clock: Clock = field(default_factory=Clock)
    takes: float = 0.0
    hangs: bool = False
    asked: list[dict[str, Any]] = field(default_factory=list)
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    async def chat(
        self,
        *,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        format: Mapping[str, Any] | None = None,
        images: Sequence[Image] = (),
        temperature: float = 0.2,
        max_tokens: int = 256,
        seed: int | None = None,
    ) -> ChatResult:
        answer = self.answers[min(len(self.asked), len(self.answers) - 1)]
        self.asked.append(
            {
                "messages": list(messages),
                "format": format,
                "images": list(images),
                "temperature": temperature,
                "seed": seed,
            }
        )
        self.reached.set()
        self.clock.at += self.takes
        if self.hangs:
            await asyncio.Event().wait()
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, ChatResult):
            return answer
        return ChatResult(answer) if isinstance(answer, str) else answer()

    def words(self) -> list[str]:
        """Every turn that was ever sent, as text."""
        return [turn["content"] for one in self.asked for turn in one["messages"]]
