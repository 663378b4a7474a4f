"""`siteward check`, `prune`, `doctor` and `status`: they say what is, and what to do about it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from siteward.core.site_lock import SiteLock

from .running import COULD_NOT, DONE, REFUSED, contents, on

WORKFLOW = "Gate concierge (demo)"
DAY = 24 * 3600.0


def change(site: Path, *statements: str) -> None:
    with closing(sqlite3.connect(site / "siteward.db")) as database, database:
        for statement in statements:
            database.execute(statement)


def found(site: Path, command: str) -> dict[str, dict[str, Any]]:
    """The findings of a command by their codes."""
    said = on(site, command, "--json").json
    assert said["ok"] == (not any(one["grade"] == "wrong" for one in said["findings"]))
    assert all(one["what"] and one["do"] for one in said["findings"])
    return {one["code"]: one for one in said["findings"]}


# -- check -------------------------------------------------------------------------------------------------------------
def test_a_sound_database_is_said_to_be_sound_and_nothing_changes(site: Path) -> None:
    before = contents(site)
    said = on(site, "check")
    assert (said.code, said.out) == (DONE, "The database is sound.\n")
    assert contents(site) == before


def test_a_site_without_a_database_has_nothing_to_check(tmp_path: Path) -> None:
    on(tmp_path / "new", "init")
    assert on(tmp_path / "new", "check").out.startswith("No host has run here yet")
    assert not (tmp_path / "new" / "siteward.db").exists()


BROKEN = {
    "run.waits_for_nothing": [
        "UPDATE workflow_runs SET state = 'waiting', ended_at = NULL",
        "UPDATE workflow_approvals SET state = 'cancelled'",
    ],
    "step.intent_of_ended_run": ["UPDATE workflow_run_steps SET status = 'intent' WHERE kind = 'gate.open'"],
    "approval.of_ended_run": ["UPDATE workflow_approvals SET state = 'open', rehearsal = 0"],
    "wait.of_ended_run": ["UPDATE waits SET state = 'open' WHERE run_id IS NOT NULL"],
    "row.without_run": [
        "INSERT INTO workflow_tool_calls (id, run_id, path, seq, row) VALUES ('x', 'gone', 'then.0', 0, '{}')",
    ],
    "workflow.version_gone": ["UPDATE workflows SET version = 99"],
    "workflow.on_version_gone": ["UPDATE workflows SET on_version = 99"],
    "picture.gone": ["DELETE FROM media"],
    "time.ahead": ["UPDATE workflow_runs SET started_at = started_at + 1e9"],
    "database.references": ["UPDATE workflow_runs SET event_id = 'gone'"],
}


@pytest.mark.parametrize("code", BROKEN)
def test_what_does_not_hold_is_found_and_said(site: Path, code: str) -> None:
    change(site, *BROKEN[code])
    said = found(site, "check")
    assert code in said
    plain = on(site, "check")
    assert plain.code == (REFUSED if any(one["grade"] == "wrong" for one in said.values()) else DONE)
    assert said[code]["what"] in plain.out.replace("\n", "")
    assert said[code]["do"] in plain.out


def test_a_damaged_file_is_said_with_what_to_do(site: Path) -> None:
    file = site / "siteward.db"
    pages = bytearray(file.read_bytes())
    for page in range(8, 40):
        pages[4096 * page : 4096 * page + 64] = b"\xa5" * 64
    file.write_bytes(pages)
    said = on(site, "check")
    assert said.code == REFUSED
    assert "The database is damaged: " in said.out
    assert "`siteward restore` the newest backup" in said.out


def test_what_is_no_database_is_said_too(site: Path) -> None:
    (site / "siteward.db").write_bytes(b"x" * 10_000)
    assert on(site, "check").code == COULD_NOT
    assert any("not a database" in one["what"] for one in found(site, "doctor").values())


# -- prune -------------------------------------------------------------------------------------------------------------
def test_prune_takes_what_is_old_and_says_how_much(site: Path) -> None:
    change(site, "UPDATE alerts SET acknowledged_at = at")
    before = contents(site)
    would = on(site, "prune", "--older-than", "0s", "--dry-run", "--json").json
    assert contents(site) == before
    assert would["runs"] == 1
    assert would["events"] >= 20
    done = on(site, "prune", "--older-than", "0s", "--json").json
    assert {name: done[name] for name in ("runs", "alerts", "audit")} == {
        name: would[name] for name in ("runs", "alerts", "audit")
    }
    assert on(site, "runs", "--json").json == []
    assert on(site, "check").code == DONE


def test_prune_leaves_what_is_young(site: Path) -> None:
    assert on(site, "prune").out.startswith("Gone: 0 runs, 0 events, 0 pictures")
    assert len(on(site, "runs", "--json").json) == 1


@pytest.mark.parametrize("age", ["", "x", "-1d", "30", "999d"])
def test_what_is_no_age_prunes_nothing(site: Path, age: str) -> None:
    said = on(site, "prune", "--older-than", age)
    assert said.code == COULD_NOT
    assert said.sentence.startswith("--older-than: ")
    assert len(on(site, "runs", "--json").json) == 1


# -- doctor ------------------------------------------------------------------------------------------------------------
def test_a_site_that_is_well_has_nothing_wrong(site: Path) -> None:
    said = on(site, "doctor")
    assert said.code == DONE
    assert "wrong" not in said.out.replace("Nothing is wrong.", "")
    assert "No host runs on this site now." in said.out
    told = found(site, "doctor")
    assert told.keys() == {"host.stopped", "thing.not_ready"}  # the demo's gate lives with its host


def test_doctor_and_status_change_nothing(site: Path) -> None:
    before = contents(site)
    on(site, "doctor")
    on(site, "status")
    assert contents(site) == before


def test_a_configuration_that_is_wrong_is_one_finding_beside_the_others(site: Path) -> None:
    (site / "secrets.yaml").write_text("a: b\n")
    (site / "secrets.yaml").chmod(0o644)
    file = site / "configuration.yaml"
    file.write_text(file.read_text().replace("cameras:", "camras:"))
    told = found(site, "doctor")
    assert "configuration.yaml:9:1" in told["configuration.invalid"]["what"]
    assert told["folder.readable_by_all"]["do"] == f"chmod 600 {site}/secrets.yaml"


def test_a_model_and_an_integration_that_are_not_there_are_said(site: Path) -> None:
    file = site / "configuration.yaml"
    text = file.read_text().replace("kind: embedded.perception", "kind: no.such")
    file.write_text(text.replace("integrations:\n", "integrations:\n  nowhere: {}\n"))
    said = on(site, "doctor")
    assert said.code == REFUSED
    assert "The model eyes is of the kind no.such" in said.out
    assert "There is no integration nowhere" in said.out


def test_a_workflow_that_needs_attention_is_said_with_its_reason(site: Path) -> None:
    change(site, """UPDATE workflows SET attention = '{"why":"missing","sentence":"Nobody provides gate.open now."}'""")
    told = found(site, "doctor")["workflow.attention"]
    assert told["what"] == f"The workflow “{WORKFLOW}” needs attention: Nobody provides gate.open now."


def test_what_is_late_is_wrong_only_where_a_host_runs(site: Path) -> None:
    long_ago = time.time() - 3600
    change(
        site,
        f"INSERT INTO waits (id, kind, due_at, state, payload) VALUES ('w', 'schedule', {long_ago}, 'open', '{{}}')",
        f"UPDATE events SET matched = NULL, accepted_at = {long_ago} WHERE id IN (SELECT id FROM events LIMIT 2)",
    )
    assert found(site, "doctor")["engine.behind"]["what"] == "1 waits are due and 2 events are not matched yet."
    with SiteLock(site) as lock, unanswered() as address:
        lock.tell(address)
        told = found(site, "doctor")
    assert told.keys() >= {"engine.waits_late", "engine.events_late", "host.silent"}
    assert f"(process {os.getpid()})" in told["host.silent"]["what"]


def test_a_clock_that_went_back_is_said(site: Path) -> None:
    change(site, f"UPDATE outbox SET at = {time.time() + 7300}")
    assert "2 hours ahead of this machine's clock" in found(site, "doctor")["clock.went_back"]["what"]


def test_a_past_that_does_not_leave_is_said(site: Path) -> None:
    change(
        site,
        f"UPDATE workflow_runs SET ended_at = {time.time() - 50 * DAY}",
        "UPDATE outbox SET id = id + 5000000 WHERE id = (SELECT max(id) FROM outbox)",
    )
    told = found(site, "doctor")
    assert told["retention.behind"]["what"] == "Runs that ended 50 days ago are still there."
    assert "live updates are kept" in told["outbox.growth"]["what"]


def test_a_disk_that_is_nearly_full_is_said(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(site)
    monkeypatch.setattr("siteward.core.doctor.shutil.disk_usage", lambda _: usage._replace(free=10 * 2**20))
    told = found(site, "doctor")["disk.full"]
    assert (told["grade"], "has 10 MiB free" in told["what"]) == ("wrong", True)


def test_a_newer_database_is_said(site: Path) -> None:
    change(site, "UPDATE alembic_version SET version_num = '9999'")
    assert "was written by a newer Siteward" in found(site, "doctor")["store.newer"]["what"]


# -- status ------------------------------------------------------------------------------------------------------------
def test_status_says_how_the_site_is(site: Path) -> None:
    said = on(site, "status")
    assert said.code == DONE
    lines = said.out.splitlines()
    assert lines[0].startswith("Demo site in ")
    assert lines[1] == "  No host runs."
    assert lines[2] == "  Workflows: 1 on."
    assert lines[3] == "  Runs now: none. Of the last 24 hours: 1 done."
    assert lines[4] == "  Questions that wait for somebody: 0."


@contextmanager
def unanswered() -> Iterator[str]:
    """An address that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_status_names_the_process_and_no_address_that_does_not_answer(site: Path) -> None:
    with SiteLock(site) as lock, unanswered() as address:
        told = on(site, "status", "--json").json
        assert (told["process"], told["address"]) == (str(os.getpid()), None)
        lock.tell(address)
        assert on(site, "status", "--json").json["address"] is None


def test_status_of_a_new_site(tmp_path: Path) -> None:
    on(tmp_path / "new", "init")
    assert "No host has run here yet." in on(tmp_path / "new", "status").out
    assert json.loads(on(tmp_path / "new", "status", "--json").out)["site"] == "My site"
