"""Hears what other processes poke (LISTEN): a thread with a connection of its own that comes back after each loss."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import psycopg
from psycopg import sql

_log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0
"""How often the thread looks whether it should end."""
FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 5.0


class PostgresListener:
    """Calls `poked` with the channel, from its own thread: for each poke, and for every channel whenever pokes may have been missed."""

    def __init__(
        self, connect: Callable[[], psycopg.Connection[Any]], channels: Sequence[str], poked: Callable[[str], None]
    ) -> None:
        self._connect = connect
        self._channels = tuple(channels)
        self._poked = poked
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="siteward-listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening; returns once the thread has ended."""
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        pause, silent = FIRST_PAUSE, False
        while not self._end.is_set():
            try:
                with self._connect() as connection:
                    for channel in self._channels:
                        connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                        self._poked(channel)
                    pause, silent = FIRST_PAUSE, False
                    while not self._end.is_set():
                        for notice in connection.notifies(timeout=LOOK_SECONDS):
                            self._poked(notice.channel)
            except psycopg.Error as error:
                if not silent:
                    _log.warning("What other processes tell is not heard until the database is back: %s", error)
                silent = True
                self._end.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
