"""The figures of an evaluation: intervals, reliability, percentiles. No more of statistics than these need."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

Z95 = 1.959964


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, with the 95 % Wilson interval of the share; all None where there were none."""

    right: int
    total: int
    share: float | None
    low: float | None
    high: float | None


def share_of(right: int, total: int) -> Share:
    """The share and its Wilson interval, which is honest for few cases and near 0 and 1."""
    if total == 0:
        return Share(0, 0, None, None, None)
    p, z2 = right / total, Z95 * Z95
    middle = (p + z2 / (2 * total)) / (1 + z2 / total)
    reach = Z95 * math.sqrt(p * (1 - p) / total + z2 / (4 * total * total)) / (1 + z2 / total)
    return Share(right, total, p, max(0.0, middle - reach), min(1.0, middle + reach))


def majority(labels: Sequence[str]) -> Share:
    """What answering the most frequent label every time would get: any figure stands beside this one."""
    return share_of(max(Counter(labels).values(), default=0), len(labels))


def percentile(values: Sequence[float], of: float) -> float | None:
    """The value below which a share `of` (0 to 1) of the values lies, by the nearest rank; None where there is none."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(of * len(ordered)) - 1))]


def auroc(marked: Sequence[tuple[float, bool]]) -> float | None:
    """How often a right answer has a higher confidence than a wrong one (ties count half); None without both kinds."""
    good = [confidence for confidence, right in marked if right]
    bad = [confidence for confidence, right in marked if not right]
    if not good or not bad:
        return None
    wins = sum((g > b) + 0.5 * (g == b) for g in good for b in bad)
    return wins / (len(good) * len(bad))


def brier(marked: Sequence[tuple[float, bool]]) -> float | None:
    """The mean squared distance between confidence and truth: 0 is perfect, 0.25 a coin that says so."""
    if not marked:
        return None
    return sum((confidence - right) ** 2 for confidence, right in marked) / len(marked)
