"""From networks to facts: what stands in the picture, each with a score.

A picture is looked at whole first. Where a vehicle takes up a part of it, that part is looked at closely: at three sizes, since the detector learned things
at the sizes of street scenes and takes a car that fills the picture for a bus. The kind of vehicle is the one that the detector's mean over the sizes
and the tags together speak for most. Nothing here was tuned on held-out cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np

from .colours import colour_of
from .detector import CLASSES, Detector, Found, Pixels, Raw, found_in
from .plates import plate_in
from .tagger import Tagger

SIZES = (416, 256, 160)
"""The sizes at which a part of the picture is looked at closely."""
CANDIDATE = 0.4
"""The score from which a vehicle in the whole picture is worth a close look."""
FILLS = 0.5
"""A vehicle that takes up at least this share of the picture fills it: the picture is its own close look."""
LEAST = 0.005
"""A vehicle below this share of the picture is not what it shows."""
LEAST_PIXELS = 32
"""A box with a shorter side has nothing more to show from close."""
IN_FRONT = 3.0
"""A person whose box is so many times a vehicle's stands in front of it: the vehicle is background."""
MARGIN = 0.2
"""How much of its surroundings a close look keeps, of the box's sides."""
COUNTS = 0.06
"""A box below this share of the close look is something else beside it."""
TAG_WEIGHT = 0.25
VEHICLE = 0.25
"""The sum of evidence from which there is a vehicle."""
CLEAR_VEHICLE = 0.35
"""Below this, a person who is seen more clearly is what the picture shows, and the vehicle stands behind."""
PERSON = 0.42
"""The score from which there is a person."""
TAG_AT_LEAST = 0.15
TAGS = 5

_KINDS = {"car": "car", "truck": "van_or_truck", "bus": "bus", "motorcycle": "motorcycle", "bicycle": "bicycle"}
_WORDS = {"van_or_truck": "van or truck"}


class Reader(Protocol):
    """What reads text in a picture: lines with their score, largest first."""

    def read(self, picture: Pixels) -> list[tuple[str, float]]: ...


@dataclass(frozen=True, slots=True)
class Scene:
    """Facts by field of the vocabulary, a score for each, and one sentence of what was seen."""

    facts: Mapping[str, object]
    scores: Mapping[str, float]
    reason: str


@dataclass(frozen=True, slots=True)
class Eyes:
    """The networks together. `reader` is None where no OCR is installed."""

    detector: Detector
    tagger: Tagger
    reader: Reader | None = None

    def look(self, picture: Pixels, *, text: bool = False) -> Scene:
        """What the picture (BGR) shows. `text`: also read what is written in it, which takes seconds."""
        whole = self.detector.raw(picture)
        found = found_in(whole, CANDIDATE)
        part = _part(found, picture)
        close = picture if part is None else picture[part[1] : part[3], part[0] : part[2]]
        evidence = self._evidence(close, whole if part is None else None)
        prob = self.tagger.look(close)
        person = self._person(picture, whole)
        kind, vehicle = _vehicle(evidence, self.tagger.kinds(prob), person)
        people = sum(one.label == "person" for one in found)
        colour, colour_score = colour_of(close) if kind != "none" else ("unknown", 1.0)
        tags = self.tagger.best(prob, TAG_AT_LEAST, TAGS)
        facts: dict[str, object] = {
            "vehicle": kind,
            "people": "none" if person < PERSON else "several" if people > 1 else "one",
            "colour": colour,
            "tags": [label for label, _ in tags],
            "plate_text": None,
            "text_seen": None,
        }
        scores = {
            "vehicle": vehicle,
            "people": person if person >= PERSON else 1 - person,
            "colour": colour_score,
            "tags": tags[0][1] if tags else 0.0,
        }
        reason = _sentence(facts, scores)
        if text:
            reason += self._read(close, facts, scores)
        return Scene(MappingProxyType(facts), MappingProxyType(_rounded(scores)), reason)

    def _evidence(self, close: Pixels, first: Raw | None) -> dict[str, float]:
        """The mean over the sizes of each class's best box that takes up a part of the close look."""
        sums = dict.fromkeys(CLASSES.values(), 0.0)
        for size in SIZES:
            raw = first if first is not None and size == SIZES[0] else self.detector.raw(close, size)
            best = _best(raw, close)
            for label in sums:
                sums[label] += best[label] / len(SIZES)
        return sums

    def _person(self, picture: Pixels, whole: Raw) -> float:
        """How clearly a person is seen: the mean over the sizes, or one that is clearly found although small."""
        person = self._evidence(picture, whole)["person"]
        small = max((one.score for one in found_in(whole, CANDIDATE) if one.label == "person"), default=0.0)
        return max(person, small)

    def _read(self, close: Pixels, facts: dict[str, object], scores: dict[str, float]) -> str:
        """Fill in what is written in the picture; returns the words for it."""
        if self.reader is None:
            return " Text not measured (no reader)."
        lines = self.reader.read(close)
        facts["text_seen"] = [text for text, _ in lines]
        scores["text_seen"] = min((score for _, score in lines), default=1.0)
        plate = plate_in(lines)
        if plate is None:
            facts["plate_text"] = ""  # looked for and not there; null would say that nobody looked
            return " No plate was read."
        facts["plate_text"], scores["plate_text"] = plate
        return f" Plate read: {plate[0]} ({plate[1]:.2f})."


