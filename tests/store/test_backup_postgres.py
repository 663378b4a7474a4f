"""A PostgreSQL database into a file and back, with a real server and its own tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from siteward.core.store.backup_postgres import dump_postgres, restore_postgres
from siteward.core.store.errors import DatabaseUnusable
from siteward.core.store.statements import Op
from siteward.core.store.store import Store

SETTING = "INSERT INTO site_settings (name, value, revision) VALUES (:name, '1', 1)"
NAMES = "SELECT name FROM site_settings ORDER BY name"


async def write(url: str, *names: str) -> None:
    store = await Store.open(url)
    try:
        for name in names:
            await store.submit(Op(SETTING, {"name": name}))
    finally:
        await store.close()


async def names(url: str) -> list[str]:
    store = await Store.open(url)
    try:
        return [row["name"] for row in await store.fetch(NAMES)]
    finally:
        await store.close()


async def test_a_database_comes_back_as_it_was(postgres_url: str, tmp_path: Path) -> None:
    await write(postgres_url, "kept")
    dump_postgres(postgres_url, tmp_path / "dump")
    assert (tmp_path / "dump").stat().st_mode & 0o777 == 0o600
    await write(postgres_url, "later")
    restore_postgres(postgres_url, tmp_path / "dump")
    assert await names(postgres_url) == ["kept"]
    await write(postgres_url, "after")
    assert await names(postgres_url) == ["after", "kept"]


async def test_a_dump_that_is_cut_short_changes_nothing(postgres_url: str, tmp_path: Path) -> None:
    await write(postgres_url, "kept")
    dump_postgres(postgres_url, tmp_path / "dump")
    whole = (tmp_path / "dump").read_bytes()
    (tmp_path / "short").write_bytes(whole[: len(whole) // 2])
    await write(postgres_url, "later")
    with pytest.raises(DatabaseUnusable, match="pg_restore could not do it"):
        restore_postgres(postgres_url, tmp_path / "short")
    assert await names(postgres_url) == ["kept", "later"]


def test_without_the_tools_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DatabaseUnusable, match="Install PostgreSQL's client programs"):
        dump_postgres("postgresql://x@127.0.0.1/site", tmp_path / "dump")
    assert not (tmp_path / "dump").exists()


def test_a_server_that_is_not_there_leaves_no_file_and_shows_no_password(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnusable, match="pg_dump could not do it") as refused:
        dump_postgres("postgresql://x:hunter22@127.0.0.1:1/site", tmp_path / "dump")
    assert "hunter22" not in f"{refused.value.sentence}{refused.value.where}"
    assert not (tmp_path / "dump").exists()
