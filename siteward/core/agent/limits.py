"""The bounds of one step, what it used of them, and the site's hourly share of AI calls."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one step. `seconds` is wall time while the step works (waiting for a person does not count); `tokens` counts prompts
    and answers over all calls. Raises `ValueError` where a bound is not positive."""

    tool_calls: int
    seconds: float
    model_calls: int = 8
    tokens: int = 16_000

    def __post_init__(self) -> None:
        if self.tool_calls < 0 or self.seconds <= 0 or self.model_calls < 1 or self.tokens < 1:
            raise ValueError("The bounds of a step are positive.")

    @classmethod
    def gpu(cls) -> Limits:
        """Where a model runs on an accelerator."""
        return cls(tool_calls=6, seconds=45.0, model_calls=12, tokens=32_000)

    @classmethod
    def cpu(cls) -> Limits:
        """Where a model runs on the processor: fewer calls, more patience."""
        return cls(tool_calls=4, seconds=120.0, model_calls=8, tokens=16_000)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a step used. A call that timed out counts; where a runtime does not count tokens, they are estimated."""

    model_calls: int = 0
    tool_calls: int = 0
    seconds: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(slots=True)
class Budget:
    """The site's model calls of the last hour, shared by its steps. The host owns it; a step draws from it."""

    per_hour: int
    clock: Callable[[], float] = time.monotonic
    _drawn: deque[float] = field(default_factory=deque)

    def draw(self) -> bool:
        """Take one call. False: the hour's share is used up, and nothing was taken."""
        now = self.clock()
        while self._drawn and now - self._drawn[0] >= 3600:
            self._drawn.popleft()
        if len(self._drawn) >= self.per_hour:
            return False
        self._drawn.append(now)
        return True

    @property
    def left(self) -> int:
        """Calls left at this instant."""
        now = self.clock()
        return self.per_hour - sum(1 for at in self._drawn if now - at < 3600)
