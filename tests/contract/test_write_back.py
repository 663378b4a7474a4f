"""Writing back: every line of the author stays, `contract` and `needs` are added."""

from __future__ import annotations

import difflib

import pytest

from siteward.core.contract import validate, write_back
from siteward.core.contract.document import Document
from siteward.core.contract.manifest_data import shipped_registry
from tests.contract.expected import Expected, files

REGISTRY = shipped_registry()


def document_of(text: str | bytes, *, fragment: bool = False) -> Document:
    document = validate(text, REGISTRY, fragment=fragment).document
    assert document is not None
    return document


@pytest.mark.parametrize("file", files("accepted"), ids=lambda file: file.name)
def test_every_original_line_is_kept_and_only_contract_and_needs_are_added(file: Expected) -> None:
    assert file.text is not None
    written = write_back(document_of(file.data, fragment=file.fragment))
    before, after = (text.removeprefix("\ufeff").splitlines(keepends=True) for text in (file.text, written))
    changes = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
    if "needs" not in document_of(file.data, fragment=file.fragment).root:
        assert [line for line in changes if line[0] == "-"] == []
    keys = {line[2:].split(":")[0].strip() for line in changes if line[0] == "+"}
    assert keys <= {"contract", "needs", "cameras", "people", "gates", "sirens", "lists", "zones", "lines",
                    "destinations", "entities", "skills"}  # fmt: skip


@pytest.mark.parametrize("file", files("accepted"), ids=lambda file: file.name)
def test_what_is_written_reads_as_the_same_workflow_and_is_written_no_further(file: Expected) -> None:
    first = document_of(file.data, fragment=file.fragment)
    written = write_back(first)
    report = validate(written, REGISTRY, fragment=file.fragment)
    assert report.ok
    assert report.document is not None
    assert report.document.root["contract"] == "workflow.v1"
    for key in ("name", "when", "then", "if", "always", "limits"):
        assert report.document.root.get(key) == first.root.get(key)
    assert write_back(report.document) == written


def test_the_first_example_gets_its_needs() -> None:
    written = write_back(document_of(files("accepted")[0].data))
    assert written.startswith("contract: workflow.v1\nname: Night intrusion triage\nstate: test\nneeds:\n")
    needs = document_of(written).root["needs"]
    assert needs == {
        "cameras": ("yard-east", "yard-west"),
        "people": ("role:guard",),
        "skills": (
            "detect.person_in_zone",
            "ai.investigate",
            "describe_camera",
            "recent_events",
            "site_lookup",
            "search_footage",
        ),
    }


def test_a_stale_needs_is_brought_up_to_date_and_a_right_one_is_left_as_written() -> None:
    text = "name: R\nneeds: { gates: [old] }  # mine\nwhen:\n  doorbell: { cameras: [porch] }\nthen:\n  - log: x\n"
    written = write_back(document_of(text))
    assert "needs: { cameras: [porch], skills: [doorbell] }  # mine\n" in written
    kept = written.replace("[porch], skills", '["porch"],   skills')
    assert write_back(document_of(kept)) == kept


def test_a_file_in_one_line_gets_its_lines_inside_the_braces() -> None:
    text = "{ name: R, when: { doorbell: { cameras: [porch] } }, then: [ { log: x } ] }\n"
    written = write_back(document_of(text))
    assert written == (
        "{ name: R, when: { doorbell: { cameras: [porch] } }, then: [ { log: x } ], "
        "contract: workflow.v1, needs: { cameras: [porch], skills: [doorbell] } }\n"
    )


def test_needs_name_every_kind_of_role() -> None:
    text = (
        "name: R\nwhen:\n  detect.line_crossed: { cameras: [yard], line: fence }\nif: [ in_list: { value: '{track}', list: known } ]\n"
        "then:\n  - gate.open: { gate: main }\n  - siren: { siren: yard_siren }\n  - webhook: { to: desk }\n"
        "  - home_assistant: { service: a.b, entity: lamp }\n  - notify: { who: user:anna, message: m }\n"
        "  - wait_for: { detect.zone_empty: { cameras: [yard], zone: mat }, timeout: 2m }\n    happened: [ log: x ]\n"
    )
    needs = dict(document_of(text).needs)
    assert needs.pop("skills") == (
        "detect.line_crossed", "gate.open", "siren", "home_assistant", "detect.zone_empty",
    )  # fmt: skip
    assert needs == {
        "cameras": ("yard",),
        "people": ("user:anna",),
        "gates": ("main",),
        "sirens": ("yard_siren",),
        "lists": ("known",),
        "zones": ("mat",),
        "lines": ("fence",),
        "destinations": ("desk",),
        "entities": ("lamp",),
    }
