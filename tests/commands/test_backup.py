"""`siteward backup` and `restore`: a site goes into one file and comes back whole, or is left as it was."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from siteward.core.site_archive import MANIFEST
from siteward.core.site_lock import SiteLock
from siteward.core.site_restore import restore
from siteward.core.site_swap import STAGING

from .running import COULD_NOT, DONE, Said, contents, on, siteward

SECRET = "hunter22"


@pytest.fixture
def site(site: Path) -> Path:
    """The played site, with secrets, an integration of its own and things that belong in no backup."""
    (site / "secrets.yaml").write_text(f"nvr: {SECRET}\n")
    own = site / "custom_integrations" / "mine"
    own.mkdir(parents=True)
    (own / "manifest.yaml").write_text("domain: mine\nname: Mine\nversion: 1.0.0\n")
    (own / "__init__.py").write_text("")
    (own / "__pycache__").mkdir()
    (own / "__pycache__" / "x.pyc").write_bytes(b"x")
    (site / "yard-pictures").mkdir()
    (site / "yard-pictures" / "1.jpg").write_bytes(b"\xff\xd8")
    return site


@pytest.fixture
def backup(site: Path, tmp_path: Path) -> Path:
    """A backup of it."""
    file = tmp_path / "backup.zip"
    said = on(site, "backup", "--to", file)
    assert said.code == DONE, said
    return file


def kept(folder: Path) -> dict[str, bytes]:
    """What a backup holds of a site, but for the database's own bytes."""
    files = contents(folder)
    own = {name for name in files if name.startswith(("siteward.db", "yard-pictures", "demo/", "replaced-", STAGING))}
    return {name: text for name, text in files.items() if name not in own and "__pycache__" not in name}


def rows(folder: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(folder / "siteward.db")) as database:
        return database.execute(query).fetchall()


def spoil(site: Path) -> None:
    """What happens to a site between a backup and the day that it is needed."""
    (site / "configuration.yaml").write_text("name: [\n")
    (site / "workflows" / "stray.yaml").write_text("stray\n")
    (site / "secrets.yaml").unlink()
    with closing(sqlite3.connect(site / "siteward.db")) as database, database:
        for table in ("workflow_run_steps", "workflow_runs"):
            database.execute(f"DELETE FROM {table}")


def test_a_site_comes_back_as_it_was(site: Path, backup: Path) -> None:
    before, runs = kept(site), on(site, "runs", "--json").json
    spoil(site)
    said = on(site, "restore", backup)
    assert said.code == DONE, said
    assert f"is Demo site as of {datetime.now(UTC):%Y-%m-%d}" in said.out
    assert kept(site) == before
    assert on(site, "runs", "--json").json == runs
    assert rows(site, "PRAGMA integrity_check") == [("ok",)]
    assert (site / "yard-pictures" / "1.jpg").exists()


def test_what_was_there_is_kept_aside(site: Path, backup: Path) -> None:
    spoil(site)
    told = on(site, "restore", backup, "--json").json
    aside = Path(told["replaced"])
    assert aside.parent == site
    assert (aside / "workflows" / "stray.yaml").read_text() == "stray\n"
    assert (aside / "siteward.db").exists()
    assert not (site / STAGING).exists()


def test_a_restore_makes_a_site_where_there_is_none(backup: Path, tmp_path: Path) -> None:
    said = on(tmp_path / "other" / "place", "restore", backup)
    assert said.code == DONE
    assert "was there before" not in said.out
    assert on(tmp_path / "other" / "place", "runs", "--json").json[0]["state"] == "done"


def test_nobody_is_logged_in_and_the_moment_is_noted(site: Path, backup: Path) -> None:
    assert rows(site, "SELECT count(*) FROM sessions") != [(0,)]
    on(site, "restore", backup)
    assert rows(site, "SELECT count(*) FROM sessions") == [(0,)]
    ((at,),) = rows(site, "SELECT value FROM site_settings WHERE name = 'restored_at'")
    assert abs(json.loads(at) - datetime.now(UTC).timestamp()) < 600


