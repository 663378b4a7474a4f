"""The group-commit writer: every write of the engine, in one thread with one connection of its own.

While one commit reaches the disk, the writes that arrive collect; the next transaction takes them all and pays for one fsync. There is no
timer. Each `submit` is a rider: all its operations are kept or none, and its outcome is its own. The order of riders is the
order of `submit`, and a rider sees the rows of those before it, also inside one transaction.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from siteward.core.store.boundaries import Boundaries, NoBoundaries
from siteward.core.store.errors import CommitFailed, LostRace, StoreClosed, WriteRefused

_log = logging.getLogger(__name__)

Params = Mapping[str, Any]
NO_PARAMS: Final[Params] = {}
BUSY_MILLISECONDS = 10_000
MAX_RIDERS = 512
"""Riders in one transaction: bounds how long the database is locked, and what one failed commit takes with it."""

UNWRITABLE = (ValueError, TypeError, OverflowError)
"""What sqlite3 raises, before any statement runs, for a value that no column holds: half a surrogate pair, a number over 64 bits."""


class Op(NamedTuple):
    """One statement with named parameters (`:name`). `expect` is the number of rows that it must touch, else the rider lost its race."""

    sql: str
    params: Params = NO_PARAMS
    expect: int | None = None


Counts = tuple[int, ...]
_Failure = LostRace | WriteRefused | CommitFailed


@dataclass(slots=True)
class _Rider:
    ops: Sequence[Op]
    future: asyncio.Future[Counts]
    counts: Counts = ()
    failure: _Failure | None = None


class Writer:
    """Takes writes from the loop, commits them in groups, and tells each rider its own outcome."""

    def __init__(self, path: str, boundaries: Boundaries | None = None) -> None:
        self._path = path
        self._boundaries = boundaries or NoBoundaries()
        self._waiting: deque[_Rider] = deque()
        self._wake = threading.Condition()
        self._closing = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.commits = 0
        self.committed: list[Callable[[], None]] = []
        """Called on the loop after each group of writes was told its outcome; a listener does no more than set an event."""

    def start(self) -> None:
        """Start the thread. Must be called on the loop whose tasks submit."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="siteward-writer", daemon=True)
        self._thread.start()

    def send(self, *ops: Op) -> asyncio.Future[Counts]:
        """Take `ops` to be committed as one. The future gives the rows each touched, once they are on the disk; its place among the riders is
        the moment of this call, and nothing is taken back by cancelling it.

        The future raises `LostRace` (an `expect` was not met), `WriteRefused` (the database refused a statement), `CommitFailed` (the outcome
        is not known). Raises `StoreClosed` at once.
        """
        if self._loop is None:
            raise StoreClosed("The store's writer was not started.")
        future: asyncio.Future[Counts] = self._loop.create_future()
        with self._wake:
            if self._closing:
                raise StoreClosed("The store is closing: nothing more is written.")
            self._waiting.append(_Rider(ops, future))
            self._wake.notify()
        return future

    async def submit(self, *ops: Op) -> Counts:
        """Send `ops` and wait for their outcome."""
        return await self.send(*ops)

    async def close(self) -> None:
        """Write what was submitted, then stop."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)
            self._thread = None

    # -- the thread ----------------------------------------------------------------------------------------------------
    def _run(self) -> None:
        connection = connect(self._path)
        riders: list[_Rider] | None = []
        try:
            while (riders := self._next_riders()) is not None:
                self._write(connection, riders)
                self._tell(riders)
        finally:
            if riders is not None:
                self._give_up(riders)
            connection.close()

    def _give_up(self, riders: list[_Rider]) -> None:
        """The thread ends by an error that nobody foresaw (threading says it): whoever waits is told, and nobody waits from now on."""
        with self._wake:
            self._closing = True
            left = [*riders, *self._waiting]
            self._waiting.clear()
        for rider in left:
            rider.failure = CommitFailed("The writer of the database broke: restart Siteward, its log says why.")
        self._tell(left)

    def _next_riders(self) -> list[_Rider] | None:
        with self._wake:
            while not self._waiting:
                if self._closing:
                    return None
                self._wake.wait()
            count = min(len(self._waiting), MAX_RIDERS)
            return [self._waiting.popleft() for _ in range(count)]

    def _write(self, connection: sqlite3.Connection, riders: list[_Rider]) -> None:
        """One transaction for all; one each when the transaction itself was lost to one of them."""
        if not self._transaction(connection, riders) and len(riders) > 1:
            for rider in riders:
                rider.failure = None
                self._transaction(connection, [rider])

    def _transaction(self, connection: sqlite3.Connection, riders: list[_Rider]) -> bool:
        """False where the database gave up the whole transaction before its commit: then nothing is kept and it can be replayed."""
        self._boundaries.reach("commit.begin")
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            _fail_all(riders, error)
            return True
        for rider in riders:
            self._execute(connection, rider)
            if not connection.in_transaction:
                return False
        self._boundaries.reach("commit.before")
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            _fail_all(riders, error)
            return True
        self.commits += 1
        self._boundaries.reach("commit.after")
        return True

    def _execute(self, connection: sqlite3.Connection, rider: _Rider) -> None:
        """A rider inside its own savepoint, so that only it is undone when it fails."""
        try:
            connection.execute("SAVEPOINT rider")
            rider.counts = _counts(connection, rider.ops)
            connection.execute("RELEASE rider")
            return
        except LostRace as lost:
            rider.failure = lost
        except (sqlite3.Error, *UNWRITABLE) as error:
            rider.failure = WriteRefused(f"The database refused a write: {error}.")
        if connection.in_transaction:
            connection.execute("ROLLBACK TO rider")
            connection.execute("RELEASE rider")

    def _tell(self, riders: list[_Rider]) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(_resolve, riders)
            for listener in tuple(self.committed):
                self._loop.call_soon_threadsafe(listener)
        except RuntimeError:  # the loop is closed: there is nobody left to tell
            _log.warning("The loop ended before %d writes could be answered.", len(riders))


def connect(path: str) -> sqlite3.Connection:
    """A connection as the engine needs it: durable at each commit, foreign keys on, patient with other writers."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_MILLISECONDS / 1000, cached_statements=256)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
    return connection


def _counts(connection: sqlite3.Connection, ops: Sequence[Op]) -> Counts:
    counts = []
    for op in ops:
        count = connection.execute(op.sql, dict(op.params)).rowcount
        if op.expect is not None and count != op.expect:
            raise LostRace(f"A row changed meanwhile ({count} rows instead of {op.expect}): {op.sql[:80]}")
        counts.append(count)
    return tuple(counts)


def _fail_all(riders: Sequence[_Rider], error: sqlite3.Error) -> None:
    for rider in riders:
        rider.failure = CommitFailed(
            f"The database could not be written: {error}. Free disk space, or stop what holds it."
        )


def _resolve(riders: Sequence[_Rider]) -> None:
    for rider in riders:
        if rider.future.done():  # its task was cancelled meanwhile; the rows stand
            continue
        if rider.failure is not None:
            rider.future.set_exception(rider.failure)
        else:
            rider.future.set_result(rider.counts)
