"""Names what holds up the loop. Code that never waits cannot be ended from inside the process; a thread that sees the loop stand still can at least
say in which file and line it stands, and so whose it is."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_log = logging.getLogger(__name__)

BLOCKED_SECONDS: Final = 5.0
"""A loop that has not come round for so long is held up by somebody."""
LOOK_SECONDS: Final = 1.0
FRAMES: Final = 12
"""The innermost frames of the stack that are written."""


class LoopWatch:
    """Sees, from a thread of its own, when the loop last came round."""

    def __init__(self) -> None:
        self._came = time.monotonic()
        self._over = threading.Event()
        self._said = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """Watch the running loop, whose thread this is, while the block runs."""
        loop, watched = asyncio.get_running_loop(), threading.get_ident()
        beat = loop.call_soon(self._beat, loop)
        thread = threading.Thread(target=self._watch, args=(watched,), name="siteward-loop-watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            beat.cancel()
            thread.join()

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._said:
            _log.warning("The host goes on after %.0f s.", time.monotonic() - self._came)
        self._came, self._said = time.monotonic(), False
        if not self._over.is_set():
            loop.call_later(LOOK_SECONDS, self._beat, loop)

    def _watch(self, watched: int) -> None:
        looked = time.monotonic()
        while not self._over.wait(LOOK_SECONDS):
            now = time.monotonic()
            if now - looked > BLOCKED_SECONDS:
                self._came = now  # not the loop, but the whole process stood still: it was frozen, or the machine slept
            looked, stood = now, now - self._came
            if stood < BLOCKED_SECONDS or self._said:
                continue
            self._said = True
            frame = sys._current_frames().get(watched)
            stack = "".join(traceback.format_stack(frame)[-FRAMES:]) if frame is not None else ""
            _log.error("Everything stands still since %.0f s. This code holds it up:\n%s", stood, stack)
