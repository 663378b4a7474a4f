"""The one clock and the one random source of a host; everything that depends on time or chance is given them.

`now()` is the wall clock in UTC (what rows carry); `since_boot()` counts seconds and goes on while the machine sleeps, and each start of the
machine counts in a range of its own (freshness of an authority); `sleep_until` wakes at a wall-clock time, re-checking so that a jump of the clock is noticed, and never sleeps longer than it seemed at first.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final, Protocol
from zlib import crc32

RECHECK_SECONDS = 30.0
"""A sleeper looks at the wall clock at least this often, so that it neither oversleeps nor fires early after a jump."""


BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
"""Linux's own name of each start of the machine; containers see the one of their machine."""
RANGES: Final = 1 << 16
RANGE_SECONDS: Final = 1e8
"""Three years of counting, after which it runs into the next range. All of it fits a float to a thousandth of a second."""


FIRST_DAY: Final = datetime(2025, 1, 1, tzinfo=UTC)
"""Siteward is younger than that: a wall clock that is not there yet was not set since the machine has power."""


class Clock(Protocol):
    """Time as the host sees it."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        ...

    def since_boot(self) -> float:
        """Seconds on a clock that never jumps and counts sleep. Of two readings, the difference is the time between them, and is years where the
        machine was started anew in between (or is negative)."""
        ...

    async def sleep_until(self, due: datetime) -> None:
        """Return once `now()` has reached `due`, and at the latest when as much time has passed as it is to `due` now: a wall clock that is set
        back keeps nobody asleep. Who wakes looks whether it is due."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def since_boot(self) -> float:
        return _range_of_this_boot() + time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))

    async def sleep_until(self, due: datetime) -> None:
        ends = self.since_boot() + (due - self.now()).total_seconds()
        while (left := min((due - self.now()).total_seconds(), ends - self.since_boot())) > 0:  # noqa: ASYNC110 (a clock gives no event)
            await asyncio.sleep(min(left, RECHECK_SECONDS))


def is_set(now: datetime) -> bool:
    """Whether a wall clock can be right."""
    return now >= FIRST_DAY


@cache
def _range_of_this_boot() -> float:
    """Where this start of the machine begins to count; 0 where the system has no name for it."""
    try:
        name = BOOT_ID.read_text().strip()
    except OSError:
        return 0.0
    return crc32(name.encode()) % RANGES * RANGE_SECONDS
