"""configuration.yaml: what is wrong is said with its place, and secrets stay hidden."""

from pathlib import Path

import pytest

from siteward.core.errors import ConfigurationInvalid
from siteward.core.site.configuration import read_configuration
from siteward.core.site.configuration_yaml import Secret

WHOLE = """\
name: Depot
zone: Europe/Berlin
web: {port: 9000}
cameras:
  - {id: gate-cam, name: Gate, kind: camera.http, settings: {url: !secret gate_url}, roles: [gate]}
gates:
  north: {driver: gate_relay, settings: {url: "http://127.0.0.1:1"}, fresh_for_seconds: 30}
lists:
  expected: {columns: {plate: plate}, match: plate, rows: [{plate: B AB 1}], authority_for: ["gate:north"]}
groups: {guard: [gina]}
destinations: {desk: {url: "https://desk.example/in", purpose: webhook, tells: true}}
roles: {zone: {drive: [zone-1]}}
"""


def written(folder: Path, text: str, secrets: str = "gate_url: http://cam.lan/x.jpg\n") -> Path:
    (folder / "secrets.yaml").write_text(secrets)
    (folder / "configuration.yaml").write_text(text)
    return folder / "configuration.yaml"


def test_a_whole_configuration_is_read(tmp_path: Path) -> None:
    site = read_configuration(written(tmp_path, WHOLE))
    assert (site.name, site.port, site.cameras[0].roles) == ("Depot", 9000, ("gate",))
    assert site.gates["north"].fresh_for == 30
    assert site.lists["expected"].rows == ({"plate": "B AB 1"},)
    assert site.destinations["desk"].data_classes == ("text",)


def test_a_secret_is_read_and_never_shown(tmp_path: Path) -> None:
    url = read_configuration(written(tmp_path, WHOLE)).cameras[0].settings["url"]
    assert isinstance(url, Secret)
    assert url == "http://cam.lan/x.jpg"
    assert "cam.lan" not in repr(read_configuration(written(tmp_path, WHOLE)))


def test_an_included_file_is_read_and_its_errors_name_it(tmp_path: Path) -> None:
    (tmp_path / "gates.yaml").write_text("north:\n  driver: gate_relay\n  fresh_for_seconds: 900\n")
    with pytest.raises(ConfigurationInvalid) as caught:
        read_configuration(written(tmp_path, "gates: !include gates.yaml\n"))
    assert caught.value.where == "gates.yaml:3:3"


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        ("cameras: [{id: a, kind: k}, {id: a, kind: k}]\n", "configuration.yaml:1:30", "stands twice"),
        ("name: A\nname: B\n", "configuration.yaml:2:1", "stands twice"),
        ("name: A\nkameras: []\n", "configuration.yaml:2:1", "not known here"),
        ("cameras:\n  - id: a\n", "configuration.yaml:2:5", "required and missing"),
        ("cameras:\n  - {id: A B, kind: k}\n", "configuration.yaml:2:6", "a name is small letters"),
        ("zone: Mars/Olympus\n", "configuration.yaml:1:1", "no time zone"),
        ("web: {port: '80'}\n", "configuration.yaml:1:7", "expected int"),
        ("gates: {north: {driver: d, fresh_for_seconds: 1}}\n", "configuration.yaml:1:28", "between 5 and 600"),
        ("destinations: {a: {url: 'ftp://x', purpose: p}}\n", "configuration.yaml:1:20", "http or https"),
        ("destinations: {a: {url: 'http://u@x', purpose: p}}\n", "configuration.yaml:1:20", "http or https"),
        ("lists: {l: {columns: {p: plate}, match: q}}\n", "configuration.yaml:1:34", "no column"),
        ("lists: {l: {columns: {p: plate}, match: p, rows: [{x: 1}]}}\n", "configuration.yaml:1:52", "no column"),
        ("name: !secret nothing\n", "configuration.yaml:1:7", "no secret nothing"),
        ("name: !include ../other.yaml\n", "configuration.yaml:1:7", "no file"),
        ("name: !thing x\n", "configuration.yaml:1:7", "not known here"),
        ("name: [\n", "configuration.yaml:2:1", "not well-formed"),
        ("<<: {name: A}\n", "configuration.yaml:1:1", "Merge keys"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, where: str, says: str) -> None:
    with pytest.raises(ConfigurationInvalid) as caught:
        read_configuration(written(tmp_path, text))
    assert caught.value.where == where
    assert says in caught.value.sentence


def test_all_problems_are_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid) as caught:
        read_configuration(written(tmp_path, "zone: Nowhere\nkameras: []\nweb: {port: -1}\n"))
    assert len(caught.value.sentence.splitlines()) == 3


def test_words_and_times_stay_texts(tmp_path: Path) -> None:
    site = read_configuration(written(tmp_path, "roles: {zone: {drive: [22:00, yes, 010, 2026-01-01]}}\n"))
    assert site.roles["zone"]["drive"] == ("22:00", "yes", "010", "2026-01-01")


def test_facts_are_capped_at_300_words(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match="300 words"):
        read_configuration(written(tmp_path, "facts: " + "word " * 301 + "\n"))
