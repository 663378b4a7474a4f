"""Which of the lines in a picture is a number plate: a grammar that fits most countries, and no more than that."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NOISE = re.compile(r"[^A-Z0-9]")
_RUNS = re.compile(r"[A-Z]+|[0-9]+")
SHORTEST, LONGEST = 4, 10
MOST_RUNS = 4
"""`KA 01 AB 1234` has four runs of letters and digits; text with more is something else."""
LEAST_DIGITS = 2


def normalised(text: str) -> str:
    """A plate as it is compared: capital letters and digits only."""
    return _NOISE.sub("", text.upper())


def is_plate(text: str) -> bool:
    """Whether a normalised text can be a number plate: letters and digits together, in few runs."""
    runs = _RUNS.findall(text)
    digits = sum(len(run) for run in runs if run.isdigit())
    letters = len(text) - digits
    return SHORTEST <= len(text) <= LONGEST and digits >= LEAST_DIGITS and letters >= 1 and len(runs) <= MOST_RUNS


def plate_in(lines: Sequence[tuple[str, float]]) -> tuple[str, float] | None:
    """The plate among lines of text with their scores: the one read most surely. None where no line can be one."""
    plates = [(normalised(text), score) for text, score in lines if is_plate(normalised(text))]
    return max(plates, key=lambda plate: plate[1], default=None)
