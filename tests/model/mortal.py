"""A house whose process dies at a moment of the test's choice: nothing is written, read or sent after it, and a new one opens over what is left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Never, cast

from siteward.core.plugins.objects import ActionCall
from siteward.core.store.statements import NO_PARAMS, Op, Params
from siteward.core.store.store import Store
from tests.engine.house import House


class Death:
    """Counts writes and acts, and strikes at one of them."""

    def __init__(self) -> None:
        self.dead = False
        self._left = 0
        self.kept = False
        self.struck = asyncio.Event()

    def after(self, count: int, *, kept: bool) -> None:
        """Strike at the `count`-th write or act from now: as soon as it was kept or done, or just before."""
        self._left, self.kept = count, kept

    def spare(self) -> None:
        """Nobody dies."""
        self._left = 0

    def strikes(self) -> bool:
        """Whether this write or act is the last of this life."""
        if self._left:
            self._left -= 1
            self.dead = self._left == 0
        return self.dead


async def never() -> Never:
    """What a dead process does with the rest of its code."""
    await asyncio.Event().wait()
    raise AssertionError


class MortalStore:
    """A store, as long as its process lives."""

    def __init__(self, store: Store, death: Death) -> None:
        self._store = store
        self._death = death

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def send(self, *ops: Op) -> asyncio.Future[Any]:
        """Commit, unless this life is over: then nobody ever hears of it."""
        if not self._death.dead:
            if not self._death.strikes():
                return self._store.send(*ops)
            if self._death.kept:
                self._store.send(*ops).add_done_callback(self._kept)
            else:
                self._death.struck.set()
        return asyncio.get_running_loop().create_future()

    def _kept(self, written: asyncio.Future[Any]) -> None:
        written.exception()
        self._death.struck.set()

    async def submit(self, *ops: Op) -> Any:
        """Send and wait."""
        return await self.send(*ops)

    async def fetch(self, sql: str, params: Params = NO_PARAMS) -> list[dict[str, Any]]:
        """Read, as the living do."""
        return await never() if self._death.dead else await self._store.fetch(sql, params)

    async def read(self, query: Any, params: dict[str, Any] | None = None) -> Any:
        """Read, as the living do."""
        return await never() if self._death.dead else await self._store.read(query, params)


class MortalHouse(House):
    """A house that can die."""

    async def open_store(self) -> Store:
        self.death = Death()
        self.site.approved = frozenset({"destination:ticketing"})
        self.outside.before = {"gate.open": self._act, "webhook": self._act}
        return cast(Store, MortalStore(await super().open_store(), self.death))

    async def _act(self, call: ActionCall) -> None:
        if self.death.dead:
            await never()
        if self.death.strikes():
            if self.death.kept:
                self.outside.calls.append(call)
            self.death.struck.set()
            await never()

    async def dies_in(self, work: Awaitable[None], count: int, *, kept: bool) -> bool:
        """Do `work` in a process that dies at its `count`-th write or act; whether it came to that. A dead one is not opened again here."""
        self.death.after(count, kept=kept)
        working, dying = asyncio.ensure_future(work), asyncio.ensure_future(self.death.struck.wait())
        await asyncio.wait((working, dying), return_when=asyncio.FIRST_COMPLETED)
        if not self.death.dead:
            self.death.spare()
            dying.cancel()
            await working
            return False
        await dying
        await self._bury()
        return True

    async def _bury(self) -> None:
        """Let go of what the dead process held, and let none of its code run on."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        _, stuck = await asyncio.wait(left, timeout=10) if left else (set(), set())
        assert not stuck, f"These go on after their process ended: {stuck}"
        await self.store.close()
