"""`siteward demo --once`: the main job of the product on one screen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .running import COULD_NOT, DONE, Said, contents, siteward


def test_the_story_ends_with_the_gate_open_and_every_step_in_the_run(story: tuple[Path, Said]) -> None:
    told = story[1].json
    assert told["ok"] is True
    assert told["gate"] == "open"
    assert told["run"]["state"] == "done"
    steps = [(step["kind"], step["status"]) for step in told["run"]["steps"]]
    assert steps == [(kind, "done") for kind in ("ai", "log", "ask_person", "gate.open", "log", "log")]
    assert told["run"]["steps"][0]["outcome"] == "car"
    assert told["run"]["steps"][2]["result"]["by"] == "user:guard"


def test_the_gate_itself_says_that_it_opened_once(story: tuple[Path, Said]) -> None:
    lines = [json.loads(line) for line in (story[0] / "demo" / "gate.log").read_text().splitlines()]
    assert [line["did"] for line in lines] == ["open"]


def test_sent_away_the_run_is_done_and_the_gate_stays_shut(tmp_path: Path) -> None:
    said = siteward("demo", "--once", "--answer", "Send away", "--keep", tmp_path / "site")
    assert said.code == DONE
    assert "Send away" in said.out
    assert "The gate is closed." in said.out
    assert "The model says: “Seen: a grey car" in said.out
    assert not (tmp_path / "site" / "demo" / "gate.log").exists()


def test_a_reply_that_nobody_offers_is_refused_with_those_that_are() -> None:
    said = siteward("demo", "--once", "--answer", "Open sesame")
    assert said.code == COULD_NOT
    assert said.sentence == "The guard is asked for one of Let in, Send away; Open sesame is none of them."


@pytest.mark.parametrize("as_json", [False, True])
def test_a_site_that_is_there_is_never_played_over(story: tuple[Path, Said], *, as_json: bool) -> None:
    folder = story[0]
    before = contents(folder)
    said = siteward("demo", "--once", *(["--json"] if as_json else []), "--keep", folder)
    assert said.code == COULD_NOT
    sentence = said.json["error"]["message"] if as_json else said.sentence
    assert sentence == f"There is a site in {folder} already, and nothing was changed; name another folder."
    assert contents(folder) == before


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    said = siteward("demo", "--once", "--keep", tmp_path / "file" / "site")
    assert said.code == COULD_NOT
    assert said.sentence.startswith(f"{tmp_path}/file/site cannot be written: Not a directory.")
    assert (tmp_path / "file").read_text() == "mine"