def test_secrets_are_for_the_owner_alone(site: Path, backup: Path, tmp_path: Path) -> None:
    assert backup.stat().st_mode & 0o777 == 0o600
    on(site, "restore", backup)
    assert (site / "secrets.yaml").stat().st_mode & 0o777 == 0o600
    assert (site / "siteward.db").stat().st_mode & 0o777 == 0o600
    said = on(site, "backup", "--without-secrets", "--to", tmp_path / "bare.zip")
    assert "Not in it: secrets.yaml." in said.out
    with zipfile.ZipFile(tmp_path / "bare.zip") as archive:
        assert "secrets.yaml" not in archive.namelist()
        assert not any(SECRET.encode() in archive.read(name) for name in archive.namelist())


def test_a_backup_holds_no_caches_and_no_pictures_of_cameras(backup: Path) -> None:
    with zipfile.ZipFile(backup) as archive:
        names = set(archive.namelist())
    assert {"configuration.yaml", "secrets.yaml", "siteward.db", "custom_integrations/mine/__init__.py"} <= names
    assert not any("__pycache__" in name or name.startswith((".", "yard-pictures", "demo/")) for name in names)


def test_a_linked_folder_is_left_out_and_said(site: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.py").write_text("")
    (site / "custom_integrations" / "linked").symlink_to(tmp_path / "elsewhere")
    said = on(site, "backup", "--to", tmp_path / "b.zip")
    assert "Not in it: custom_integrations/linked." in said.out
    assert on(tmp_path / "new", "restore", tmp_path / "b.zip").code == DONE


def test_a_file_that_is_there_is_not_overwritten(site: Path, backup: Path) -> None:
    before = backup.read_bytes()
    said = on(site, "backup", "--to", backup)
    assert (said.code, said.sentence) == (
        COULD_NOT,
        f"{backup} exists already, and nothing was changed; name another file.",
    )
    assert backup.read_bytes() == before


def test_a_folder_gets_a_file_with_the_date(site: Path, tmp_path: Path) -> None:
    (tmp_path / "backups").mkdir()
    told = on(site, "backup", "--to", tmp_path / "backups", "--json").json
    assert Path(told["file"]).parent == tmp_path / "backups"
    assert [one.name for one in (tmp_path / "backups").iterdir()] == [Path(told["file"]).name]


def test_a_place_that_cannot_be_written_is_said(site: Path, tmp_path: Path) -> None:
    said = on(site, "backup", "--to", tmp_path / "none" / "b.zip")
    assert said.code == COULD_NOT
    assert "No such file or directory" in said.sentence


def test_a_running_site_is_not_restored(site: Path, backup: Path) -> None:
    before = contents(site)
    with SiteLock(site):
        said = on(site, "restore", backup)
    assert said.code == COULD_NOT
    assert "is already running" in said.sentence
    assert contents(site) == before


def test_verify_reads_it_all_and_changes_nothing(site: Path, backup: Path) -> None:
    before = contents(site)
    said = on(site, "restore", backup, "--verify")
    assert (said.code, "is whole: Demo site of" in said.out) == (DONE, True)
    assert contents(site) == before


def test_a_backup_of_an_older_version_is_brought_up_to_date(site: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(site / "siteward.db")) as database, database:
        for since in (
            "ALTER TABLE workflows DROP COLUMN on_version",
            "DROP INDEX ix_alerts_run_id",
            "DROP TABLE engines",
            "DROP TABLE leases",
            "DROP INDEX ix_workflow_runs_event_id",
            "UPDATE alembic_version SET version_num = '0002'",
        ):
            database.execute(since)
    assert on(site, "backup", "--to", tmp_path / "old.zip").code == DONE
    assert on(site, "restore", tmp_path / "old.zip").code == DONE
    assert on(site, "runs", "--json").json[0]["state"] == "done"


# -- what is refused ---------------------------------------------------------------------------------------------------
class Forged:
    """A backup as somebody else might write it: members by name, and a manifest that may say anything."""

    def __init__(self, backup: Path) -> None:
        with zipfile.ZipFile(backup) as archive:
            self.members = {name: archive.read(name) for name in archive.namelist() if name != MANIFEST}
            self.manifest: dict[str, Any] = json.loads(archive.read(MANIFEST))
        self.entries: list[tuple[zipfile.ZipInfo | str, bytes]] = []

    def add(self, name: str, text: bytes, mode: int = 0o100644, *, says: int | None = None) -> None:
        import hashlib

        entry = zipfile.ZipInfo(name)
        entry.external_attr = mode << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.entries.append((entry, text))
        size = len(text) if says is None else says
        self.manifest["members"][name] = {"size": size, "sha256": hashlib.sha256(text).hexdigest()}

    def write(self, file: Path) -> Path:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in self.members.items():
                archive.writestr(name, text)
            for entry, text in self.entries:
                archive.writestr(entry, text)
            archive.writestr(MANIFEST, json.dumps(self.manifest))
        return file


def refused(site: Path, file: Path) -> str:
    before = contents(site)
    said = on(site, "restore", file)
    assert said.code == COULD_NOT, said
    assert contents(site) == before
    assert not (site / STAGING).exists()
    return said.sentence


@pytest.mark.parametrize(
    "name",
    [
        "../evil.yaml",
        "/etc/evil.yaml",
        "workflows/../../evil.yaml",
        "workflows\\..\\evil.yaml",
        "workflows//evil.yaml",
        ".hidden.yaml",
        ".siteward.lock",
        "siteward.db-wal",
        "demo/gate.log",
        "notes.txt",
        "workflows/" + "x" * 300,
        "workflows" + "/x" * 40,
    ],
)
def test_a_member_that_no_backup_has_is_refused(site: Path, backup: Path, tmp_path: Path, name: str) -> None:
    forged = Forged(backup)
    forged.add(name, b"evil")
    sentence = refused(site, forged.write(tmp_path / "forged.zip"))
    assert "which no backup has" in sentence
    assert not (tmp_path / "evil.yaml").exists()


def test_a_link_is_refused(site: Path, backup: Path, tmp_path: Path) -> None:
    forged = Forged(backup)
    forged.add("workflows/link", b"/etc", 0o120777)
    assert "which no backup has" in refused(site, forged.write(tmp_path / "forged.zip"))


def test_a_bomb_is_not_unpacked(site: Path, backup: Path, tmp_path: Path) -> None:
    forged = Forged(backup)
    forged.add("models/big", b"\0" * 5_000_000, says=10)
    assert "is not as it was written" in refused(site, forged.write(tmp_path / "forged.zip"))
    forged.manifest["members"]["models/big"]["size"] = 10**15
    assert "is not as it was written" in refused(site, forged.write(tmp_path / "forged2.zip"))


def test_more_than_the_disk_holds_is_refused(site: Path, backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    usage = shutil.disk_usage(site)
    monkeypatch.setattr("siteward.core.site_restore.shutil.disk_usage", lambda _: usage._replace(free=64 * 2**20))
    assert "Make room first" in refused(site, backup)


def test_a_changed_member_is_refused(site: Path, backup: Path, tmp_path: Path) -> None:
    forged = Forged(backup)
    text = forged.members["configuration.yaml"]
    forged.members["configuration.yaml"] = text.replace(b"Demo site", b"Evil site")
    sentence = refused(site, forged.write(tmp_path / "forged.zip"))
    assert "configuration.yaml in the backup is not as it was written" in sentence


def test_what_the_manifest_does_not_name_is_refused(site: Path, backup: Path, tmp_path: Path) -> None:
    forged = Forged(backup)
    forged.add("workflows/more.yaml", b"more")
    del forged.manifest["members"]["workflows/more.yaml"]
    assert "does not hold what its manifest names" in refused(site, forged.write(tmp_path / "forged.zip"))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_twice_is_refused(site: Path, backup: Path, tmp_path: Path) -> None:
    forged = Forged(backup)
    forged.entries.append(("configuration.yaml", forged.members["configuration.yaml"]))
    assert "holds a file twice" in refused(site, forged.write(tmp_path / "forged.zip"))


def test_a_newer_backup_is_refused(site: Path, backup: Path, tmp_path: Path) -> None:
    forged = Forged(backup)
    forged.manifest["revision"] = "9999"
    assert "was written by a newer Siteward" in refused(site, forged.write(tmp_path / "forged.zip"))
    forged.manifest["format"] = 2
    assert "is of format 2, which this Siteward does not know" in refused(site, forged.write(tmp_path / "two.zip"))


def test_a_newer_database_in_it_is_refused_whatever_the_manifest_says(site: Path, backup: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch.db"
    forged = Forged(backup)
    scratch.write_bytes(forged.members.pop("siteward.db"))
    with closing(sqlite3.connect(scratch)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    forged.add("siteward.db", scratch.read_bytes())
    assert "was written by a newer Siteward" in refused(site, forged.write(tmp_path / "forged.zip"))


def test_a_damaged_database_in_it_is_refused(site: Path, backup: Path, tmp_path: Path) -> None:
    forged = Forged(backup)
    pages = bytearray(forged.members.pop("siteward.db"))
    pages[4096 * 5 : 4096 * 9] = b"\xa5" * 4096 * 4
    forged.add("siteward.db", bytes(pages))
    sentence = refused(site, forged.write(tmp_path / "forged.zip"))
    assert "damaged" in sentence or "malformed" in sentence


@pytest.mark.parametrize("text", [b"", b"PK\x03\x04 no zip", b"\0" * 100_000])
def test_what_is_no_backup_is_refused(site: Path, tmp_path: Path, text: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(text)
    assert "is no backup, or is damaged" in refused(site, tmp_path / "x.zip")


def test_a_file_that_was_cut_short_or_bent_is_refused(site: Path, backup: Path, tmp_path: Path) -> None:
    whole = backup.read_bytes()
    bent = tmp_path / "bent.zip"
    for cut in (len(whole) // 2, len(whole) - 10):
        bent.write_bytes(whole[:cut])
        refused(site, bent)
    for at in range(100, len(whole), len(whole) // 12):
        bent.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        refused(site, bent)


def test_a_file_that_is_not_there_is_said(site: Path, tmp_path: Path) -> None:
    assert "cannot be opened: No such file" in refused(site, tmp_path / "none.zip")


# -- cut off -----------------------------------------------------------------------------------------------------------
class PowerCut(BaseException):
    """The machine stops here."""


def cuts(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Stop at the rename after this many."""
    real, done = Path.rename, 0

    def rename(self: Path, target: Path) -> Path:
        nonlocal done
        done += 1
        if done > after:
            raise PowerCut
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)


def cut_restore(site: Path, backup: Path, after: int) -> bool:
    """A restore that is cut off after some renames; whether it was."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        cuts(monkeypatch, after)
        try:
            restore(backup, site, datetime.now(UTC))
        except PowerCut:
            return True
    return False


def test_a_restore_that_is_cut_off_at_any_rename_is_all_or_nothing(site: Path, backup: Path, tmp_path: Path) -> None:
    good = kept(site)
    (site / "configuration.yaml").write_text("name: Other\n")
    other = kept(site)
    for after in range(100):
        if not cut_restore(site, backup, after):
            break
        if after == 0:  # before the point of no return
            assert kept(site) == other
            assert on(site, "runs").code == DONE
            continue
        looked = on(site, "runs")
        assert (looked.code, "a restore of the site" in looked.sentence) == (COULD_NOT, True)
        assert (
            on(site, "restore", tmp_path / "none.zip").code == COULD_NOT
        )  # it finishes what was cut off, then refuses
        assert kept(site) == good
        assert on(site, "runs", "--json").json[0]["state"] == "done"
        (site / "configuration.yaml").write_text("name: Other\n")
    assert after > 8
    assert kept(site) == good


def test_the_host_finishes_a_restore_before_it_starts(site: Path, backup: Path) -> None:
    assert cut_restore(site, backup, 3)
    (text,) = {name for name in kept(site) if name == "configuration.yaml"} or {""}
    assert text == ""  # moved aside: a host that started now would make a new site
    said = run_until_it_says(site, "is running at")
    assert "The restore that was cut off is finished." in said


def run_until_it_says(site: Path, says: str) -> str:
    """The output of `siteward run` in a process of its own, up to a line."""
    import subprocess
    import sys

    command = [
        sys.executable,
        "-c",
        "from siteward.core.cli import main; main()",
        "--config",
        str(site),
        "run",
        "--port",
        "0",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if says in line:
                break
        process.terminate()
    return "".join(said)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield


def test_without_a_name_it_is_written_here(site: Path, tmp_path: Path) -> None:
    said: Said = siteward("--config", site, "backup")
    (file,) = tmp_path.glob("siteward-*.zip")
    assert said.out.startswith(f"Wrote {file.name} (")
