"""Case sets: what is refused, and what the shipped ones promise."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from siteward.core.errors import ConfigurationInvalid
from siteward.core.evaluation import Case, CaseSet, held_out, load_cases, shipped_cases
from siteward.core.evaluation.cases import Drawn
from siteward.core.evaluation.pictures import picture_of


@pytest.fixture(scope="module")
def gate() -> CaseSet:
    return load_cases(next(file for file in shipped_cases() if file.stem == "gate_look"))


def test_every_shipped_set_can_be_read_and_its_pictures_are_unchanged() -> None:
    assert {file.stem for file in shipped_cases()} >= {"gate_look", "gate_plates"}
    for file in shipped_cases():
        assert load_cases(file).cases


def test_the_gates_look_has_enough_distinct_cases_of_every_kind_in_both_halves(gate: CaseSet) -> None:
    assert len(gate.cases) >= 48
    assert len({(case.picture, case.box) for case in gate.cases}) == len(gate.cases)
    halves = [Counter(case.decision for case in gate.cases if case.held_out is held) for held in (False, True)]
    assert all(half.keys() == set(gate.step.spec.options) for half in halves)
    assert sum(halves[1].values()) >= 24


def test_no_kind_is_more_than_half_of_the_cases(gate: CaseSet) -> None:
    counts = Counter(case.decision for case in gate.cases)
    assert max(counts.values()) <= len(gate.cases) / 2
    assert sum(1 for case in gate.cases if case.hard) >= 12


def test_no_two_cases_show_nearly_the_same_part_of_a_picture(gate: CaseSet) -> None:
    boxes = [(case.picture, case.box) for case in gate.cases if case.box]
    for index, (picture, box) in enumerate(boxes):
        for other, another in boxes[index + 1 :]:
            if picture == other:
                assert overlap(box, another) < 0.5


def overlap(one: tuple[int, int, int, int], two: tuple[int, int, int, int]) -> float:
    width = min(one[2], two[2]) - max(one[0], two[0])
    height = min(one[3], two[3]) - max(one[1], two[1])
    shared = max(0, width) * max(0, height)
    both = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, two))
    return shared / (both - shared)


def test_the_halves_are_chosen_by_hash_and_not_by_order(gate: CaseSet) -> None:
    shuffled = list(gate.cases)
    random.Random(3).shuffle(shuffled)
    assert held_out(shuffled) == held_out(gate.cases) == {case.id for case in gate.cases if case.held_out}


def test_a_new_case_of_one_kind_never_moves_those_of_another(gate: CaseSet) -> None:
    more = [*gate.cases, replace(gate.cases[0], id="one-more-car")]
    people = {case.id for case in gate.cases if case.decision == "person"}
    assert held_out(more) & people == held_out(gate.cases) & people


def decoded(data: bytes) -> NDArray[Any]:
    picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert picture is not None
    return picture


def test_every_crop_is_inside_its_picture(gate: CaseSet) -> None:
    for case in gate.cases:
        if case.box is None:
            continue
        height, width = decoded(case.picture.read_bytes()).shape[:2]
        assert 0 <= case.box[0] < case.box[2] <= width
        assert 0 <= case.box[1] < case.box[3] <= height


def a_picture(folder: Path) -> Path:
    file = folder / "a.png"
    cv2.imwrite(str(file), np.zeros((40, 60, 3), dtype=np.uint8))
    return file


def test_a_crop_is_cut_without_loss_and_drawn_text_is_on_it(tmp_path: Path) -> None:
    case = Case("c", a_picture(tmp_path), "car", box=(10, 5, 50, 35))
    shown = decoded(picture_of(case).data)
    assert shown.shape == (30, 40, 3)
    assert not shown.any()
    drawn = replace(case, drawn=Drawn("KA1", (15, 10, 45, 25)))
    assert decoded(picture_of(drawn).data).any()


def test_a_box_outside_its_picture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match="outside"):
        picture_of(Case("c", a_picture(tmp_path), "car", box=(100, 100, 120, 120)))


def a_set(folder: Path, **changes: object) -> Path:
    picture = a_picture(folder)
    case: dict[str, object] = {"id": "c", "picture": "a.png", "shows": "x", "expect": {"decision": "car"}}
    body: dict[str, object] = {
        "kind": "look",
        "name": "s",
        "pictures": ".",
        "step": {"decision": ["car", "bus"], "fields": {"colour": "text"}},
        "files": {"a.png": hashlib.sha256(picture.read_bytes()).hexdigest()},
        "cases": [case],
        **changes,
    }
    file = folder / "s.yaml"
    file.write_text(yaml.safe_dump(body), encoding="utf-8")
    return file


def test_a_whole_set_is_read(tmp_path: Path) -> None:
    assert load_cases(a_set(tmp_path)).cases[0].decision == "car"


ONE = {"id": "c", "picture": "a.png", "shows": "x"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"files": {"a.png": "0" * 64}}, "labelled on other bytes"),
        ({"files": {"b.png": "0" * 64}}, "is not in"),
        ({"cases": []}, "is not a case set"),
        ({"kind": "text"}, "is not a case set"),
        ({"step": {"decision": []}}, "is not a case set"),
        ({"cases": [{**ONE, "expect": {"decision": "lorry"}}]}, "cannot decide"),
        ({"cases": [{**ONE, "expect": {}}]}, "says nothing"),
        ({"cases": [{**ONE, "expect": {"fields": {"size": "big"}}}]}, "does not have"),
        ({"cases": [{**ONE, "expect": {"decision": "car"}}] * 2}, "two cases of one id"),
        ({"cases": [{**ONE, "picture": "z.png", "expect": {"decision": "car"}}]}, "no sum"),
    ],
)
def test_a_wrong_set_is_one_clear_sentence(tmp_path: Path, changes: dict[str, object], sentence: str) -> None:
    file = a_set(tmp_path, **changes)
    with pytest.raises(ConfigurationInvalid, match=sentence) as caught:
        load_cases(file)
    assert caught.value.where == str(file)


def test_a_set_that_cannot_be_opened_or_parsed_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match="cannot be opened"):
        load_cases(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_text("{", encoding="utf-8")
    with pytest.raises(ConfigurationInvalid, match="is not well-formed YAML in line 1"):
        load_cases(tmp_path / "bad.yaml")
