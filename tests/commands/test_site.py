"""Commands that make a site and look at it: `init`, `runs`, `try`, `integration list`, `models`."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from siteward.core.engine.limits import SENTENCES, Refusal

from .running import COULD_NOT, DONE, REFUSED, contents, on, siteward

WORKFLOW = "Gate concierge (demo)"


def test_init_makes_a_site_once_and_never_over_one(tmp_path: Path) -> None:
    made = on(tmp_path / "new", "init")
    assert made.code == DONE
    assert f"siteward --config {tmp_path}/new run" in made.out
    file = tmp_path / "new" / "configuration.yaml"
    file.write_text("name: Mine\n")
    again = on(tmp_path / "new", "init")
    assert (again.code, again.sentence) == (REFUSED, f"{file} exists already; nothing was changed.")
    assert file.read_text() == "name: Mine\n"
    assert on(tmp_path / "new", "runs").out.strip() == "No runs yet."


def test_the_folder_of_the_environment_is_the_site(monkeypatch: pytest.MonkeyPatch, site: Path) -> None:
    monkeypatch.setenv("SITEWARD_CONFIG", str(site))
    assert siteward("runs", "--json").json[0]["workflow"] == WORKFLOW


def test_runs_lists_the_run(site: Path) -> None:
    (run,) = on(site, "runs", "--json").json
    assert (run["workflow"], run["mode"], run["state"]) == (WORKFLOW, "on", "done")
    said = on(site, "runs")
    assert said.code == DONE
    assert "done" in said.out


def test_runs_says_which_events_started_none_and_why(site: Path) -> None:
    assert "started no run" not in on(site, "runs").out
    with closing(sqlite3.connect(site / "siteward.db")) as database, database:
        (workflow,) = database.execute("SELECT id FROM workflows").fetchone()
        sample = json.dumps({"event": "e", "at": 0.0, "why": SENTENCES[Refusal.COOLDOWN]})
        row = (workflow, f"refused.{Refusal.COOLDOWN}", "2026-11-30T18", 2, sample)
        database.execute("INSERT INTO counters (scope, name, bucket, count, sample) VALUES (?, ?, ?, ?, ?)", row)
    said = on(site, "runs").out.splitlines()
    assert said[-2:] == [
        "Events that started no run:",
        f"  {WORKFLOW}: 2 in the hour of 2026-11-30T18 UTC. The cooldown of this workflow is not over.",
    ]


def test_try_decides_the_past_and_does_nothing(site: Path) -> None:
    log = (site / "demo" / "gate.log").read_bytes()
    rows = on(site, "try", WORKFLOW, "--last", "21", "--json").json
    assert len(rows) == 21  # the 20 past events, and the vehicle of the story
    assert {row["decision"] for row in rows} >= {"car", "unsure"}
    assert all(row["state"] == "done" and row["reason"] for row in rows)
    assert all(any(one.startswith("ask: ") for one in row["would_have"]) for row in rows)
    assert (site / "demo" / "gate.log").read_bytes() == log
    assert len(on(site, "runs", "--json").json) == 1


def test_try_prints_a_table_that_fits_a_screen(site: Path) -> None:
    said = on(site, "try", WORKFLOW, "--last", "2")
    assert said.code == DONE
    lines = said.out.rstrip().splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) < 2 * 20
    assert "car (0.95)" in said.out


def test_try_of_an_unknown_workflow_names_those_that_are_there(site: Path) -> None:
    said = on(site, "try", "Nope")
    assert said.code == COULD_NOT
    assert said.sentence == f"There is no workflow called Nope. The site's workflows: {WORKFLOW}."
    assert on(site, "try", "Nope", "--json").json["error"]["code"] == "not_found"


@pytest.mark.parametrize("command", [("runs",), ("try", "x"), ("models", "list"), ("integration", "list"), ("run",)])
def test_without_a_site_every_command_says_how_to_get_one(tmp_path: Path, command: tuple[str, ...]) -> None:
    said = on(tmp_path / "none", *command)
    assert said.code == COULD_NOT
    assert said.sentence.startswith(f"there is no site in {tmp_path}/none (no configuration.yaml). Start the demo with")
    assert not (tmp_path / "none").exists()


def test_integration_list_says_what_became_of_each(site: Path) -> None:
    told = {row["domain"]: row["state"] for row in on(site, "integration", "list", "--json").json}
    assert told.keys() >= {"camera", "demo", "embedded", "gate_relay", "look"}
    assert {domain for domain, state in told.items() if state != "loaded"} == {"mqtt", "nats"}
    assert {told["mqtt"], told["nats"]} == {"discovered"}
    assert "gate_relay" in on(site, "integration", "list").out


def test_models_list_says_what_the_site_sees_with_and_what_can_be_added(site: Path) -> None:
    told = on(site, "models", "list", "--json").json
    assert [(model["name"], model["state"], model["images"]) for model in told["models"]] == [("eyes", "ready", True)]
    assert told["can_be_added"] == ["rapidocr"]
    assert "rapidocr" in on(site, "models", "list").out


def test_models_add_refuses_what_it_does_not_know(site: Path) -> None:
    said = on(site, "models", "add", "eyeglasses")
    assert (said.code, said.sentence) == (
        COULD_NOT,
        "There are no model files called eyeglasses; there are rapidocr.",
    )


def test_models_add_from_an_index_that_has_nothing_leaves_nothing(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "index").mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    before = contents(site)
    said = on(site, "models", "add", "rapidocr")
    assert said.code == COULD_NOT
    assert said.sentence.startswith("The package index did not give rapidocr-onnxruntime==")
    assert contents(site) == before
