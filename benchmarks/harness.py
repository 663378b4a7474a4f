"""How the benchmarks measure and tell: samples of the compared things taken in turn, medians, spread, ratios within the run, and what else the machine did.

An absolute figure belongs to one machine at one time. So whatever is compared is sampled in turn (A B A B ...) within one run, at least five times each, and
the ratio of each pair is what counts: its median and its range. While a sample is taken the CPU time that others use is counted; where it is more than
`BUSY_CORES` the report says that the run is not to be believed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

ROUNDS: Final = 5
"""The least number of samples of each thing."""
BUSY_CORES: Final = 0.15
"""Cores that others may use before the figures are called disturbed."""
_TICK: Final = os.sysconf("SC_CLK_TCK")


# -- what the machine did ----------------------------------------------------------------------------------------------
def _machine_cpu() -> float:
    """CPU seconds of everything on the machine so far, idle time and waiting for the disk left out."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    user, nice, system, _, _, irq, soft, steal = map(int, words)
    return (user + nice + system + irq + soft + steal) / _TICK


def tree_cpu(root: int | None = None) -> float:
    """CPU seconds of a process (this one) and all its descendants, ended ones included, so far."""
    children: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended; its parent counts it
            continue
        pid = int(entry.name)
        children.setdefault(int(words[1]), []).append(pid)
        used[pid] = sum(map(int, words[11:15])) / _TICK
    waiting, total = [root or os.getpid()], 0.0
    while waiting:
        pid = waiting.pop()
        total += used.get(pid, 0.0)
        waiting += children.get(pid, [])
    return total


@dataclass
class Watch:
    """Counts, between `begin` and `end`, the cores that others than this process and its descendants used."""

    foreign: list[float] = field(default_factory=list)
    _begun: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def begin(self) -> None:
        self._begun = (time.perf_counter(), _machine_cpu(), tree_cpu())

    def end(self) -> None:
        at, machine, ours = self._begun
        spent = time.perf_counter() - at
        if spent >= 0.2:  # the kernel counts in ticks of 10 ms
            self.foreign.append(max(0.0, (_machine_cpu() - machine) - (tree_cpu() - ours)) / spent)

    @property
    def worst(self) -> float:
        return max(self.foreign, default=0.0)


# -- figures -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Spread:
    """The median of samples and their range."""

    median: float
    least: float
    most: float
    samples: tuple[float, ...]

    @classmethod
    def of(cls, samples: Sequence[float]) -> Spread:
        return cls(statistics.median(samples), min(samples), max(samples), tuple(samples))

    def __str__(self) -> str:
        return f"{short(self.median)} ({short(self.least)} - {short(self.most)})"


def short(figure: float) -> str:
    """Three digits that count, with thousands marked."""
    if abs(figure) >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.3g}"


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of a report. `wanted` is the bound that the project set, as a test of the median and in words."""

    name: str
    unit: str
    spread: Spread
    wanted: str | None = None
    met: bool | None = None


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A figure is to be this or more."""

    bound: float

    def met(self, figure: float) -> bool:
        return figure >= self.bound

    def __str__(self) -> str:
        return f"at least {short(self.bound)}"


@dataclass(frozen=True, slots=True)
class AtMost:
    """A figure is to be this or less."""

    bound: float

    def met(self, figure: float) -> bool:
        return figure <= self.bound

    def __str__(self) -> str:
        return f"at most {short(self.bound)}"


Bound = AtLeast | AtMost


