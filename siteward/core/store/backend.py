"""What the store asks of a database. There are two, SQLite and PostgreSQL; everything above this seam is the same for both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from sqlalchemy import Engine

from siteward.core.errors import SitewardError
from siteward.core.store.statements import Op, Params


class NothingKept(SitewardError):
    """The transaction is over and nothing of it was kept, for a reason that is no rider's own: no room, a lock, a deadlock, no connection."""

    code = "store.nothing_kept"


class Session(Protocol):
    """The writer's connection: one transaction after the other. Used by one thread."""

    @property
    def in_transaction(self) -> bool:
        """False where the database gave up the transaction by itself."""
        ...

    @property
    def lost(self) -> bool:
        """True where this connection is of no more use."""
        ...

    def begin(self, *, in_turn: bool = False) -> None:
        """Begin a transaction that may write, `in_turn` with other processes (see `statements.IN_TURN`). Raises `NothingKept`."""
        ...

    def run(self, ops: Sequence[Op]) -> None:
        """Execute in this order. Raises `LostRace`, `WriteRefused` at the first that is not as expected (others after it may have been
        executed: undo), and `NothingKept`."""
        ...

    def mark(self) -> None:
        """Begin a part of the transaction that can be undone alone."""
        ...

    def keep(self) -> None:
        """The marked part stays."""
        ...

    def undo(self) -> None:
        """The marked part never was."""
        ...

    def commit(self) -> None:
        """Raises `CommitFailed`: what was written may be kept or not."""
        ...

    def rollback(self) -> None:
        """Nothing of the transaction is kept. Never raises."""
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


class Reader(Protocol):
    """One reader thread's own connection. It cannot write."""

    def fetch(self, sql: str, params: Params) -> list[dict[str, Any]]:
        """All rows of a statement. Raises `ReadFailed`."""
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


class Listener(Protocol):
    """A thread's ear for what other processes poke."""

    def close(self) -> None:
        """Stop listening."""
        ...


class Backend(Protocol):
    """One database."""

    @property
    def name(self) -> str:
        """The database as a person may read it: without a password."""
        ...

    def migrate(self) -> None:
        """Bring it to the newest migration. Raises `DatabaseNewer`, `DatabaseUnusable`."""
        ...

    def require_newest(self) -> None:
        """Write nothing. Raises `DatabaseNewer`, `DatabaseOlder`, `DatabaseUnusable`."""
        ...

    def session(self) -> Session:
        """Connect for writing. Raises `NothingKept`."""
        ...

    def reader(self) -> Reader:
        """Connect for reading. Raises `ReadFailed`."""
        ...

    def engine(self, readers: int) -> Engine:
        """SQLAlchemy's engine for reading, with at most so many connections."""
        ...

    def poke(self, channel: str) -> Op | None:
        """The statement that pokes who listens in other processes; None where there are no others."""
        ...

    def give_back(self) -> Op | None:
        """Gives one free page of the file back to the disk; None where the database does so by itself."""
        ...

    def listen(self, channels: Sequence[str], poked: Callable[[str], None]) -> Listener | None:
        """Call `poked` from a thread whenever a channel is poked, and after each time that it could have been missed."""
        ...
