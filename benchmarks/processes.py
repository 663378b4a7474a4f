"""The compared engines as processes: started once, then sampled in turn by a line of JSON each (`benchmarks.peers.worker`)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
ENDS_WITHIN: Final = 60.0


class PeerBroken(Exception):
    """A compared engine did not start, ended early, or did not record what it was given; the text says what it printed last."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer of a worker."""

    runs_a_second: float
    p50_ms: float
    p99_ms: float


class Worker:
    """A started worker."""

    def __init__(self, name: str, process: subprocess.Popen[str], log: Path) -> None:
        self.name = name
        self.process = process
        self._log = log
        self.settings: Any = self._answer()["ready"]

    def ask(self, what: dict[str, Any]) -> dict[str, Any]:
        """Ask for one sample, and wait for it. Raises `PeerBroken`."""
        self.say(what)
        return self.answer()

    def say(self, what: dict[str, Any]) -> None:
        """Ask for one sample."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """What came of it. Raises `PeerBroken`."""
        told = self._answer()
        if "error" in told:
            raise PeerBroken(f"{self.name}: {told['error']}")
        return told

    def sample(self, runs: int, at_once: int) -> Sample:
        """So many units with so many at once. Raises `PeerBroken`."""
        told = self.ask({"runs": runs, "at_once": at_once})
        return Sample(runs / told["seconds"], told["p50_ms"], told["p99_ms"])

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise PeerBroken(f"{self.name} ended: {self._log.read_text(errors='replace')[-800:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def worker(name: str, command: Sequence[str], folder: Path) -> Iterator[Worker]:
    """Start `python -m module ...` in the checkout's root, ready to be sampled. Raises `PeerBroken`."""
    log = folder / f"{name.replace(' ', '_')}.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=out, text=True
        )
    assert process.stdin is not None
    try:
        yield Worker(name, process, log)
    finally:
        process.stdin.close()  # it ends by itself
        try:
            process.wait(ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def ours(*arguments: str) -> list[str]:
    """The command of our own worker."""
    return [sys.executable, "-m", "benchmarks.ours_worker", *arguments]


def site(*arguments: str) -> list[str]:
    """The command of a large site of ours."""
    return [sys.executable, "-m", "benchmarks.site_worker", *arguments]
