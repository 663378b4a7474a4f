"""`siteward backup` and `restore` of a site whose database is on a server: its rows go into the file and come back in one transaction, or not at all."""

from __future__ import annotations

import asyncio
import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from siteward.core import site_restore
from siteward.core.clock import SystemClock
from siteward.core.host import open_host
from siteward.core.site_archive import MANIFEST, table_member
from siteward.core.site_swap import RestoreFailed
from siteward.core.store.schema import metadata

from .running import COULD_NOT, DONE, Said, contents, on
from .test_postgres_site import saved
from .test_postgres_site import site as site


def asked(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchall()


def done(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement)


@pytest.fixture
async def backup(site: Path, tmp_path: Path) -> Path:
    """A backup of the site with one workflow, a session and an outbox that counted to 41."""
    await saved(site)
    url = address(site)
    (site / "siteward.db").write_bytes(b"of a time before the site moved to the server")
    done(url, "INSERT INTO users (id, name, role, created_at) VALUES ('u', 'anna', 'admin', 0)")
    done(url, "INSERT INTO sessions (token_hash, user_id, csrf, created_at, expires_at) VALUES ('t', 'u', 'c', 0, 9e9)")
    done(url, "INSERT INTO outbox (id, at, topic, payload) VALUES (41, 0, 'a\tb\\n', '{}')")
    file = tmp_path.parent / f"{tmp_path.name}.zip"
    said = await asyncio.to_thread(on, site, "backup", "--to", file)
    assert said.code == DONE and "Not in it" not in said.out, said
    return file


def address(site: Path) -> str:
    return (site / "secrets.yaml").read_text().removeprefix("database: ").strip()


async def restored(site: Path, backup: Path) -> Said:
    return await asyncio.to_thread(on, site, "restore", backup, "--json")


def changed(backup: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Change a member as somebody does who also writes a manifest for it."""
    with zipfile.ZipFile(backup) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    members[name] = change(members[name])
    manifest = json.loads(members[MANIFEST])
    manifest["members"][name] = {"size": len(members[name]), "sha256": hashlib.sha256(members[name]).hexdigest()}
    members[MANIFEST] = json.dumps(manifest).encode()
    with zipfile.ZipFile(backup, "w") as archive:
        for one, text in members.items():
            archive.writestr(one, text)


async def test_every_table_is_in_it(backup: Path) -> None:
    with zipfile.ZipFile(backup) as archive:
        held = set(archive.namelist())
    assert {table_member(table) for table in metadata.tables} <= held
    assert "siteward.db" not in held


async def test_what_was_lost_comes_back_and_what_was_there_is_kept(site: Path, backup: Path) -> None:
    url = address(site)
    done(
        url,
        "DELETE FROM workflow_versions; DELETE FROM workflows; DELETE FROM outbox; UPDATE site_settings SET value = '1'",
    )
    told = (await restored(site, backup)).json
    assert told["ok"]
    assert asked(url, "SELECT name FROM workflows") == [("Button",)]
    assert asked(url, "SELECT topic FROM outbox WHERE id = 41") == [("a\tb\\n",)]
    assert asked(url, f"SELECT count(*) FROM {told['replaced_schema']}.workflows") == [(0,)]
    ((number,),) = asked(url, "INSERT INTO outbox (at, topic, payload) VALUES (0, 'x', '{}') RETURNING id")
    assert number > 41
    assert await saved(site) == {"Button"}


async def test_who_was_logged_in_is_logged_out_and_the_past_is_marked(site: Path, backup: Path) -> None:
    url = address(site)
    assert (await restored(site, backup)).code == DONE
    assert asked(url, "SELECT count(*) FROM sessions") == [(0,)]
    assert asked(url, "SELECT count(*) FROM site_settings WHERE name = 'restored_at'") == [(1,)]
    async with open_host(site, clock=SystemClock()) as host:
        assert host.site.restored_at is not None


async def test_an_empty_database_takes_it_too(site: Path, backup: Path, postgres: Any) -> None:
    url = address(site)
    done(url, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    told = (await restored(site, backup)).json
    assert told["replaced_schema"] is None
    assert asked(url, "SELECT name FROM workflows") == [("Button",)]


async def test_twice_is_as_good_as_once(site: Path, backup: Path) -> None:
    first, second = (await restored(site, backup)).json, (await restored(site, backup)).json
    assert first["replaced_schema"] != second["replaced_schema"]
    assert asked(address(site), "SELECT count(*) FROM workflows") == [(1,)]


async def test_a_process_at_work_keeps_it_out(site: Path, backup: Path) -> None:
    before = contents(site)
    async with open_host(site, clock=SystemClock(), replica="engine-1") as host:
        await host.start()
        said = await restored(site, backup)
    assert said.code == COULD_NOT and "in use by engine-1" in said.out + said.err, said
    assert contents(site) == before


@pytest.mark.parametrize(
    "wrong",
    [
        lambda rows: b"id\tname\n" + rows.partition(b"\n")[2],
        lambda rows: rows + b"too\tfew\n",
        lambda rows: rows + rows.partition(b"\n")[2],
        lambda rows: b"\xff\xfe" + rows,
    ],
    ids=["other columns", "a broken row", "a row twice", "no text"],
)
async def test_rows_that_are_not_as_they_must_be_change_nothing(
    site: Path, backup: Path, wrong: Callable[[bytes], bytes]
) -> None:
    changed(backup, table_member("workflows"), wrong)
    url, before = address(site), contents(site)
    await asyncio.to_thread(done, url, "UPDATE workflows SET name = 'Mine'")
    said = await restored(site, backup)
    assert said.code != DONE and "Use another backup" in said.out + said.err, said
    assert asked(url, "SELECT name FROM workflows") == [("Mine",)]
    assert asked(url, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'replaced%'") == [(0,)]
    assert contents(site) == before


async def test_cut_off_behind_the_rows_it_says_so_and_is_run_again(
    site: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_: object) -> None:
        raise RestoreFailed("the power went")

    with monkeypatch.context() as patch:
        patch.setattr(site_restore, "go_forwards", cut_off)
        assert (await restored(site, backup)).code != DONE
    for command in (("status",), ("web",), ("engine",)):
        said = await asyncio.to_thread(on, site, *command)
        assert said.code == COULD_NOT and "restore" in said.err, said
    said = await asyncio.to_thread(on, site, "run")
    assert said.code == COULD_NOT and "again" in said.err, said
    assert (await restored(site, backup)).code == DONE
    assert await saved(site) == {"Button"}


async def test_before_the_rows_count_nothing_is_changed(
    site: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_: object) -> None:
        raise RestoreFailed("the power went")

    monkeypatch.setattr(site_restore, "rows_are_next", cut_off)
    url, before = address(site), contents(site)
    assert (await restored(site, backup)).code != DONE
    assert asked(url, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'replaced%'") == [(0,)]
    assert contents(site) == before
    assert (await asyncio.to_thread(on, site, "status")).code == DONE


async def test_without_its_secrets_the_folders_own_say_where_the_database_is(site: Path, tmp_path: Path) -> None:
    await saved(site)
    url = address(site)
    file = tmp_path.parent / f"{tmp_path.name}-bare.zip"
    assert (await asyncio.to_thread(on, site, "backup", "--without-secrets", "--to", file)).code == DONE
    with zipfile.ZipFile(file) as archive:
        assert "secrets.yaml" not in archive.namelist()
    assert (await restored(site, file)).code == DONE
    assert asked(url, "SELECT name FROM workflows") == [("Button",)]
