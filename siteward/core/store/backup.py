"""A copy of an SQLite database that a host writes meanwhile: one instant of it, taken in small steps.

A copy by steps starts again whenever another process wrote between two of them, and would never end beside a busy host. So one read is held open over
all steps: it pins the instant, keeps no writer waiting (WAL), and costs a longer `-wal` file until it ends. After each step the copy rests as long as
the step took, which leaves half of the disk to the host.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from siteward.core.store.errors import DatabaseUnusable

STEP_PAGES: Final = 256
"""1 MiB with pages of 4 KiB: some milliseconds of reading."""
SYNC_STEPS: Final = 16
"""Steps after which the copy is written through: what collects until the end would hold up the host's own commits."""
LONGEST_REST: Final = 0.25

Rest = Callable[[float], None]


def copy_database(source: Path, target: Path, rest: Rest = time.sleep) -> None:
    """Copy `source` as it is at this instant to the new file `target`, durably and readable by its owner alone.

    Raises `DatabaseUnusable`. `rest` is how the steps pause (seconds).
    """
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        with closing(_reading(source)) as reading, closing(sqlite3.connect(target, isolation_level=None)) as writing:
            writing.execute("PRAGMA synchronous=OFF")  # the copy is synced here, and is worth nothing before its end
            steps = _Steps(target, rest)
            reading.backup(writing, pages=STEP_PAGES, progress=steps.taken)
    except sqlite3.Error as error:
        target.unlink(missing_ok=True)
        raise DatabaseUnusable(f"The database {source} cannot be copied: {error}.", where=str(source)) from error
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    _sync(target)


def _reading(source: Path) -> sqlite3.Connection:
    """A connection that holds one instant of the database."""
    connection = sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    connection.execute("BEGIN")
    connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    return connection


class _Steps:
    """Rests and writes through between the steps of one copy."""

    def __init__(self, target: Path, rest: Rest) -> None:
        self._target = target
        self._rest = rest
        self._count = 0
        self._ended = time.monotonic()

    def taken(self, _status: int, _remaining: int, _total: int) -> None:
        """A step was taken."""
        self._count += 1
        if self._count % SYNC_STEPS == 0:
            _sync(self._target)
        self._rest(min(time.monotonic() - self._ended, LONGEST_REST))
        self._ended = time.monotonic()


def _sync(file: Path) -> None:
    opened = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