class Report:
    """What one benchmark says, to a reader and, with `--json`, to a program."""

    def __init__(self, name: str, asked: argparse.Namespace) -> None:
        self.name = name
        self.watch = Watch()
        self.lines: list[Line] = []
        self.notes: list[str] = []
        self._json: Path | None = asked.json
        self._began = time.time()

    def add(self, name: str, unit: str, samples: Sequence[float], wanted: Bound | None = None) -> Spread:
        """A figure by its samples."""
        spread = Spread.of(samples)
        met = None if wanted is None else wanted.met(spread.median)
        self.lines.append(Line(name, unit, spread, None if wanted is None else str(wanted), met))
        return spread

    def ratio(self, name: str, above: Sequence[float], below: Sequence[float], wanted: Bound | None = None) -> Spread:
        """How many times `below` is `above`, pair by pair."""
        pairs = [one / other for one, other in zip(above, below, strict=True)]
        return self.add(name, "times", pairs, wanted)

    def note(self, sentence: str) -> None:
        """Something that a reader must know, such as a peer that could not be had."""
        self.notes.append(sentence)

    def finish(self) -> None:
        """Print, and write the JSON where it was asked for."""
        width = max((len(line.name) for line in self.lines), default=0)
        print(f"\n{self.name}: medians (least - most) of {self._counts()} samples, taken in turn")
        for line in self.lines:
            told = "" if line.wanted is None else f"  [{line.wanted}: {'met' if line.met else 'MISSED'}]"
            print(f"  {line.name:<{width}}  {line.spread!s:>30} {line.unit}{told}")
        for sentence in self.notes:
            print(f"  {sentence}")
        print(f"  others used up to {self.watch.worst:.2f} cores meanwhile; load {load()}; {place()}")
        if self.watch.worst > BUSY_CORES:
            print(
                f"  NOT A QUIET MACHINE: others used more than {BUSY_CORES} cores. Believe ratios only, and measure again."
            )
        sys.stdout.flush()
        if self._json is not None:
            self._json.mkdir(parents=True, exist_ok=True)
            (self._json / f"{self.name}.json").write_text(json.dumps(self.as_json(), indent=1))

    def as_json(self) -> Mapping[str, Any]:
        return {
            "name": self.name,
            "began": self._began,
            "lines": [asdict(line) for line in self.lines],
            "notes": self.notes,
            "others_cores": self.watch.foreign,
            "load": load(),
            "machine": place(),
        }

    def _counts(self) -> str:
        counts = sorted({len(line.spread.samples) for line in self.lines})
        return " or ".join(str(count) for count in counts)


def load() -> str:
    return " ".join(f"{one:.2f}" for one in os.getloadavg())


def place() -> str:
    return f"{os.cpu_count()} cores, Python {sys.version.split()[0]}"


# -- taking samples ----------------------------------------------------------------------------------------------------
Sampler = Callable[[], float]


def in_turn(samplers: Mapping[str, Sampler], rounds: int, watch: Watch) -> dict[str, list[float]]:
    """`rounds` samples of each, one of each per round; every other round in the opposite order, so that neither always follows the other."""
    found: dict[str, list[float]] = {name: [] for name in samplers}
    for number in range(rounds):
        names = list(samplers) if number % 2 == 0 else list(samplers)[::-1]
        for name in names:
            watch.begin()
            found[name].append(samplers[name]())
            watch.end()
    return found


async def in_turn_async(
    samplers: Mapping[str, Callable[[], Awaitable[float]]], rounds: int, watch: Watch
) -> dict[str, list[float]]:
    """`in_turn` for samplers that share a loop."""
    found: dict[str, list[float]] = {name: [] for name in samplers}
    for number in range(rounds):
        names = list(samplers) if number % 2 == 0 else list(samplers)[::-1]
        for name in names:
            watch.begin()
            found[name].append(await samplers[name]())
            watch.end()
    return found


def percentile(samples: Sequence[float], share: float) -> float:
    """The sample below which `share` of them lie."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def arguments(description: str | None) -> argparse.ArgumentParser:
    """What every benchmark understands."""
    reads = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    reads.add_argument(
        "--rounds", type=int, default=ROUNDS, help="samples of each thing (at least five to be told to anyone)"
    )
    reads.add_argument("--json", type=Path, help="a folder: the figures go there too")
    reads.add_argument("--full", action="store_true", help="as long and as large as the project's bounds say (minutes)")
    return reads
