"""The clock of a story, which goes on while nobody lives: a file beside the database keeps it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

from siteward.core.clock import RANGE_SECONDS
from siteward.sdk.simulated_clock import START, SimulatedClock

BOOTED = 1000.0


@dataclass(frozen=True)
class Down:
    """What passes between two lives, in seconds: truly, and by the machine's wall clock. `boots`: it was off, and counts from its start."""

    true: float
    wall: float
    boots: bool = False


DOWNS = {
    "soon": Down(1, 1),
    "late": Down(3600, 3600),
    "power cut": Down(3600, 3600, boots=True),
    "ahead": Down(1, 7200),
    "back": Down(1, -3600),
}
"""For longer than any reply is good for, and the wall clock set either way."""


@dataclass(frozen=True)
class Times:
    """Seconds of the story: the true ones, those that the wall clock shows, and those since the machine started. `was` is what the wall clock
    showed when the last life ended."""

    true: float = 0.0
    wall: float = 0.0
    boot: float = BOOTED
    was: float = 0.0

    def after(self, down: Down) -> Times:
        """As they are after a while without a process."""
        # Each start of the machine counts in a range of its own, as `SystemClock` does.
        boot = self.boot - RANGE_SECONDS if down.boots else self.boot + down.true
        return Times(self.true + down.true, self.wall + down.wall, boot, was=self.wall)

    def passed(self, seconds: float) -> Times:
        """As they are after a while of life."""
        return Times(self.true + seconds, self.wall + seconds, self.boot + seconds, self.was)


def read_times(file: Path) -> Times:
    """The times that a file keeps; the beginning where there is none."""
    return Times(**json.loads(file.read_text())) if file.exists() else Times()


def write_times(file: Path, times: Times) -> None:
    """Keep them, whenever this process dies."""
    new = file.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(asdict(times)))
    new.replace(file)


class StoryClock(SimulatedClock):
    """A simulated clock that remembers what time it is."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.times = read_times(file)
        super().__init__(wall(self.times.wall), self.times.boot)

    async def advance(self, seconds: float) -> None:
        self.times = self.times.passed(seconds)
        write_times(self._file, self.times)
        await super().advance(seconds)

    def look(self) -> None:
        """Read the time anew: this process was frozen while it passed."""
        self.times = read_times(self._file)
        self._now, self._since_boot = wall(self.times.wall), self.times.boot


def wall(seconds: float) -> datetime:
    """What the wall clock shows at a second of the story."""
    return START + timedelta(seconds=seconds)
