"""From networks to facts, without a network where none is needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from siteward.integrations.embedded.catalogue import DETECTOR, LABELS, SHIPPED_FOLDER, TAGGER
from siteward.integrations.embedded.colours import colour_of
from siteward.integrations.embedded.detector import Detector, Found, Pixels, Raw, found_in
from siteward.integrations.embedded.plates import normalised, plate_in
from siteward.integrations.embedded.scene import Eyes
from siteward.integrations.embedded.tagger import KINDS, Tagger
from siteward.integrations.embedded.vocabulary import COLOURS, PEOPLE, VEHICLES


class Reads:
    """A reader that reads what it was given."""

    def __init__(self, *lines: tuple[str, float]) -> None:
        self.lines = list(lines)

    def read(self, picture: Pixels) -> list[tuple[str, float]]:
        return self.lines


@pytest.fixture(scope="module")
def eyes() -> Eyes:
    folder: Path = SHIPPED_FOLDER
    return Eyes(Detector(folder / DETECTOR.name, 1), Tagger(folder / TAGGER.name, folder / LABELS.name, 1))


def plain(colour: tuple[int, int, int], height: int = 60, width: int = 80) -> Pixels:
    return np.full((height, width, 3), colour, dtype=np.uint8)


@pytest.mark.parametrize(
    ("bgr", "name"),
    [
        ((20, 20, 20), "black"),
        ((240, 240, 240), "white"),
        ((120, 120, 120), "grey"),
        ((30, 30, 200), "red"),
        ((20, 130, 230), "orange"),
        ((30, 70, 110), "brown"),
        ((20, 210, 220), "yellow"),
        ((50, 160, 60), "green"),
        ((200, 90, 30), "blue"),
        ((200, 40, 200), "unknown"),
    ],
)
def test_a_plain_colour_has_its_name(bgr: tuple[int, int, int], name: str) -> None:
    assert colour_of(plain(bgr))[0] == name
    assert name in COLOURS


@pytest.mark.parametrize("text", ["KA-01 AB 1234", "7ghx213", "W 512 KLM", "AB-12-CD", "M 4821", "B 12345"])
def test_plates_of_many_countries_are_plates(text: str) -> None:
    assert plate_in([("STOP", 0.99), (text, 0.9)]) == (normalised(text), 0.9)


@pytest.mark.parametrize(
    "text", ["8529", "DIAMOND", "www.sfmuni.co", "A1", "31", "A1B2C3D4E5", "1268184", "ABCDEFGH12345", ""]
)
def test_other_writing_is_no_plate(text: str) -> None:
    assert plate_in([(text, 0.99)]) is None


def test_of_two_plates_the_surer_one_is_told() -> None:
    assert plate_in([("KA 11 B", 0.6), ("KA 77 C", 0.9)]) == ("KA77C", 0.9)


def test_boxes_of_one_thing_are_joined_and_weak_ones_left_out() -> None:
    boxes = np.array([[0, 0, 100, 100], [2, 2, 101, 99], [200, 200, 300, 300]], dtype=np.float32)
    scores = np.zeros((3, 80), dtype=np.float32)
    scores[:, 2] = [0.7, 0.8, 0.1]
    scores[2, 33] = 0.9  # a kite: nothing that stands at a gate
    found = found_in(Raw(boxes, scores), 0.4)
    assert [(one.label, round(one.score, 1)) for one in found] == [("car", 0.8)]
    assert isinstance(found[0], Found)


@pytest.mark.parametrize("shape", [(1, 1), (1, 900), (900, 1), (5, 5), (480, 640)])
def test_a_picture_of_any_shape_gives_facts_of_the_vocabulary(eyes: Eyes, shape: tuple[int, int]) -> None:
    scene = eyes.look(plain((90, 90, 90), *shape))
    assert scene.facts["vehicle"] in VEHICLES
    assert scene.facts["people"] in PEOPLE
    assert scene.facts["colour"] in COLOURS
    assert all(0 <= score <= 1 for score in scene.scores.values())


def test_a_plain_wall_shows_nothing(eyes: Eyes) -> None:
    scene = eyes.look(plain((128, 128, 128), 480, 640))
    assert (scene.facts["vehicle"], scene.facts["people"]) == ("none", "none")


def test_no_reader_no_plate_and_a_plate_are_three_answers(eyes: Eyes) -> None:
    wall = plain((128, 128, 128), 200, 300)
    assert eyes.look(wall, text=True).facts["plate_text"] is None
    assert Eyes(eyes.detector, eyes.tagger, Reads(("EXIT", 0.9))).look(wall, text=True).facts["plate_text"] == ""
    seen = Eyes(eyes.detector, eyes.tagger, Reads(("ka 12 c", 0.9), ("EXIT", 0.8))).look(wall, text=True)
    assert (seen.facts["plate_text"], seen.facts["text_seen"]) == ("KA12C", ["ka 12 c", "EXIT"])
    assert seen.scores["plate_text"] == 0.9


def test_text_is_read_only_when_it_is_asked_for(eyes: Eyes) -> None:
    scene = Eyes(eyes.detector, eyes.tagger, Reads(("KA 12 C", 0.9))).look(plain((128, 128, 128)))
    assert scene.facts["plate_text"] is None
    assert "Text" not in scene.reason


def test_every_label_that_speaks_for_a_vehicle_exists(eyes: Eyes) -> None:
    assert len(eyes.tagger.labels) == 1000
    assert {label for labels in KINDS.values() for label in labels} <= set(eyes.tagger.labels)
