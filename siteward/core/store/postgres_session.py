"""The writer's connection to PostgreSQL: libpq's pipeline mode, so that a group of statements costs one round trip and little processor time."""

from __future__ import annotations

import select
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import psycopg
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult

from siteward.core.store.backend import NothingKept
from siteward.core.store.errors import CommitFailed, LostRace, WriteRefused
from siteward.core.store.statements import IN_TURN, STATEMENTS, Op, numbered_marks

ANSWER_SECONDS: Final = 60
"""A server that says nothing for so long, in the middle of an exchange, is taken for lost."""
_OIDS: Final[dict[type, int]] = {int: 20, float: 701, bool: 16, bytes: 17}
"""What PostgreSQL is told of a parameter (int8, float8, bool, bytea). Texts and NULL take the type of the place where they stand."""
_NOT_THE_STATEMENT: Final = ("08", "25", "40", "53", "55", "57", "58", "XX")
"""Classes of errors that say nothing of the statement: connection, transaction, deadlock, no room, locked, stopped, broken."""
_FINE: Final = (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)

_LOST: Final = ("08", "57P")
_BYTES: Final = 17

_Key = tuple[str, tuple[int, ...]]
_Call = tuple[bytes, list[bytes | None], list[Format] | None, _Key | None]


class PostgresSession:
    """One transaction after the other. Its beginning, and savepoints and their ends, travel with the statements after them."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._pg = connection.pgconn
        self._pg.nonblocking = 1
        self._poll = select.poll()
        self._prepared: dict[_Key, bytes] = {}
        self._named = 0
        self._first: list[bytes] = []
        self._lost = False

    @property
    def in_transaction(self) -> bool:
        return not self._lost

    @property
    def lost(self) -> bool:
        return self._lost

    def begin(self, *, in_turn: bool = False) -> None:
        self._first = [b"BEGIN", IN_TURN.encode()] if in_turn else [b"BEGIN"]
        if len(self._prepared) > STATEMENTS:
            self._prepared.clear()
            self._first.insert(0, b"DEALLOCATE ALL")

    def mark(self) -> None:
        self._first.append(b"SAVEPOINT rider")

    def keep(self) -> None:
        self._first.append(b"RELEASE SAVEPOINT rider")

    def undo(self) -> None:
        self._first += (b"ROLLBACK TO SAVEPOINT rider", b"RELEASE SAVEPOINT rider")

    def run(self, ops: Sequence[Op]) -> None:
        new: dict[_Key, bytes] = {}
        try:
            calls = [self._call(op, new) for op in ops]
        except (ValueError, TypeError, OverflowError, KeyError) as error:
            raise WriteRefused(f"The database refused a write: {error}.") from error
        for op, result in zip(ops, self._answers(calls), strict=True):
            self._check(result)
            count = result.command_tuples or 0
            if op.expect is not None and count != op.expect:
                raise LostRace(f"A row changed meanwhile ({count} rows instead of {op.expect}): {op.sql[:80]}")

    def commit(self) -> None:
        self._first.append(b"COMMIT")
        try:
            (*before, result) = self._exchange(())
            for one in (*before, result):
                self._check(one)
        except (NothingKept, WriteRefused) as error:
            self.rollback()
            raise CommitFailed(f"{error.sentence} What was being written may be kept or not.") from error
        if result.command_status != b"COMMIT":
            raise CommitFailed(not_written("the transaction was undone instead of kept"))

    def rollback(self) -> None:
        self._first = []
        if self._lost or self._pg.transaction_status == TransactionStatus.IDLE:
            return
        self._first = [b"ROLLBACK"]
        with suppress(NothingKept):
            self._exchange(())

    def close(self) -> None:
        self._lost = True
        self._connection.close()

    # -- the line ------------------------------------------------------------------------------------------------------
    def _call(self, op: Op, new: dict[_Key, bytes]) -> _Call:
        """A statement with its encoded values; it is prepared just before its first use."""
        statement = numbered_marks(op.sql)
        values = statement.values(op.params)
        oids = tuple([_OIDS.get(type(value), 0) for value in values])
        key, prepares = (statement.text, oids), None
        name = self._prepared.get(key) or new.get(key)
        if name is None:
            self._named += 1
            name = new[key] = b"s%d" % self._named
            prepares = key
        formats = [Format.BINARY if oid == _BYTES else Format.TEXT for oid in oids] if _BYTES in oids else None
        return name, [_encoded(value) for value in values], formats, prepares

    def _answers(self, calls: Sequence[_Call]) -> list[PGresult]:
        """One result for each call: where a statement could not be prepared, that failure. Raises `NothingKept`, `WriteRefused` where not even
        the transaction or the savepoint before the calls could be had."""
        first = len(self._first)
        results = self._exchange(calls)
        for result in results[:first]:
            self._check(result)
        at, answers = first, []
        for name, _, _, prepares in calls:
            if prepares is not None:
                at += 1
                if results[at - 1].status in _FINE:
                    self._prepared[prepares] = name
                else:
                    answers.append(results[at - 1])
                    at += 1
                    continue
            answers.append(results[at])
            at += 1
        return answers

    def _exchange(self, calls: Sequence[_Call]) -> list[PGresult]:
        """Send everything, then read everything: a result for each thing that was sent. Raises `NothingKept`."""
        pg, first = self._pg, self._first
        self._first = []
        try:
            pg.enter_pipeline_mode()
            for command in first:
                pg.send_query_params(command, None)
            for name, values, formats, prepares in calls:
                if prepares is not None:
                    pg.send_prepare(name, prepares[0].encode(), prepares[1])
                pg.send_query_prepared(name, values, formats)
            pg.pipeline_sync()
            results = self._received()
            pg.exit_pipeline_mode()
        except psycopg.Error as error:
            self._lost = True
            raise NothingKept(not_written(str(error))) from error
        return results

    def _received(self) -> list[PGresult]:
        """One result for each thing that was sent."""
        pg, results = self._pg, list[PGresult]()
        while True:
            if pg.is_busy():
                self._wait()
                continue
            result = pg.get_result()
            if result is None:
                if pg.status != ConnStatus.OK:
                    raise psycopg.OperationalError("the connection was lost")
            elif result.status == ExecStatus.PIPELINE_SYNC:
                return results
            else:
                results.append(result)

    def _wait(self) -> None:
        mask = select.POLLIN | (select.POLLOUT if self._pg.flush() else 0)
        self._poll.register(self._pg.socket, mask)
        ready = self._poll.poll(ANSWER_SECONDS * 1000)
        if not ready:
            raise psycopg.OperationalError(f"the server said nothing for {ANSWER_SECONDS} s")
        if ready[0][1] & ~select.POLLOUT:
            self._pg.consume_input()

    def _check(self, result: PGresult) -> None:
        """Raise what a failure is; what came after it was not executed."""
        if result.status in _FINE:
            return
        state = (result.error_field(DiagnosticField.SQLSTATE) or b"").decode()
        said = (result.error_field(DiagnosticField.MESSAGE_PRIMARY) or b"").decode(errors="replace")
        if self._pg.status != ConnStatus.OK or state.startswith(_LOST):
            self._lost = True
        if self._lost or state.startswith(_NOT_THE_STATEMENT):
            raise NothingKept(not_written(said))
        raise WriteRefused(f"The database refused a write: {said}.")


def _encoded(value: object) -> bytes | None:
    """A value as PostgreSQL reads it from text (bytes: as they are). Raises `ValueError`, `TypeError` for what no column holds."""
    if isinstance(value, str):
        text = value.encode()
        if b"\0" in text:
            raise ValueError("a text with a NUL in it")
        return text
    if value is None:
        return None
    if isinstance(value, bool):
        return b"t" if value else b"f"
    if isinstance(value, int | float):
        return repr(value).encode()
    if isinstance(value, bytes):
        return value
    raise TypeError(f"no column holds a {type(value).__name__}")


def not_written(why: str) -> str:
    """The sentence for a person."""
    return f"The database could not be written: {why.strip()}. See that its server runs and has room."
