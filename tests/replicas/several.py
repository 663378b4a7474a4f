"""Several engines on one PostgreSQL in one process: one world outside, one clock, and a way to let one of them die or freeze."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, LiteralString

import psycopg

from siteward.core.store.boundaries import Boundaries
from tests.engine.house import House

PATIENCE_SECONDS = 60.0


class Several:
    """The processes of one site. Each is a house of its own; what is outside is one world."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.houses: list[House] = []

    async def engine(self, name: str, boundaries: Boundaries | None = None) -> House:
        return await self._open(House(self.folder, url=self.url, replica=name, boundaries=boundaries))

    async def web(self) -> House:
        return await self._open(House(self.folder, url=self.url, replica="web", drives=False))

    async def _open(self, house: House) -> House:
        if self.houses:
            first = self.houses[0]
            house.clock, house.outside, house.looks, house.site = first.clock, first.outside, first.looks, first.site
            house.skills, house._numbers, house._seeds = first.skills, first._numbers, first._seeds
        await house.open()
        self.houses.append(house)
        return house

    async def close(self) -> None:
        for house in self.houses:
            await house.close()

    async def freeze(self, house: House) -> None:
        """It does not beat, look or hear any more, and was silent for long; what it was just doing it goes on doing."""
        await house.engine._tasks.stop(0)
        self.sql(f"UPDATE engines SET beat_at = beat_at - 60 WHERE name = '{house.replica}'")

    async def kill(self, house: House) -> None:
        """It is gone, and was silent for long."""
        house.engine._stopping = True
        for task in list(house.engine._drivers._tasks.values()):
            task.cancel()
        await house.engine._drivers.idle()
        await self.freeze(house)

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """A statement of somebody who looks from outside."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            text: LiteralString = statement  # a test's own words
            cursor = connection.execute(text)
            return cursor.fetchall() if cursor.description else []


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something is so that another process, or a thread of this one, brings about."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await true():  # noqa: ASYNC110 (what it waits for has no event)
            await asyncio.sleep(0.02)
