"""A site that cannot be used: one clear sentence with what to do, exit code 2, and every file as it was."""

from __future__ import annotations

import shutil
import socket
import sqlite3
from pathlib import Path

import pytest

from siteward.core.host import open_host
from siteward.core.site_lock import SiteLock

from .running import COULD_NOT, DONE, contents, on

EYES = "eyes: { kind: embedded.perception }"


def change(site: Path, old: str, new: str) -> None:
    """Change the site's configuration by hand."""
    file = site / "configuration.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def refused(site: Path, *command: str) -> str:
    """The sentence of a command that could not do anything, and did not."""
    before = contents(site)
    said = on(site, *(command or ("run", "--port", "0")))
    assert said.code == COULD_NOT
    assert contents(site) == before
    return said.sentence


def test_broken_yaml_is_said_with_line_and_column(site: Path) -> None:
    change(site, "cameras:", "cameras: [")
    assert refused(site).startswith("configuration.yaml:10:3: This is not well-formed YAML: ")


def test_an_unknown_key_is_said_once_with_its_place(site: Path) -> None:
    change(site, "cameras:", "camras:")
    assert refused(site, "integration", "list") == (
        "configuration.yaml:9:1: camras: this key is not known here; remove it or correct its name"
    )


def test_runs_are_listed_whatever_the_configuration_says(site: Path) -> None:
    change(site, "cameras:", "camras:")
    assert on(site, "runs").code == DONE


def test_what_is_no_text_is_said(site: Path) -> None:
    (site / "configuration.yaml").write_bytes(b"name: \x00\x01")
    assert refused(site) == (
        "configuration.yaml: Character 7 of the file may not stand in YAML: special characters are not allowed. "
        "Save the file as plain text."
    )


def test_the_place_is_in_the_json_too(site: Path) -> None:
    change(site, "cameras:", "camras:")
    said = on(site, "integration", "list", "--json")
    assert (said.code, said.json["error"]["where"]) == (COULD_NOT, "configuration.yaml:9:1")


def test_a_database_of_a_newer_version_is_left_alone(site: Path) -> None:
    database = sqlite3.connect(site / "siteward.db")
    database.execute("UPDATE alembic_version SET version_num = '9999'")
    database.commit()
    database.close()
    sentence = refused(site)
    assert "was written by a newer Siteward (its version is 9999). Install that version or a later one" in sentence


def test_a_database_that_is_none_is_left_alone(site: Path) -> None:
    (site / "siteward.db").write_bytes(b"my holiday pictures" * 1000)
    sentence = refused(site)
    assert "file is not a database. Nothing was changed." in sentence
    assert "put a backup in its place, or move the file away" in sentence


def test_a_folder_where_the_database_should_be_is_said(site: Path) -> None:
    (site / "siteward.db").unlink()
    (site / "siteward.db").mkdir()
    assert "siteward.db cannot be opened: unable to open database file." in refused(site)


def test_a_folder_in_which_no_lock_can_be_made_is_said(site: Path) -> None:
    (site / ".siteward.lock").unlink(missing_ok=True)
    (site / ".siteward.lock").mkdir()  # stands for every reason: the tests may run as root, who may write everywhere
    assert refused(site) == (
        f"{site}/.siteward.lock cannot be written: Is a directory. The host needs a folder that it may write."
    )


