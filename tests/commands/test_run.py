"""`siteward run`, the installed command in a process of its own: what is wrong with a part is said, and the rest works."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator

import pytest

from siteward.core.demo_site import write_demo_site
from tests.crash.demo_life import Life

from .running import COULD_NOT, on

BROKEN = (
    "contract: workflow.v1\nname: Broken\nwhen:\n  detect.vehicle_in_zone: { cameras: [gate] }\nthen:\n  - log: [\n"
)
WRONG = "contract: workflow.v1\nname: Wrong\nwhen: { button: door }\nthen:\n  - gate.opne: { gate: main_gate }\n"
MANIFEST = "domain: {0}\nname: {0}\nversion: 1.0.0\n"


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """A demo site with something wrong in every folder, and its host."""
    place = tmp_path_factory.mktemp("run")
    site = place / "site"
    write_demo_site(site)
    (site / "workflows" / "broken.yaml").write_text(BROKEN)
    (site / "workflows" / "wrong.yaml").write_text(WRONG)
    (site / "workflows" / "folder.yaml").mkdir()
    for domain, code in {"raises": "raise RuntimeError('no such door')", "lacks": "import not_there_at_all"}.items():
        folder = site / "custom_integrations" / domain
        folder.mkdir(parents=True)
        (folder / "manifest.yaml").write_text(MANIFEST.format(domain))
        (folder / "__init__.py").write_text(code + "\n")
    file = site / "configuration.yaml"
    text = file.read_text().replace("integrations:\n", "integrations:\n  nowhere: {}\n")
    file.write_text(text.replace("kind: embedded.perception", "kind: no.such"))
    life = Life(place, script=True)
    life.address()
    life.code()
    yield life
    life.stop()


@pytest.mark.parametrize(
    "says",
    [
        "raises failed while it was loaded: RuntimeError: no such door",
        "lacks cannot be imported: No module named 'not_there_at_all'. Install what is missing.",
        "There is no integration nowhere, which stands under `integrations` in configuration.yaml.",
        "The model eyes is of the kind no.such, which no loaded integration opens.",
        "install siteward[vision]",
        "wrong.yaml:5:5 ",
        "wrong.yaml was not imported; `siteward validate ",
        "broken.yaml was not imported; `siteward validate ",
        "folder.yaml cannot be read: Is a directory. It was not imported.",
    ],
)
def test_what_is_wrong_is_said_at_the_start(life: Life, says: str) -> None:
    assert says in life.said()


def test_the_host_works_without_what_is_wrong(life: Life) -> None:
    with urllib.request.urlopen(life.address() + "/api/v1/alive", timeout=30) as answer:
        assert json.load(answer) == {"ok": True}
    assert "Traceback" not in life.said()
    assert "alembic" not in life.said()
    assert on(life.place / "site", "try", "none").sentence.endswith("The site's workflows: Gate concierge (demo).")


def test_status_finds_the_host_at_the_address_that_it_really_has(life: Life) -> None:
    told = on(life.place / "site", "status", "--json").json
    assert (told["process"], told["address"]) == (str(life.pid), life.address())
    assert "host.silent" not in on(life.place / "site", "doctor", "--json").out


def test_the_files_that_are_wrong_stay_as_they_are(life: Life) -> None:
    workflows = life.place / "site" / "workflows"
    assert (workflows / "broken.yaml").read_text() == BROKEN
    assert (workflows / "wrong.yaml").read_text() == WRONG


def test_a_second_host_in_the_folder_is_refused_with_the_number_of_the_first(life: Life) -> None:
    said = on(life.place / "site", "run", "--port", "0")
    assert said.code == COULD_NOT
    assert f"is already running (process {life.pid})" in said.sentence


def test_asked_to_stop_it_ends_well(life: Life) -> None:
    life.stop()
    assert life.code_of_exit() == 0
    assert life.said().rstrip().endswith("Stopping ...")
