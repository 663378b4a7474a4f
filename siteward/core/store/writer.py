"""The group-commit writer: every write of the engine, in one thread with one connection of its own.

While one commit reaches the disk, the writes that arrive collect; the next transaction takes them all and pays for one fsync. There is no
timer. Each `send` is a rider: all its operations are kept or none, and its outcome is its own. The order of riders is the
order of `send`, and a rider sees the rows of those before it, also inside one transaction.

Riders are written one after the other without a savepoint, since nearly all of them succeed; where one does not, everybody is written again,
each inside a savepoint, so that only the guilty one is undone. Statements that lost lately get their savepoint at once.

What it costs the loop: a future for each rider and one wake of the thread for all that one turn of the loop sends; and one wake of the loop for all
that were committed. Fewer wakes also mean fewer fights of the two threads over the interpreter's lock.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Final

from siteward.core.store.backend import Backend, NothingKept, Session
from siteward.core.store.boundaries import Boundaries, NoBoundaries
from siteward.core.store.errors import CommitFailed, LostRace, StoreClosed, WriteRefused
from siteward.core.store.statements import IN_TURN, Op

__all__ = ["Op", "Writer"]

_log = logging.getLogger(__name__)

MAX_RIDERS: Final = 512
"""Riders in one transaction: bounds how long the database is locked, and what one failed commit takes with it."""
CAREFUL_RIDERS: Final = 64
"""After a rider was undone, the next so many of the same statements get a savepoint each."""
PATIENCE_SECONDS: Final = 10.0
"""How long riders wait for a connection that was lost, before they are told that nothing was kept."""
FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 2.0

_Shape = tuple[str, ...]
_Failure = LostRace | WriteRefused | CommitFailed


class _Rider:
    """One `send`: what it writes, whom it tells, and what became of it."""

    __slots__ = ("failure", "future", "ops")

    def __init__(self, ops: tuple[Op, ...], future: asyncio.Future[None]) -> None:
        self.ops = ops
        self.future = future
        self.failure: _Failure | None = None

    def shape(self) -> _Shape:
        return tuple([op.sql for op in self.ops])


class Writer:
    """Takes writes from the loop, commits them in groups, and tells each rider its own outcome."""

    def __init__(self, backend: Backend, boundaries: Boundaries | None = None) -> None:
        self._backend = backend
        self._boundaries = boundaries or NoBoundaries()
        self._sent: list[_Rider] = []
        self._handed: SimpleQueue[list[_Rider] | None] = SimpleQueue()
        self._backlog: deque[_Rider] = deque()
        self._careful: dict[_Shape, int] = {}
        self._closing = False
        self._over = False
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._session: Session | None = None
        self._until = 0.0
        self.commits = 0
        self.riders = 0
        """How many were committed, and in how many transactions."""
        self.seconds = 0.0
        """Spent in transactions."""
        self.committed: list[Callable[[], None]] = []
        """Called on the loop after each group of writes was told its outcome; a listener does no more than set an event."""

    @property
    def waiting(self) -> int:
        """Writes that are not in a transaction yet."""
        return len(self._sent) + len(self._backlog)

    def start(self) -> None:
        """Start the thread. Must be called on the loop whose tasks send."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="siteward-writer", daemon=True)
        self._thread.start()

    def send(self, *ops: Op) -> asyncio.Future[None]:
        """Take `ops` to be committed as one. The future is done once they are on the disk; its place among the riders is the moment of this
        call, and nothing is taken back by cancelling it. Must be called on the writer's loop.

        The future raises `LostRace` (an `expect` was not met), `WriteRefused` (the database refused a statement), `CommitFailed` (the outcome
        is not known). Raises `StoreClosed` at once.
        """
        loop = self._loop
        if loop is None or self._closing:
            raise StoreClosed("The store is closed, or closing: nothing more is written.")
        if not self._sent:
            loop.call_soon(self._hand_over)
        future = loop.create_future()
        self._sent.append(_Rider(ops, future))
        return future

    async def submit(self, *ops: Op) -> None:
        """Send `ops` and wait for their outcome."""
        await self.send(*ops)

    async def close(self) -> None:
        """Write what was sent, then stop."""
        self._closing = True
        self._hurry.set()
        self._hand_over()
        self._handed.put(None)
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)
            self._thread = None

    def _hand_over(self) -> None:
        """One wake of the thread for all that this turn of the loop sent."""
        if self._sent:
            sent, self._sent = self._sent, []
            self._handed.put(sent)
            if self._over:
                self._give_up([])

    # -- the thread ----------------------------------------------------------------------------------------------------
    def _run(self) -> None:
        riders: list[_Rider] | None = []
        try:
            while (riders := self._next_riders()) is not None:
                begun = time.perf_counter()
                self._write(riders)
                self.seconds += time.perf_counter() - begun
                self._tell(riders)
        finally:
            self._over = True
            self._closing = True
            self._give_up(riders or [])
            if self._session is not None:
                self._session.close()

    def _give_up(self, riders: list[_Rider]) -> None:
        """The thread ended by an error that nobody foresaw (threading says it): whoever waits is told, and nobody waits from now on."""
        left = [*riders, *self._backlog]
        self._backlog.clear()
        try:
            while True:
                left += self._handed.get_nowait() or []
        except Empty:
            pass
        for rider in left:
            rider.failure = CommitFailed("The writer of the database broke: restart Siteward, its log says why.")
        if left:
            self._tell(left)

    def _next_riders(self) -> list[_Rider] | None:
        """What waits, up to a bound; None once nothing waits and nothing will come."""
        backlog = self._backlog
        try:
            handed = self._handed.get(block=not backlog)
            while handed is not None:
                backlog += handed
                handed = self._handed.get_nowait()
            self._handed.put(None)  # the end: after what waits
        except Empty:
            pass
        if not backlog:
            return None
        if len(backlog) <= MAX_RIDERS:
            riders = list(backlog)
            backlog.clear()
            return riders
        return [backlog.popleft() for _ in range(MAX_RIDERS)]

    def _write(self, riders: list[_Rider]) -> None:
        """One transaction for all; one with savepoints where somebody failed; one each where the transaction itself was lost to one of them."""
        self._until = time.monotonic() + PATIENCE_SECONDS
        if self._transaction(riders, careful=False) or self._transaction(riders, careful=True):
            return
        for number, rider in enumerate(riders):
            self._transaction([rider], careful=True, last=True)
            if self._session is None:
                _fail_all(riders[number + 1 :], NothingKept(str(rider.failure)))
                return

    def _transaction(self, riders: list[_Rider], *, careful: bool, last: bool = False) -> bool:
        """False where nothing was kept and it is to be tried with more care. `last`: there is no more care than this."""
        for rider in riders:
            rider.failure = None
        self._boundaries.reach("commit.begin")
        try:
            session = self._connected()
            session.begin(in_turn=any(rider.ops[0].sql is IN_TURN for rider in riders if rider.ops))
        except NothingKept as error:
            _fail_all(riders, error)
            return True
        try:
            self._execute(session, riders, careful)
        except (LostRace, WriteRefused) as error:
            session.rollback()
            if len(riders) > 1:
                return False
            riders[0].failure = error
            return True
        except NothingKept as error:
            session.rollback()
            if last:
                _fail_all(riders, error)
            return last
        self._boundaries.reach("commit.before")
        try:
            session.commit()
        except CommitFailed as error:
            _fail_all(riders, error)
            return True
        self.commits += 1
        self.riders += len(riders)
        self._boundaries.reach("commit.after")
        return True

    def _execute(self, session: Session, riders: list[_Rider], careful: bool) -> None:
        """Raises what the first failure of a rider without a savepoint is; `NothingKept`."""
        if len(riders) == 1 or not (careful or self._careful):
            session.run([op for rider in riders for op in rider.ops])
            return
        for some, alone in self._stretches(riders, careful):
            if alone:
                self._attempt(session, some[0])
            else:
                session.run([op for rider in some for op in rider.ops])

    def _stretches(self, riders: list[_Rider], careful: bool) -> Iterator[tuple[list[_Rider], bool]]:
        """The riders in their order: those that are likely to succeed in one go, the others one by one."""
        some: list[_Rider] = []
        for rider in riders:
            if careful or rider.shape() in self._careful:
                if some:
                    yield some, False
                    some = []
                yield [rider], True
            else:
                some.append(rider)
        if some:
            yield some, False

    def _attempt(self, session: Session, rider: _Rider) -> None:
        """A rider inside its own savepoint, so that only it is undone when it fails. Raises `NothingKept`."""
        session.mark()
        try:
            session.run(rider.ops)
        except (LostRace, WriteRefused) as error:
            if not session.in_transaction:
                raise NothingKept(error.sentence) from error
            rider.failure = error
            session.undo()
            if len(self._careful) > MAX_RIDERS:
                self._careful.clear()
            self._careful[rider.shape()] = CAREFUL_RIDERS
            return
        session.keep()
        if self._careful:
            self._forgive(rider.shape())

    def _forgive(self, shape: _Shape) -> None:
        left = self._careful.get(shape, 0) - 1
        if left > 0:
            self._careful[shape] = left
        else:
            self._careful.pop(shape, None)

    def _connected(self) -> Session:
        """The connection, made again where it was lost. Raises `NothingKept` when it cannot be had for too long."""
        if self._session is not None and not self._session.lost:
            return self._session
        if self._session is not None:
            self._session.close()
            self._session = None
        pause = FIRST_PAUSE
        while True:
            try:
                self._session = self._backend.session()
                return self._session
            except NothingKept:
                if time.monotonic() + pause > self._until or self._hurry.is_set():
                    raise
            self._hurry.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _tell(self, riders: list[_Rider]) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._resolve, riders)
        except RuntimeError:  # the loop is closed: there is nobody left to tell
            _log.warning("The loop ended before %d writes could be answered.", len(riders))

    def _resolve(self, riders: Sequence[_Rider]) -> None:
        """On the loop: each rider's own outcome."""
        for rider in riders:
            if rider.future.done():  # its task was cancelled meanwhile; the rows stand
                continue
            if rider.failure is None:
                rider.future.set_result(None)
            else:
                rider.future.set_exception(rider.failure)
        for listener in tuple(self.committed):
            listener()


def _fail_all(riders: Sequence[_Rider], error: NothingKept | CommitFailed) -> None:
    for rider in riders:
        rider.failure = CommitFailed(error.sentence)
