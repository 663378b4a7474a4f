"""The model client protocol: what Look and Investigate ask of a model, and what a model says it can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Image:
    """A picture for a model: encoded bytes and their content type (`image/jpeg`, `image/png`)."""

    data: bytes
    content_type: str = "image/jpeg"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as the model asked for it."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChatResult:
    """What came back. `score` is set by deterministic perception only: how sure it is of what it reports, 0 to 1 per field
    and overall under the key `""`. Token counts are None where the runtime does not tell."""

    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    scores: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model can do and which one it is. `digest` names the weights (a changed one starts its score anew); `vocabulary` is
    the closed set of fields (with their options) that perception fills, None for a model that takes any; `context_tokens`
    bounds the prompt."""

    model: str
    digest: str
    images: bool = False
    tools: bool = False
    schema: bool = False
    deterministic: bool = False
    vocabulary: Mapping[str, tuple[str, ...] | str] | None = None
    context_tokens: int = 4096


class LLMClient(Protocol):
    """A model, local. Raises `ModelDown` where it does not answer; everything else is the caller's to bound."""

    @property
    def capabilities(self) -> Capabilities: ...

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
        """One turn. `messages` are `{"role", "content"}`; `format` is a JSON schema that constrains the answer."""
        ...


class ModelDown(Exception):
    """The model did not answer: transport, crash or refusal, in one sentence."""
