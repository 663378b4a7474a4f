"""What the processes of a site tell each other: that there is something to look at, and never what. Who missed a poke finds it by looking now
and then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from siteward.core.store.store import Store

EVENTS: Final = "siteward_events"
"""An event was accepted by a process that matches none."""
RUNS: Final = "siteward_runs"
"""A run was woken, or given back."""
WORKFLOWS: Final = "siteward_workflows"
"""A workflow was saved or switched."""

Look = Callable[[], Awaitable[object]]


class Pokes:
    """Looks where it was poked, one look after the other in the order of `looks`; pokes that come meanwhile make one more."""

    def __init__(self, store: Store, looks: Mapping[str, Look]) -> None:
        self._store = store
        self._looks = looks
        self._told: set[str] = set()
        self._poked = asyncio.Event()
        self._end: Callable[[], None] | None = None

    def begin(self) -> None:
        """Hear from now on."""
        self._end = self._store.listen(tuple(self._looks), self._heard)

    async def end(self) -> None:
        """Hear no more."""
        end, self._end = self._end, None
        if end is not None:
            await asyncio.to_thread(end)

    async def run(self) -> None:
        """Look, for ever. What a look raises ends it: looks guard themselves."""
        while True:
            await self._poked.wait()
            self._poked.clear()
            told, self._told = self._told, set()
            for channel, look in self._looks.items():
                if channel in told:
                    await look()

    def _heard(self, channel: str) -> None:
        self._told.add(channel)
        self._poked.set()