def _part(found: list[Found], picture: Pixels) -> tuple[int, int, int, int] | None:
    """The box of a close look around the main vehicle, in whole pixels; None where the whole picture is it."""
    height, width = picture.shape[:2]
    person = max((one.area for one in found if one.label == "person"), default=0.0)
    least = max(LEAST * width * height, person / IN_FRONT)
    vehicles = [one for one in found if one.label in _KINDS and one.area >= least and one.shorter >= LEAST_PIXELS]
    if not vehicles:
        return None
    main = max(vehicles, key=lambda one: one.score * one.area**0.5)
    if main.area >= FILLS * width * height:
        return None
    across, along = MARGIN * (main.right - main.left), MARGIN * (main.bottom - main.top)
    return (
        int(max(0.0, main.left - across)),
        int(max(0.0, main.top - along)),
        int(min(float(width), main.right + across)) or 1,
        int(min(float(height), main.bottom + along)) or 1,
    )


def _best(raw: Raw, close: Pixels) -> dict[str, float]:
    height, width = close.shape[:2]
    sides = raw.boxes[:, 2:] - raw.boxes[:, :2]
    large = np.prod(np.clip(sides, 0, None), axis=1) >= COUNTS * width * height
    if not large.any():
        return dict.fromkeys(CLASSES.values(), 0.0)
    return {label: float(raw.scores[large, index].max()) for index, label in CLASSES.items()}


def _vehicle(evidence: Mapping[str, float], tags: Mapping[str, float], person: float) -> tuple[str, float]:
    """The kind of vehicle and its score; for none, how little there is to see of one."""
    total = {label: evidence[label] + TAG_WEIGHT * tags[label] for label in _KINDS}
    label = max(total, key=lambda one: total[one])
    score = min(total[label], 1.0)
    behind = score < CLEAR_VEHICLE and person > score and person >= PERSON
    if score < VEHICLE or behind:
        return "none", 1 - score
    return _KINDS[label], score


def _sentence(facts: Mapping[str, object], scores: Mapping[str, float]) -> str:
    kind = str(facts["vehicle"])
    colour = "" if facts["colour"] == "unknown" or kind == "none" else f"{facts['colour']} "
    vehicle = "no vehicle" if kind == "none" else f"a {colour}{_WORDS.get(kind, kind)}"
    people = {"none": "nobody", "one": "one person", "several": "several people"}[str(facts["people"])]
    return f"Seen: {vehicle} ({scores['vehicle']:.2f}), {people} ({scores['people']:.2f})."


def _rounded(scores: Mapping[str, float]) -> dict[str, float]:
    return {name: round(min(max(score, 0.0), 1.0), 4) for name, score in scores.items()}
