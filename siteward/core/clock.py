"""The one clock and the one random source of a host; everything that depends on time or chance is given them.

`now()` is the wall clock in UTC (what rows carry); `since_boot()` counts seconds and goes on while the machine sleeps
(freshness of an authority); `sleep_until` wakes at a wall-clock time, re-checking so that a jump of the clock is noticed.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol

RECHECK_SECONDS = 30.0
"""A sleeper looks at the wall clock at least this often, so that it neither oversleeps nor fires early after a jump."""


class Clock(Protocol):
    """Time as the host sees it."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        ...

    def since_boot(self) -> float:
        """Seconds on a clock that never jumps and counts sleep."""
        ...

    async def sleep_until(self, due: datetime) -> None:
        """Return once `now()` has reached `due`."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def since_boot(self) -> float:
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))

    async def sleep_until(self, due: datetime) -> None:
        while (left := (due - self.now()).total_seconds()) > 0:  # noqa: ASYNC110 (a wall clock gives no event)
            await asyncio.sleep(min(left, RECHECK_SECONDS))
