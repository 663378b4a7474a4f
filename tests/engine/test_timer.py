"""The engine's alarm clock: it fires what is due, is woken for what is sooner, and a stop always ends it."""

from __future__ import annotations

import asyncio
from datetime import datetime

from siteward.core.engine.timer import Timer
from siteward.sdk.simulated_clock import START, SimulatedClock


async def test_a_stop_in_the_moment_of_a_wake_ends_it() -> None:
    """It was woken and lets go of its sleep: the stop that comes then is its own."""
    clock = SimulatedClock()

    async def due() -> datetime:
        return START.replace(hour=23)

    async def fire() -> bool:
        raise AssertionError("nothing is due")

    for rounds in range(12):
        timer = Timer(clock, due, fire)
        task = asyncio.create_task(timer.run())
        await asyncio.sleep(0.001)
        timer.look()
        for _ in range(rounds):
            await asyncio.sleep(0)
        task.cancel()
        _, left = await asyncio.wait([task], timeout=1)
        assert not left
