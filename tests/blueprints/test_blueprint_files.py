"""Where a workflow file's blueprint is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from siteward.blueprints import read_shipped
from siteward.core.blueprint_files import check, found_beside
from siteward.core.contract.blueprint_instance import FileKind
from siteward.core.contract.places import BLUEPRINT_BYTES
from siteward.sdk.workflows import default_registry

INSTANCE = b"name: N\nuse_blueprint: { path: ours/bell.yaml }\n"
BELL = "blueprint: { name: Bell, domain: workflow }\nname: Bell\nwhen: { doorbell: { cameras: [gate] } }\nthen:\n  - log: rang\n"


@pytest.mark.parametrize("folder", ["workflows/blueprints", "blueprints"])
def test_a_blueprint_stands_beside_the_file_or_in_the_sites_folder(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder / "ours").mkdir(parents=True)
    (tmp_path / folder / "ours" / "bell.yaml").write_text(BELL)
    checked = check(str(tmp_path / "workflows" / "n.yaml"), INSTANCE, default_registry())
    assert checked.kind is FileKind.INSTANCE and checked.report.ok
    assert checked.made_from is not None and checked.made_from.path == "ours/bell.yaml"


def test_a_missing_blueprint_is_one_sentence_at_its_path(tmp_path: Path) -> None:
    checked = check(str(tmp_path / "n.yaml"), INSTANCE, default_registry())
    assert [(one.code, one.place.line) for one in checked.report.problems] == [("shape.bad_value", 2)]
    assert (
        "ours/bell.yaml" in checked.report.problems[0].message
        and str(tmp_path) not in checked.report.problems[0].message
    )


def test_a_shipped_blueprint_is_never_shadowed(tmp_path: Path) -> None:
    (tmp_path / "blueprints" / "siteward").mkdir(parents=True)
    (tmp_path / "blueprints" / "siteward" / "gate_concierge.yaml").write_text(BELL)
    assert found_beside(tmp_path / "n.yaml")("siteward/gate_concierge.yaml") == read_shipped(
        "siteward/gate_concierge.yaml"
    )


def test_no_more_is_read_than_a_blueprint_may_have(tmp_path: Path) -> None:
    (tmp_path / "blueprints" / "ours").mkdir(parents=True)
    (tmp_path / "blueprints" / "ours" / "bell.yaml").write_bytes(b"#" * (BLUEPRINT_BYTES + 1000))
    assert len(found_beside(tmp_path / "n.yaml")("ours/bell.yaml")) == BLUEPRINT_BYTES + 1
    checked = check(str(tmp_path / "n.yaml"), INSTANCE, default_registry())
    assert [one.code for one in checked.report.problems] == ["shape.too_large"]
