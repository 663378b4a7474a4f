"""The engine's tasks: each has an owner, none is forgotten, and an unexpected end of one is said."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Set
from typing import Any, Final

_log = logging.getLogger(__name__)


CANCEL_SECONDS: Final = 5.0
"""How long a cancelled task may take to end."""


class Crew:
    """Tasks by key; a key has one task at a time."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    def __contains__(self, key: str) -> bool:
        """Whether this key has a task that is not over."""
        task = self._tasks.get(key)
        return task is not None and not task.done()

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def start(self, key: str, work: Coroutine[Any, Any, Any]) -> None:
        """Start a task; the one with this key, if any, must have ended."""
        task = asyncio.create_task(work, name=f"siteward-{key}")
        self._tasks[key] = task
        task.add_done_callback(lambda ended: self._ended(key, ended))

    def _ended(self, key: str, task: asyncio.Task[Any]) -> None:
        if self._tasks.get(key) is task:
            del self._tasks[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("The task %s ended with an error.", key, exc_info=error)

    async def ended(self, key: str) -> None:
        """Return when this key has no task."""
        while (task := self._tasks.get(key)) is not None:
            await asyncio.wait((task,))
            await asyncio.sleep(0)

    async def idle(self) -> None:
        """Return when no task is left."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))
            await asyncio.sleep(0)

    async def stop(self, grace: float, *, but: Set[str] = frozenset()) -> None:
        """Let the tasks (`but` some) end by themselves for `grace` seconds, then cancel them; who does not listen is left behind."""
        tasks = [task for key, task in self._tasks.items() if key not in but]
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=grace)
        for task in late:
            task.cancel()
        if late:
            _, left = await asyncio.wait(late, timeout=CANCEL_SECONDS)
            for task in left:
                _log.error("The task %s did not end and is left behind.", task.get_name())
