"""Any order of what may happen at the same time, chosen by a seed: an event loop that picks its next task by chance, and a house whose database
answers on that loop, so that the same seed gives the same order again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from contextvars import Context
from random import Random
from typing import Any, TypeVar

from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from siteward.core.errors import SitewardError
from siteward.core.store.errors import LostRace, StoreClosed, WriteRefused
from siteward.core.store.sqlite import SqliteSession
from siteward.core.store.statements import NO_PARAMS, Op, question_marks
from siteward.core.store.store import Store
from tests.engine.house import House, migrated

from .mortal import MortalHouse

T = TypeVar("T")


class ShuffledLoop(asyncio.SelectorEventLoop):
    """Runs ready tasks in an order of its own. What is no task keeps its order, as asyncio promises it; work for threads is done on the spot."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random
        self._pool: list[asyncio.Handle] = []

    def call_soon(  # type: ignore[override]  # (the types of its variable arguments say nothing here)
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        if not isinstance(getattr(callback, "__self__", None), asyncio.Task | InlineStore):
            return super().call_soon(callback, *args, context=context)
        handle = asyncio.Handle(callback, args, self, context)
        self._pool.append(handle)
        super().call_soon(self._any)
        return handle

    def _any(self) -> None:
        handle = self._pool.pop(self._random.randrange(len(self._pool)))
        if not handle.cancelled():
            handle._run()

    def run_in_executor(self, executor: Any, work: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(work(*args))
        except Exception as error:  # noqa: BLE001 (told to who waits, as a thread would)
            future.set_exception(error)
        return future


class InlineStore(Store):
    """The engine's store over a database in memory. Commits take what waits, or the first of it; who reads sees what was committed by then."""

    def __init__(self, connection: sqlite3.Connection, random: Random) -> None:
        self._connection = connection
        self._session = SqliteSession(connection)
        self._engine = create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
        self._random = random
        self._riders: list[tuple[tuple[Op, ...], asyncio.Future[None]]] = []
        self._closed = False

    def send(self, *ops: Op) -> asyncio.Future[None]:
        if self._closed:
            raise StoreClosed("The store is closed.")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._riders.append((ops, future))
        loop.call_soon(self._commit)
        return future

    def _commit(self) -> None:
        group = self._random.randint(1, len(self._riders)) if self._riders else 0
        riders, self._riders = self._riders[:group], self._riders[group:]
        outcomes: list[tuple[asyncio.Future[None], SitewardError | None]] = []
        self._session.begin()
        for ops, future in riders:
            self._session.mark()
            try:
                self._session.run(ops)
                self._session.keep()
                outcomes.append((future, None))
            except (LostRace, WriteRefused) as error:
                self._session.undo()
                outcomes.append((future, error))
        self._session.commit()
        for future, failure in outcomes:
            if future.done():
                continue
            if failure is None:
                future.set_result(None)
            else:
                future.set_exception(failure)

    async def submit(self, *ops: Op) -> None:
        await self.send(*ops)

    async def fetch(self, sql: str, params: Mapping[str, Any] = NO_PARAMS) -> list[dict[str, Any]]:
        return await self._in_its_turn(lambda: self._fetch(sql, params))

    def _fetch(self, sql: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        statement = question_marks(sql)
        cursor = self._connection.execute(statement.text, statement.values(params))
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    async def read(self, query: Any, params: dict[str, Any] | None = None) -> Any:
        return await self._in_its_turn(lambda: self._read(query, params))

    def _read(self, query: Any, params: dict[str, Any] | None) -> list[dict[str, Any]]:
        with self._engine.connect() as connection:
            return [dict(row) for row in connection.execute(query, params or {}).mappings()]

    async def _in_its_turn(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        loop.call_soon(self._serve, work, future)
        return await future

    def _serve(self, work: Callable[[], T], future: asyncio.Future[T]) -> None:
        if not future.done():
            future.set_result(work())

    async def close(self) -> None:
        while self._riders:
            self._commit()
        self._closed = True


class InlineHouse(House):
    """A house on a shuffled loop. Its database outlives a restart, in memory."""

    random: Random
    connection: sqlite3.Connection | None = None

    async def open_store(self) -> Store:
        if self.connection is None:
            self.connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            self.connection.deserialize(_not_wal(migrated()))
            self.connection.execute("PRAGMA foreign_keys=ON")
        self.site.approved = frozenset({"destination:ticketing"})
        return InlineStore(self.connection, self.random)


class MortalInlineHouse(MortalHouse, InlineHouse):
    """The same, and it can die."""


def _not_wal(file: bytes) -> bytes:
    """A database in memory has no log beside it: the header says so (bytes 18 and 19, https://www.sqlite.org/fileformat.html)."""
    return file[:18] + b"\x01\x01" + file[20:]
