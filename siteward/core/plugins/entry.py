"""One set-up integration: its settings, and what ends with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import Any, Final

from .guard import Worked, to_value
from .objects import EventTransport, ScenePlayer

_LOG = logging.getLogger(__name__)


FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 300.0
STEADY_SECONDS: Final = 60.0
"""What has run for so long is believed to run."""


class Entry:
    """An integration as configured on this site. `settings` passed its schema; `player` is what it can replay, where it has scenes;
    `transport` is the broker that brings it events, where it has one.

    What is started through `task` and what enters `exits` ends when the integration is unloaded, last in, first out; an integration
    keeps nothing in its module.
    """

    def __init__(self, domain: str, settings: Mapping[str, Any]) -> None:
        self.domain = domain
        self.settings = settings
        self.exits = AsyncExitStack()
        self.player: ScenePlayer | None = None
        self.transport: EventTransport | None = None
        self._broken: dict[str, str] = {}

    def task(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run `work` until it ends or the integration is unloaded. Its failure is logged, stays in `problems` and harms nobody else; what is to
        run for ever is rather given to `keep`."""
        task = asyncio.create_task(work, name=f"{self.domain}:{name}")
        task.add_done_callback(self._log_failure)
        self.exits.push_async_callback(_cancelled, task)
        return task

    def keep(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> asyncio.Task[None]:
        """Run `work()` until it ends by itself or the integration is unloaded. Where it ends with an error it is called again, after a pause that
        grows; until it runs again for a while, `problems` says so."""
        return self.task(self._kept(work, name), name)

    async def _kept(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        pause, clock = FIRST_PAUSE, asyncio.get_running_loop()
        while True:
            steady = clock.call_later(STEADY_SECONDS, self._broken.pop, name, None)
            began = clock.time()
            try:
                came = await to_value(work)
            finally:
                steady.cancel()
            if isinstance(came, Worked):
                return
            _LOG.error("%s:%s stopped and starts again: %s", self.domain, name, came.last_line, exc_info=came.error)
            self._broken[name] = f"{name} stopped: {came.last_line}. It is started again."
            if clock.time() - began > STEADY_SECONDS:
                pause = FIRST_PAUSE
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    @property
    def problems(self) -> tuple[str, ...]:
        """What broke of it and does not run well again yet, in words."""
        return tuple(self._broken.values())

    def _log_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.error("%s stopped: %s", task.get_name(), error, exc_info=error)
            name = task.get_name().partition(":")[2]
            self._broken[name] = (
                f"{name} stopped: {error}. Restart Siteward, and report it to who made the integration."
            )

    async def close(self) -> None:
        """End everything that was started."""
        await self.exits.aclose()


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
