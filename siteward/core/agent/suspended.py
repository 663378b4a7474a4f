"""What Investigate returns when a person must answer first, and the signature by which it goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .client import LLMClient, ToolCall
from .decision import Decision, DecisionSpec
from .tools import Tool, ToolResult


@dataclass(frozen=True, slots=True)
class Suspended:
    """A step that waits for a person. `state` is plain JSON with `v` (its version), `digest` (of spec, tools and prompt version) and `token`
    (used once); the host keeps it beside the approval and hands it back with the answer."""

    pending: ToolCall
    state: Mapping[str, Any]


class Resume(Protocol):
    """How a suspended step goes on. Resuming twice, or with another spec or other tools, is refused and changes nothing."""

    async def __call__(
        self,
        client: LLMClient,
        spec: DecisionSpec,
        suspended: Suspended,
        answer: ToolResult,
        *,
        tools: Sequence[Tool],
    ) -> Decision | Suspended: ...
