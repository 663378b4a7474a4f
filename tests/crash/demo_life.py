"""One life of the demo host: the real `siteward run --demo` in a process of its own, which may be killed.

A life is forked from a process that has imported everything, so that it costs what the host costs and not what Python's start does. Two things
are not as a user has them, and are put in from here: named boundaries that kill, and a clock that is ahead (the machine was down).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import traceback
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from siteward.core import cli
from siteward.core.clock import SystemClock
from siteward.core.commands import site
from siteward.core.host import open_host
from tests.crash.deaths import Kill, KillAt
from tests.crash.faults import FAULTS

PATIENCE = 90.0
POLL = 0.02
ADDRESS = re.compile(r"is running at (http://\S+)")
CODE = re.compile(r"one-time code: (\S+)")
SCRIPT = Path(sys.executable).with_name("siteward")


class Ahead(SystemClock):
    """The machine's clocks, some seconds on."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self._seconds)

    def since_boot(self) -> float:
        return super().since_boot() + self._seconds


class Died(Exception):
    """The host is dead."""


class Life:
    """A host that runs. `names` gets every boundary that it reaches; `fault` makes it a build that breaks a promise."""

    def __init__(
        self,
        place: Path,
        kill: Kill | None = None,
        *,
        ahead: float = 0.0,
        script: bool = False,
        fault: str | None = None,
    ) -> None:
        self.place = place
        self.names = place / "names"
        self.names.unlink(missing_ok=True)
        self._said = place / "said"
        self._said.write_bytes(b"")
        self._process: subprocess.Popen[bytes] | None = None
        self._status: int | None = None
        if script:
            with self._said.open("wb") as said:
                self._process = subprocess.Popen(
                    [SCRIPT, *_arguments(place)], stdout=said, stderr=said, start_new_session=True
                )
            self.pid = self._process.pid
        else:
            self.pid = os.fork()
            if self.pid == 0:
                self._live(kill, ahead, fault)

    def _live(self, kill: Kill | None, ahead: float, fault: str | None) -> None:
        """What the child does; it never returns."""
        code = 1
        try:
            os.setsid()
            said = os.open(self._said, os.O_WRONLY | os.O_APPEND)
            os.dup2(said, 1)
            os.dup2(said, 2)
            if fault is not None:
                FAULTS[fault].breaks()
            boundaries = KillAt(kill, self.names)
            site.open_host = partial(open_host, clock=Ahead(ahead), boundaries=boundaries)  # type: ignore[attr-defined]
            cli.main(_arguments(self.place), standalone_mode=False)
            code = 0
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            os._exit(code)

    # -- from outside --------------------------------------------------------------------------------------------------
    def said(self) -> str:
        """Everything it printed."""
        return self._said.read_text()

    def address(self) -> str:
        """Where it serves. Raises `Died`."""
        return self._printed(ADDRESS)

    def code(self) -> str:
        """The one-time code. Raises `Died`."""
        return self._printed(CODE)

    def _printed(self, wanted: re.Pattern[str]) -> str:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            alive = self.alive()
            if found := wanted.search(self.said()):
                return found[1]
            if not alive:
                raise Died(self.said())
            time.sleep(POLL)
        raise AssertionError(f"nothing like {wanted.pattern} was printed: {self.said()}")

    def alive(self) -> bool:
        """Whether the process is there."""
        if self._status is None and self._process is not None:
            self._status = self._process.poll()
        elif self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._status = status if pid else None
        return self._status is None

    def killed(self) -> bool:
        """Whether it was SIGKILL that ended it."""
        status = self._status
        return status in (signal.SIGKILL, -signal.SIGKILL)

    def code_of_exit(self) -> int | None:
        """With what it ended, None while it lives."""
        return (
            None
            if self._status is None
            else os.waitstatus_to_exitcode(self._status)
            if self._process is None
            else self._status
        )

    def kill(self) -> None:
        """SIGKILL the host, and nothing that it started."""
        if self.alive():
            os.kill(self.pid, signal.SIGKILL)
        self.ended()

    def stop(self) -> None:
        """Ask it to end, as Ctrl-C does, and wait."""
        if self.alive():
            os.kill(self.pid, signal.SIGTERM)
        self.ended()

    def ended(self) -> None:
        """Wait until it is over, and with it everything that it started."""
        until = time.monotonic() + PATIENCE
        while self.alive() or self._group_lives():
            assert time.monotonic() < until, f"something of the host is left: {self.said()}"
            time.sleep(POLL)

    def _group_lives(self) -> bool:
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def children(self) -> list[int]:
        """The processes that the host started."""
        found = Path(f"/proc/{self.pid}/task").glob("*/children")
        return [int(pid) for file in found for pid in file.read_text().split()]


def _arguments(place: Path) -> list[str]:
    return ["--config", str(place / "site"), "run", "--demo", "--port", "0"]
