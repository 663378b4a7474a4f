"""Guest code as nobody wants it: it never returns, ignores that it is cancelled, and ends only when the test ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from tests.engine.house import House


class Guest:
    """One piece of guest code with every manner that it may have. `begun` counts how often it was called."""

    def __init__(self) -> None:
        self.begun = 0
        self.called = asyncio.Event()
        self._released = asyncio.Event()
        self._inside: set[asyncio.Task[Any]] = set()

    async def patient(self, *given: object) -> Any:
        """Never returns, and ends when it is cancelled."""
        self._enter()
        await self._released.wait()

    async def rude(self, *given: object) -> Any:
        """Never returns, and does not listen when it is cancelled."""
        self._enter()
        while not self._released.is_set():
            with suppress(asyncio.CancelledError):
                await self._released.wait()

    async def cancelled(self, *given: object) -> Any:
        """Waits for a task of its own that something else ended."""
        self._enter()
        own = asyncio.ensure_future(asyncio.sleep(3600))
        own.cancel()
        await own

    async def leaves(self, *given: object) -> Any:
        """Wants to end the process."""
        self._enter()
        raise SystemExit(3)

    def _enter(self) -> None:
        self.begun += 1
        self.called.set()
        task = asyncio.current_task()
        assert task is not None
        self._inside.add(task)

    async def let_go(self) -> None:
        """The test is over."""
        self._released.set()
        await asyncio.gather(*self._inside, return_exceptions=True)


ROUNDS = 100_000


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Return once it holds; the loop goes round in between."""
    for _ in range(ROUNDS):
        if await holds():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to hold")


CALM = 5
"""Looks after which a house that sleeps is believed to."""


async def goes_by(house: House, seconds: float) -> None:
    """Time passes, and timer and sweeper do what they do by themselves, most likely up to where they sleep again (`until` waits for what must come).
    Nothing is drained: what the database refuses then is the engine's to bear."""
    await house.clock.advance(seconds)
    calm = 0
    while calm < CALM:
        await asyncio.sleep(0.002)
        calm = calm + 1 if house.clock.sleeping and not house.engine._drivers else 0
