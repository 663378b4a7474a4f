"""One set-up integration: its settings, and what ends with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import Any

from .objects import EventTransport, ScenePlayer

_LOG = logging.getLogger(__name__)


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

    def task(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run `work` until it ends or the integration is unloaded. Its failure is logged and harms nobody else."""
        task = asyncio.create_task(work, name=f"{self.domain}:{name}")
        task.add_done_callback(self._log_failure)
        self.exits.push_async_callback(_cancelled, task)
        return task

    def _log_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.error("%s stopped: %s", task.get_name(), error, exc_info=error)

    async def close(self) -> None:
        """End everything that was started."""
        await self.exits.aclose()


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