def test_a_demo_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    said = on(tmp_path / "file" / "site", "run", "--demo")
    assert said.code == COULD_NOT
    assert said.sentence.startswith(f"{tmp_path}/file/site cannot be written: Not a directory. Name a folder")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_port_in_use_is_said_with_its_number(site: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        said = on(site, "run", "--port", str(port))
    assert said.code == COULD_NOT
    last = said.err.strip().splitlines()[-1]
    assert last == (
        f"siteward: 127.0.0.1:{port} cannot be used: Address already in use. Stop what uses it, or give another port: "
        "`siteward run --port 8788`, or web.port in configuration.yaml."
    )
    assert on(site, "runs", "--json").json[0]["state"] == "done"


def test_an_address_of_another_machine_is_said(site: Path) -> None:
    change(site, "host: 127.0.0.1", "host: 192.0.2.1")
    said = on(site, "run", "--port", "0")
    assert said.code == COULD_NOT
    assert "192.0.2.1:0 cannot be used: " in said.err
    assert "Correct web.host in configuration.yaml: an address of this machine." in said.err


def test_two_hosts_never_run_one_folder(site: Path) -> None:
    with SiteLock(site):
        sentence = refused(site)
        assert sentence.startswith(f"The site in {site} is already running (process ")
        assert "Stop that one first, or use another folder with --config DIR." in sentence
        assert on(site, "runs").code == DONE  # reading is possible beside it


def test_a_configured_integration_that_is_nowhere_is_said(site: Path) -> None:
    change(site, "integrations:\n", "integrations:\n  gate_realy: {}\n")
    rows = on(site, "integration", "list", "--json").json
    (row,) = [row for row in rows if row["domain"] == "gate_realy"]
    assert (row["state"], row["source"]) == ("needs_attention", "configured")
    assert row["sentence"].startswith(
        "There is no integration gate_realy, which stands under `integrations` in configuration.yaml; did you mean gate_relay? "
    )


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("{ kind: no.such }", "The model eyes is of the kind no.such, which no loaded integration opens."),
        ("{ kind: embedded.perception, settings: { threads: many } }", "settings of embedded.perception are wrong"),
        ("{ kind: embedded.perception, settings: { treads: 1 } }", "extra keys not allowed @ data['treads']"),
    ],
)
def test_a_model_that_cannot_be_opened_never_ends_the_host(site: Path, model: str, says: str) -> None:
    change(site, EYES, f"eyes: {model}")
    said = on(site, "models", "list", "--json")
    assert said.code == DONE
    (model_row,) = said.json["models"]
    assert says in model_row["state"]
    assert (model_row["images"], model_row["vocabulary"]) == (False, "")


def test_a_model_file_that_is_missing_or_damaged_is_named(site: Path) -> None:
    folder = site / "models" / "rapidocr"
    folder.mkdir(parents=True)
    missing = on(site, "models", "list", "--json").json["models"][0]["state"]
    assert missing.startswith("The model file ")
    assert missing.endswith("Run `siteward models add rapidocr`.")
    name = missing.split()[3]
    (folder / name).write_bytes(b"half of it")
    damaged = on(site, "models", "list", "--json").json["models"][0]["state"]
    assert name in damaged
    assert damaged != missing
    shutil.rmtree(folder)
    assert on(site, "models", "list", "--json").json["models"][0]["state"] == "ready"


GATES = "gate:main_gate"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "driver: gate_relay",
            "driver: gate_rely",
            "main_gate: The gate main_gate is driven by gate_rely, which no loaded",
        ),
        (
            'url: "http://',
            'url: "',
            "main_gate: The relay of the gate main_gate is configured wrongly: an http or https",
        ),
        (
            "kind: demo.camera, roles: [gate]",
            "kind: demo.cam, roles: [gate]",
            "gate: The camera Gate is of the kind demo.cam,",
        ),
        (
            "kind: demo.camera, roles: [yard]",
            "kind: camera.folder, settings: { pth: yard }, roles: [yard]",
            "yard: The settings of the camera yard are wrong: extra keys",
        ),
    ],
)
async def test_a_camera_or_gate_that_cannot_work_is_said_at_the_start(
    site: Path, old: str, new: str, sentence: str
) -> None:
    change(site, old, new)
    async with open_host(site) as host:
        parts = (await host.health())["parts"]
    assert any(f"{part['name']}: {part['sentence']}".startswith(sentence) for part in parts if not part["ok"])


def test_a_list_that_may_open_a_gate_that_is_not_there_is_refused(site: Path) -> None:
    change(site, GATES, "gate:man_gate")
    assert refused(site).endswith(
        "authority_for names gate:man_gate, and the site has no such gate; there is: gate:main_gate"
    )


def test_a_list_without_its_rows_says_how_to_write_none(site: Path) -> None:
    change(site, "      - { plate: SW 204 AB, who: Baker Concrete }\n", "")
    assert refused(site).endswith("lists.expected_visitors.rows: this takes a list: write [one, two], or [] for none")
