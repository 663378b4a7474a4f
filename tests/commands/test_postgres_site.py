"""A site whose configuration names a PostgreSQL database: the same host, with its rows elsewhere."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from siteward.core.clock import SystemClock
from siteward.core.errors import ConfigurationInvalid
from siteward.core.host import open_host
from siteward.core.site.configuration import read_configuration

from .running import COULD_NOT, DONE, REFUSED, on

SITE = "name: Yard\n"
WORKFLOW = """
contract: workflow.v1
name: Button
when: { button: { name: Bell } }
then: [log: "rung"]
"""


@pytest.fixture
def site(tmp_path: Path, postgres_url: str) -> Path:
    (tmp_path / "secrets.yaml").write_text(f"database: {postgres_url}\n")
    (tmp_path / "configuration.yaml").write_text(f"{SITE}database: !secret database\n")
    return tmp_path


async def saved(folder: Path) -> set[str]:
    """Open the site as a host does, save one more workflow, and give the names of those that it had."""
    async with open_host(folder, clock=SystemClock()) as host:
        await host.start()
        had = {workflow.name for workflow in host.engine.catalog}
        await host.engine.save_workflow(WORKFLOW, "user:admin")
        return had


async def test_the_host_keeps_its_rows_there_and_commands_look_at_them(site: Path) -> None:
    assert await saved(site) == set()
    assert await saved(site) == {"Button"}
    for command in (("runs",), ("user", "list"), ("status",), ("check",), ("doctor",)):
        said = await asyncio.to_thread(on, site, *command)
        assert said.code == DONE, (command, said.err, said.out)
    assert not (site / "siteward.db").exists()


@pytest.mark.parametrize("wrong", ["mysql://server/site", "postgresql://", "5", "[one]"])
def test_another_kind_of_address_is_refused_with_its_place(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "configuration.yaml").write_text(f"{SITE}database: {wrong}\n")
    with pytest.raises(ConfigurationInvalid, match=r"configuration.yaml:2:1: database: write postgresql://"):
        read_configuration(tmp_path / "configuration.yaml")


def test_no_sentence_shows_the_password(tmp_path: Path) -> None:
    (tmp_path / "configuration.yaml").write_text(f"{SITE}database: postgresql://siteward:hunter2@127.0.0.1:1/none\n")
    said = on(tmp_path, "runs")
    assert said.code == COULD_NOT
    assert "hunter2" not in said.err + said.out


async def test_status_and_doctor_say_who_is_at_work(site: Path) -> None:
    await saved(site)
    told = (await asyncio.to_thread(on, site, "status", "--json")).json
    assert told["at_work"] == [] and told["database_bytes"] > 1_000_000
    assert "No process of this site is at work." in (await asyncio.to_thread(on, site, "doctor")).out
    async with open_host(site, clock=SystemClock(), replica="web", drives=False) as web:
        await web.start()
        said = await asyncio.to_thread(on, site, "status")
        assert "At work: web. No engine is" in said.out, said
        found = await asyncio.to_thread(on, site, "doctor")
        assert (found.code, "No engine is at work" in found.out) == (REFUSED, True), found
        async with open_host(site, clock=SystemClock(), replica="engine-1", applies=False, migrates=False) as engine:
            await engine.start()
            said = await asyncio.to_thread(on, site, "status")
            assert "At work: engine-1, web." in said.out, said
            found = await asyncio.to_thread(on, site, "doctor")
            assert (found.code, "at work" in found.out) == (DONE, False), found
