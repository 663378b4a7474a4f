"""A clock that stands still until a test moves it. Sleepers wake when their time has come, in order, and never before."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
"""A Monday morning in winter time."""


@dataclass(frozen=True, slots=True, eq=False)
class _Sleeper:
    """Who wakes at `due` of the wall clock, or at `boot` of the one that never jumps."""

    due: datetime
    boot: float
    future: asyncio.Future[None]


class SimulatedClock:
    """`advance` lets time pass; `jump` sets the wall clock without any time passing, as a first time synchronisation does."""

    def __init__(self, now: datetime = START, since_boot: float = 1000.0) -> None:
        self._now = now
        self._since_boot = since_boot
        self._sleepers: list[_Sleeper] = []

    def now(self) -> datetime:
        """The wall clock."""
        return self._now

    def since_boot(self) -> float:
        """Seconds since the machine started."""
        return self._since_boot

    @property
    def sleeping(self) -> int:
        """How many sleep now: what a test waits for before it lets time pass."""
        return len(self._sleepers)

    async def sleep_until(self, due: datetime) -> None:
        """Return once the wall clock has reached `due`, or as much time has passed as it is to `due` now."""
        if self._now >= due:
            await asyncio.sleep(0)
            return
        future = asyncio.get_running_loop().create_future()
        sleeper = _Sleeper(due, self._since_boot + (due - self._now).total_seconds(), future)
        self._sleepers.append(sleeper)
        try:
            await future
        finally:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)

    async def advance(self, seconds: float) -> None:
        """Let time pass, on both clocks."""
        self._since_boot += seconds
        await self._set(self._now + timedelta(seconds=seconds))

    async def jump(self, seconds: float) -> None:
        """Set the wall clock forward (or back, negative)."""
        await self._set(self._now + timedelta(seconds=seconds))

    async def _set(self, now: datetime) -> None:
        self._now = now
        woken = [one for one in self._sleepers if one.due <= now or one.boot <= self._since_boot]
        for sleeper in sorted(woken, key=lambda one: one.boot):
            if not sleeper.future.done():
                sleeper.future.set_result(None)
        await asyncio.sleep(0)
