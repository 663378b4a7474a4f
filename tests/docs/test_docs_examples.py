"""What a page shows works as it stands there."""

from __future__ import annotations

import configparser
import re
import shlex
import textwrap
from pathlib import Path

import click
import psycopg
import pytest

from siteward.core.blueprint_files import check
from siteward.core.cli import main
from siteward.core.contract.registry import Moves, Provenance, Repeat
from siteward.core.events.envelope import Origin, event_from_message
from siteward.core.plugins.discovery import find_custom, find_shipped
from siteward.core.plugins.loader import load
from siteward.core.plugins.registry import LoadState
from siteward.core.site.addresses import parse_target
from siteward.core.site.configuration import read_configuration
from siteward.core.site.egress import Destination
from siteward.core.store.postgres import Postgres
from siteward.integrations import mqtt, nats
from siteward.sdk.workflows import default_registry
from tests.integrations.world import HostInMemory, a_call
from tests.postgres import Server

from .pages import ROOT, blocks

EXAMPLES = {(block.page, block.language): textwrap.dedent(block.text) for block in blocks() if block.language}
WORKFLOW = ("docs/blueprint-author.md", "yaml")
WORKFLOWS = [textwrap.dedent(block.text) for block in blocks() if (block.page, block.language) == WORKFLOW]
CONFIGURATION = ("docs/installer.md", "yaml")
MESSAGE, BROKERS = ("docs/sources.md", "json"), ("docs/sources.md", "yaml")
SERVER, ADDRESS = ("docs/operator.md", "sql"), ("docs/operator.md", "yaml")
SERVICE = ("docs/large-site.md", "ini")
MANIFEST, CODE = ("docs/app-author.md", "yaml"), ("docs/app-author.md", "python")


def test_every_example_of_the_pages_is_tried_here() -> None:
    told = [(block.page, block.language) for block in blocks() if block.language]
    assert sorted(set(told)) == sorted(
        [WORKFLOW, CONFIGURATION, MANIFEST, CODE, MESSAGE, BROKERS, SERVER, ADDRESS, SERVICE]
    )
    assert len(told) == 9 + len(WORKFLOWS) - 1


@pytest.mark.parametrize("text", WORKFLOWS)
def test_the_workflows_of_the_blueprint_author_are_good(text: str) -> None:
    report = check("example.yaml", text.encode(), default_registry()).report
    assert [problem.message for problem in report.problems if problem.severity == "error"] == []
    assert report.document is not None


def test_the_page_names_everything_of_the_host_that_a_file_can_name() -> None:
    page = (ROOT / WORKFLOW[0]).read_text()
    registry = default_registry()
    names = {*registry.triggers, *registry.conditions, *registry.events}
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


def test_the_configuration_of_the_installer_is_a_site(tmp_path: Path) -> None:
    file = tmp_path / "configuration.yaml"
    file.write_text(EXAMPLES[CONFIGURATION])
    site = read_configuration(file)
    assert [camera.id for camera in site.cameras] == ["gate", "yard"]
    assert site.gates["main_gate"].fresh_for == 60
    assert site.destinations["ticketing"].tells


def test_the_database_of_the_operator_is_made_and_can_be_used(own_postgres: Server) -> None:
    with psycopg.connect(own_postgres.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE ROLE siteward LOGIN")
        connection.pgconn.exec_(EXAMPLES[SERVER].encode())
    Postgres(own_postgres.url("siteward").replace("postgres@", "siteward@")).migrate()


def test_the_address_of_the_operator_is_one(tmp_path: Path) -> None:
    (tmp_path / "configuration.yaml").write_text(f"name: Yard\n{EXAMPLES[ADDRESS]}")
    (address,) = re.findall(r"postgresql://\S+", EXAMPLES[ADDRESS])
    (tmp_path / "secrets.yaml").write_text(f"database: {address}\n")
    assert read_configuration(tmp_path / "configuration.yaml").database == address


def test_the_service_of_the_large_site_starts_a_command_that_exists() -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(EXAMPLES[SERVICE])
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert Path(program).name == "siteward"
    command = main.get_command(click.Context(main), "engine")
    assert command is not None
    assert words[:3] == ["--config", "/srv/site", "engine"]
    assert words[3] in {option for parameter in command.params for option in parameter.opts}


def test_the_message_of_the_sources_is_an_event() -> None:
    event = event_from_message(EXAMPLES[MESSAGE].encode(), Origin("mqtt", Provenance.SENSOR))
    assert (event.id, event.type, event.camera) == ("mqtt:lpr-north:7f1c2a", "plate.recognized.v1", "gate")


def test_the_brokers_of_the_sources_are_configured_and_reached(tmp_path: Path) -> None:
    (tmp_path / "configuration.yaml").write_text(EXAMPLES[BROKERS])
    (tmp_path / "secrets.yaml").write_text("mqtt_password: x\nnats_token: y\n")
    site = read_configuration(tmp_path / "configuration.yaml")
    checked = {
        name: module.siteward_config_schema()(site.integrations[name])
        for name, module in {"mqtt": mqtt, "nats": nats}.items()
    }
    page = (ROOT / BROKERS[0]).read_text()
    assert [key for settings in checked.values() for key in settings if f"`{key}`" not in page] == []
    target = parse_target(checked["mqtt"]["broker"])
    (listed,) = site.destinations.values()
    assert Destination(listed.name, listed.url, listed.purpose).covers(target)


async def test_the_integration_of_the_app_author_loads_and_its_action_acts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "custom_integrations" / "doorlight"
    folder.mkdir(parents=True)
    (folder / "manifest.yaml").write_text(EXAMPLES[MANIFEST])
    (folder / "__init__.py").write_text(EXAMPLES[CODE])
    loaded = await load((*find_shipped(), *find_custom(tmp_path)), {})
    (record,) = [record for record in loaded.records if record.domain == "doorlight"]
    assert (record.state, record.sentence) == (LoadState.LOADED, "")
    declared = loaded.registry.actions["doorlight.flash"]
    assert (declared.repeat, declared.moves) == (Repeat.KEYED_RETRY, Moves.NO)

    async def http(self: HostInMemory, method: str, url: str, **more: object) -> tuple[int, bytes]:
        assert (method, url, more["purpose"]) == ("POST", "http://127.0.0.1:8099/flash", "doorlight")
        return 204, b""

    monkeypatch.setattr(HostInMemory, "http", http)
    perform = loaded.actions["doorlight.flash"].perform
    assert perform is not None
    assert await perform(a_call("doorlight.flash", {"times": 2}), HostInMemory()) == {"status": 204}
