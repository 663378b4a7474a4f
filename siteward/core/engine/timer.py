"""The engine's alarm clock: it sleeps until the next due time, and whoever adds an earlier one wakes it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

from siteward.core.clock import Clock
from siteward.core.store.errors import ReadFailed

_log = logging.getLogger(__name__)

AGAIN_SECONDS: Final = 5.0
"""How long the timer leaves a database alone that gave no answer."""

NextDue = Callable[[], Awaitable[datetime | None]]
"""When something is due next, by the rows."""
Fire = Callable[[], Awaitable[bool]]
"""Fires what is due; False where it could not finish and is to be tried again later."""


class Timer:
    """Fires what is due. `run` never returns; it is a task of the engine's."""

    def __init__(self, clock: Clock, next_due: NextDue, fire: Fire) -> None:
        self._clock = clock
        self._next_due = next_due
        self._fire = fire
        self._target: datetime | None = None
        self._poked = asyncio.Event()

    def sooner(self, due: datetime) -> None:
        """Something new is due then."""
        if self._target is None or due < self._target:
            self._poked.set()

    def look(self) -> None:
        """What is due may have changed in any way: read it again."""
        self._poked.set()

    async def run(self) -> None:
        """Sleep, fire, and look again, for ever."""
        while True:
            self._poked.clear()
            self._target = None
            try:
                self._target = await self._next_due()
            except ReadFailed:
                _log.warning("The timer cannot see what is due and looks again.", exc_info=True)
                self._target = self._clock.now() + timedelta(seconds=AGAIN_SECONDS)
            if await self._woken_before():
                continue
            if not await self._fire():
                await self._clock.sleep_until(self._clock.now() + timedelta(seconds=AGAIN_SECONDS))

    async def _woken_before(self) -> bool:
        """Sleep until the target. Whether there is another reason to look, and nothing to fire."""
        if self._target is None:
            await self._poked.wait()
            return True
        sleeping = asyncio.ensure_future(self._clock.sleep_until(self._target))
        poked = asyncio.ensure_future(self._poked.wait())
        try:
            await asyncio.wait((sleeping, poked), return_when=asyncio.FIRST_COMPLETED)
            return not sleeping.done()
        finally:
            # Not by awaiting them: a stop that comes in this moment must end this task and not be taken for theirs.
            sleeping.cancel()
            poked.cancel()
            await asyncio.wait((sleeping, poked))
