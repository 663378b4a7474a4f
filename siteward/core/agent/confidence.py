"""A confidence that means something: agreement of draws, scores of perception, and how often such an answer was right before.

The model's own number plays no part (it does not separate right from wrong in small models). A raw share or score becomes a confidence through a
`Calibration`: per option the smoothed precision of the cases that fell into the same band. Where no case of that option was
ever marked there is no precision, and what was never measured is said to be so.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from .fields import FieldSpec, FieldValue

BANDS = (0.35, 0.5, 0.65, 0.8)
"""Upper edges of the confidence bands, the last one open; narrow where detectors of this kind put most of their scores."""
PRIOR_WEIGHT = 2.0
"""How many cases the option's overall precision counts for in each of its bands."""
MAJORITY_DRAWS = 3
"""Fewer draws than this show no agreement: one draw always agrees with itself."""

SOMETHING, NOTHING = "something", "nothing"
"""What is counted of an open field."""

_CITATION = re.compile(r"\[(r\d+)\]")


@dataclass(frozen=True, slots=True)
class Tally:
    """The votes of the draws: the winning decision (None: a tie), and its share of all draws, failed ones included."""

    winner: str | None
    share: float


def tally(votes: Sequence[str | None]) -> Tally:
    """Count votes; None stands for a draw that gave none. Which draw came first plays no part. An empty sequence is a tie."""
    counts = Counter(vote for vote in votes if vote is not None).most_common(2)
    if not counts:
        return Tally(None, 0.0)
    share = counts[0][1] / len(votes)
    tied = len(counts) == 2 and counts[0][1] == counts[1][1]
    return Tally(None if tied else counts[0][0], share)


@dataclass(frozen=True, slots=True)
class Band:
    """Cases of one option in one band, and how many of them were right."""

    total: int = 0
    right: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """A marked answer: the option that was decided, its raw share or score (None with a single draw), and whether it was right."""

    option: str
    raw: float | None
    right: bool


@dataclass(frozen=True, slots=True)
class Calibration:
    """Per option, its bands (one more than there are edges). Made of marked runs and seen evaluation cases of one spec and one model."""

    options: Mapping[str, tuple[Band, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def precision(self, option: str, raw: float | None) -> float | None:
        """How often this option was right at such a raw value (None: at any), smoothed; None where no case of it was marked."""
        bands = self.options.get(option, ())
        total, right = sum(b.total for b in bands), sum(b.right for b in bands)
        if not total:
            return None
        overall = (right + 1) / (total + 2)
        if raw is None:
            return overall
        band = bands[band_of(raw)]
        return (band.right + PRIOR_WEIGHT * overall) / (band.total + PRIOR_WEIGHT)

    @classmethod
    def of(cls, cases: Iterable[Case]) -> Calibration:
        """The table of these cases. A case without a raw value counts in the lowest band: it says nothing of a higher one."""
        counts: dict[str, list[Band]] = {}
        for case in cases:
            bands = counts.setdefault(case.option, [Band()] * (len(BANDS) + 1))
            index = 0 if case.raw is None else band_of(case.raw)
            bands[index] = Band(bands[index].total + 1, bands[index].right + case.right)
        return cls(MappingProxyType({option: tuple(bands) for option, bands in counts.items()}))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON: option to a list of `[total, right]`, one per band."""
        return {option: [[b.total, b.right] for b in bands] for option, bands in sorted(self.options.items())}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Calibration:
        """A stored table. Raises `ValueError` where its bands are not ours or its counts are none."""
        options: dict[str, tuple[Band, ...]] = {}
        for option, bands in data.items():
            rows = tuple(Band(int(total), int(right)) for total, right in bands)
            if len(rows) != len(BANDS) + 1 or any(not 0 <= b.right <= b.total for b in rows):
                raise ValueError(f"The calibration of {option!r} does not fit the bands.")
            options[option] = rows
        return cls(MappingProxyType(options))


@dataclass(frozen=True, slots=True)
class Tables:
    """What is known of a model's answers. `step` is the table of this very step (its spec and its model); `facts` are, for perception, how often a
    field's value was right, by field: it holds for every step that reads the field."""

    step: Calibration = field(default_factory=Calibration)
    facts: Mapping[str, Calibration] = field(default_factory=lambda: MappingProxyType({}))

    def of_facts(self, values: Mapping[str, str], scores: Mapping[str, float]) -> float | None:
        """The precision of the weakest fact that decided (`values`: field to its fact in words); None where one was never marked or has no score."""
        found: list[float] = []
        for name, value in values.items():
            table, score = self.facts.get(name), scores.get(name)
            precision = None if table is None or score is None else table.precision(value, score)
            if precision is None:
                return None
            found.append(precision)
        return min(found, default=None)

    @classmethod
    def from_json(cls, model: Mapping[str, Any], spec_digest: str) -> Tables:
        """The tables of one model in a calibration file (`steps` by the digest of a spec, `facts` by field). Raises `ValueError`."""
        step = Calibration.from_json(model["steps"].get(spec_digest, {}))
        facts = {name: Calibration.from_json(table) for name, table in model["facts"].items()}
        return cls(step, MappingProxyType(facts))


def fact_of(spec: FieldSpec, value: FieldValue) -> str:
    """A field's value as a fact that can be counted: the option, or for an open field whether there is anything."""
    return str(value) if isinstance(spec, tuple) or isinstance(value, bool) else SOMETHING if value else NOTHING


def band_of(raw: float) -> int:
    """The band of a raw value."""
    return sum(raw >= edge for edge in BANDS)


def usable_scores(scores: object) -> dict[str, float] | None:
    """The scores that a client gave which are numbers between 0 and 1; None where it gave none."""
    if not isinstance(scores, Mapping):
        return None
    numbers = {str(k): float(v) for k, v in scores.items() if isinstance(v, (int, float)) and not isinstance(v, bool)}
    return {name: value for name, value in numbers.items() if math.isfinite(value) and 0 <= value <= 1}


def score_of(scores: Mapping[str, float] | None, read: Sequence[str]) -> float | None:
    """The score of a decision of perception: the lowest among the fields that decided it, or the overall one (key `""`) where no field did or
    one of them has no score; None where that is missing too."""
    if scores is None:
        return None
    if read and all(name in scores for name in read):
        return min(scores[name] for name in read)
    return scores.get("")


def unknown_citations(reason: str, rows: Iterable[str]) -> tuple[str, ...]:
    """Trace rows that a reason cites (`[r3]`) and that do not exist: such a reason is no evidence."""
    known = set(rows)
    return tuple(row for row in _CITATION.findall(reason) if row not in known)
