"""Commands that look leave a site as its host has it, whatever its files say by now."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from .running import COULD_NOT, DONE, on
from .test_accounts import add

WORKFLOW = "Gate concierge (demo)"
OF_A_TRY = ("workflow_runs", "workflow_run_steps", "workflow_tool_calls", "outbox")
"""Where a try leaves its run, marked as a try, and the live updates of it."""
LOOKING = (
    ("runs",),
    ("try", WORKFLOW, "--last", "1"),
    ("models", "list"),
    ("integration", "list"),
    ("user", "list"),
    ("validate", "FILE"),
    ("explain", "FILE"),
)


def rows(site: Path) -> dict[str, list[str]]:
    """Every row of the database by table, without those of tries."""
    with closing(sqlite3.connect(site / "siteward.db")) as database:
        tries = [run for (run,) in database.execute("SELECT id FROM workflow_runs WHERE mode = 'try'")]
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {name: sorted(map(repr, database.execute(f'SELECT * FROM "{name}"'))) for name in names}
    del found["sqlite_sequence"]  # the outbox's number
    for name in OF_A_TRY:
        found[name] = [row for row in found[name] if not any(run in row for run in tries)]
    return found


def edit(site: Path) -> None:
    """A configuration for the next start (other roles, lists, groups and destinations), and a workflow whose need of attention is over by now."""
    file = site / "configuration.yaml"
    text = file.read_text()
    for old, new in {
        "guard: [guard]": "guard: [demo-admin]",
        "yard: [yard] }": "yard: [yard], car_park: [yard] }",
        "lists:\n": "lists:\n  banned: { columns: { plate: plate }, match: plate, rows: [{ plate: X 1 }] }\n",
        "facts:": "destinations: { tickets: { url: 'https://tickets.example/hook', purpose: webhook } }\nfacts:",
    }.items():
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)
    with closing(sqlite3.connect(site / "siteward.db")) as database, database:
        database.execute("""UPDATE workflows SET attention = '{"why":"missing","sentence":"Nobody provides it."}'""")


@pytest.mark.parametrize("command", LOOKING, ids=lambda command: " ".join(command[:2]))
def test_who_looks_writes_nothing_of_an_edited_configuration(site: Path, command: tuple[str, ...]) -> None:
    edit(site)
    before = rows(site)
    file = next((site / "workflows").glob("*.yaml"))
    said = on(site, *(str(file) if one == "FILE" else one for one in command))
    assert "configuration.yaml" not in said.err, said
    assert rows(site) == before


def test_an_account_is_all_that_is_written_with_it(site: Path) -> None:
    edit(site)
    before = rows(site)
    assert add(site, "ben").code == DONE
    after = rows(site)
    changed = {name for name in after if after[name] != before[name]}
    assert changed <= {"users", "user_cameras", "groups", "audit"}


@pytest.mark.parametrize("command", [("runs",), ("integration", "list"), ("models", "list"), ("user", "list")])
def test_a_site_that_never_ran_is_looked_at_without_making_its_database(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    on(tmp_path / "new", "init")
    assert on(tmp_path / "new", *command).code == DONE
    assert not (tmp_path / "new" / "siteward.db").exists()


def test_a_database_of_an_older_version_is_left_to_the_host(site: Path) -> None:
    with closing(sqlite3.connect(site / "siteward.db")) as database, database:
        database.execute("UPDATE alembic_version SET version_num = '0001'")
    said = on(site, "runs")
    assert said.code == COULD_NOT
    assert "Start this version once with `siteward run`" in said.sentence
