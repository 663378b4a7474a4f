"""`siteward eval`: a case set of one's own, and one that is broken."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import yaml

from siteward.integrations import demo

from .running import COULD_NOT, DONE, REFUSED, siteward

PICTURES = Path(demo.__file__).parent / "pictures"
PICTURE = "c04-yard-intel-001.jpg"
STEP = {
    "prompt": "What is it?",
    "input": "picture",
    "decision": ["car", "other"],
    "fields": {"vehicle": ["none", "car"]},
    "rules": [{"when": {"vehicle": "car"}, "then": "car"}, {"then": "other"}],
}


def cases(folder: Path, **changes: object) -> Path:
    """A set of two cases of one picture."""
    case = {"picture": PICTURE, "shows": "A white car.", "expect": {"decision": "car"}}
    found: dict[str, object] = {
        "kind": "look",
        "name": "mine",
        "pictures": str(PICTURES),
        "step": STEP,
        "files": {PICTURE: hashlib.sha256((PICTURES / PICTURE).read_bytes()).hexdigest()},
        "cases": [{"id": "one", **case}, {"id": "two", **case}],
    }
    file = folder / "mine.yaml"
    file.write_text(yaml.safe_dump(found | changes))
    return file


def test_a_small_set_is_evaluated_with_both_halves_apart(tmp_path: Path) -> None:
    said = siteward("--config", tmp_path, "eval", "--json", cases(tmp_path))
    assert said.code == DONE
    (report,) = said.json["reports"]
    assert [report["groups"][half]["cases"] for half in ("seen", "held-out")] == [1, 1]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mine.yaml"]


def test_what_is_not_reached_is_an_exit_code(tmp_path: Path) -> None:
    # One case of one never proves more than 0.21 (Wilson, 95 %).
    assert siteward("--config", tmp_path, "eval", "--least", "0.9", cases(tmp_path)).code == REFUSED


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"files": {PICTURE: "0" * 64}}, f"was labelled on other bytes than {PICTURE} has now."),
        ({"pictures": "nowhere"}, f"names the picture {PICTURE}, which is not in "),
        ({"cases": []}, "is not a case set: "),
    ],
)
def test_a_set_that_cannot_be_used_is_said_in_one_sentence(
    tmp_path: Path, changes: dict[str, object], says: str
) -> None:
    said = siteward("--config", tmp_path, "eval", cases(tmp_path, **changes))
    assert said.code == COULD_NOT
    assert said.sentence.startswith(f"The case set {tmp_path}/mine.yaml ")
    assert says in said.sentence


def test_a_set_that_is_no_yaml_is_said_with_line_and_column(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("kind: look\ncases: [\n")
    said = siteward("--config", tmp_path, "eval", tmp_path / "mine.yaml")
    assert said.code == COULD_NOT
    assert "is not well-formed YAML in line 3, column 1: " in said.sentence


def test_a_kind_of_model_that_nobody_opens_is_said(tmp_path: Path) -> None:
    said = siteward("--config", tmp_path, "eval", "--model", "crystal.ball", cases(tmp_path))
    assert said.code == COULD_NOT
    assert "is of the kind crystal.ball, which no loaded integration opens" in said.sentence
