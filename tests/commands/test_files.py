"""`validate` and `explain`: every kind of file gets its answer and its exit code, for a person and for a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from .running import CORPUS, COULD_NOT, DONE, REFUSED, ROOT, on, siteward

GOOD = CORPUS / "accepted" / "003-gate-concierge.yaml"
BAD = CORPUS / "refused" / "001-decision-opens.yaml"
BLUEPRINT = ROOT / "siteward" / "blueprints" / "gate_concierge.yaml"
INSTANCE = ROOT / "siteward" / "integrations" / "demo" / "workflows" / "gate_concierge.yaml"
SAMPLE = sorted((CORPUS / "accepted").glob("*.yaml"))[::9] + sorted((CORPUS / "refused").glob("*.yaml"))[::12]


@pytest.mark.parametrize("file", SAMPLE, ids=lambda file: file.stem)
def test_validate_agrees_with_the_corpus(file: Path) -> None:
    fragment = ["--fragment"] if "fragment" in file.name or "investigate-with-rules" in file.name else []
    said = siteward("validate", "--json", *fragment, file)
    assert (said.code, said.json["ok"]) == ((DONE, True) if file.parent.name == "accepted" else (REFUSED, False))


def test_a_good_file_is_called_good() -> None:
    said = siteward("validate", GOOD)
    assert said.code == DONE
    assert said.out.strip().endswith(f"{GOOD} is a good workflow.")


def test_an_error_is_said_with_its_place_its_code_and_what_mends_it() -> None:
    said = siteward("validate", BAD)
    assert said.code == REFUSED
    assert f"{BAD}:12:11 error This opens main_gate after AI had its say." in said.out
    assert "(safety.ai_unguarded)" in said.out
    assert "can be mended: Ask role:guard first" in said.out
    assert said.err.strip() == f"{BAD}: 1 error."


def test_the_problems_as_json_have_code_place_and_edits() -> None:
    problem = siteward("validate", "--json", BAD).json["problems"][0]
    assert (problem["code"], problem["line"], problem["column"]) == ("safety.ai_unguarded", 12, 11)
    assert problem["fixes"][0]["edits"][0]["value"]["ask_person"]["who"] == "role:guard"


def test_a_blueprint_is_judged_with_its_defaults() -> None:
    said = siteward("validate", BLUEPRINT)
    assert (said.code, said.out.strip().splitlines()[-1]) == (DONE, f"{BLUEPRINT} is a good blueprint.")


def test_a_workflow_made_from_a_blueprint_is_judged_as_made() -> None:
    said = siteward("validate", INSTANCE)
    assert said.code == DONE
    assert "In the blueprint siteward/gate_concierge.yaml, line " in said.out


def test_a_missing_file_is_another_thing_than_a_wrong_one(tmp_path: Path) -> None:
    for command in ("validate", "explain"):
        said = siteward(command, tmp_path / "none.yaml")
        assert said.code == COULD_NOT
        assert said.sentence == (
            f"{tmp_path}/none.yaml cannot be opened: No such file or directory. Check the name and that you may read it."
        )
        assert siteward(command, "--json", tmp_path / "none.yaml").json["error"]["code"] == "file.unreadable"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    said = siteward("validate", tmp_path)
    assert said.code == COULD_NOT
    assert "Is a directory" in said.sentence


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        (bytes(range(256)), "shape.encoding", "Save it as UTF-8."),
        (b"a: b\n" * 60_000, "shape.too_large", "The file has 300,000 bytes"),
        (b"", "shape.missing_key", "The file is empty."),
        (b"name: [\n", "shape.yaml", ""),
    ],
    ids=["binary", "300 KB", "empty", "broken"],
)
def test_what_is_no_workflow_at_all_is_said_in_both_forms(tmp_path: Path, content: bytes, code: str, says: str) -> None:
    file = tmp_path / "file.yaml"
    file.write_bytes(content)
    for command in ("validate", "explain"):
        for_a_person = siteward(command, file)
        assert for_a_person.code == REFUSED
        assert says in for_a_person.out
        for_a_program = siteward(command, "--json", file)
        assert for_a_program.code == REFUSED
        assert for_a_program.json["ok"] is False
        assert for_a_program.json["problems"][0]["code"] == code
    assert file.read_bytes() == content


def test_explain_says_what_moves_and_who_decides() -> None:
    said = siteward("explain", GOOD)
    assert said.code == DONE
    assert 'gate.open main_gate: role:guard replies "Let in"' in said.out
    told = siteward("explain", "--json", GOOD).json
    assert told["moves"][0]["target"] == "main_gate"
    assert told["asks"][0]["outcomes"]["no answer"].endswith("moves nothing")


def test_explain_of_a_refused_file_says_that_it_is_refused() -> None:
    said = siteward("explain", BAD)
    assert said.code == REFUSED
    assert "nothing allows it, so it is refused" in said.out
    assert "`siteward validate` lists them" in said.err


def test_a_file_is_judged_with_the_integrations_and_gates_of_the_named_site(site: Path, tmp_path: Path) -> None:
    own = site / "custom_integrations" / "doorlight"
    own.mkdir(parents=True)
    (own / "manifest.yaml").write_text(MANIFEST)
    (own / "__init__.py").write_text(CODE)
    file = tmp_path / "flash.yaml"
    file.write_text("name: Flash\nwhen: { button: { name: bell } }\nthen: [ doorlight.flash: {} ]\n")
    assert "Nobody provides the step `doorlight.flash`" in siteward("validate", file).out
    said = on(site, "validate", file)
    assert (said.code, said.out.strip().splitlines()[-1]) == (DONE, f"{file} is a good workflow.")
    assert "doorlight.flash" in on(site, "explain", file).out
    file.write_text("name: Open\nwhen: { button: { name: bell } }\nthen: [ gate.open: { gate: back_gate } ]\n")
    said = on(site, "validate", file)
    assert said.code == REFUSED
    assert "back_gate" in said.out


MANIFEST = """
domain: doorlight
name: Door light
version: 0.1.0
description: Switches the light at the door.
iot_class: local_push
provides:
  actions:
    - { name: doorlight.flash, description: Flash the light., repeat: rerun, moves: no }
"""
CODE = """
from siteward.sdk import Action, Moves, Repeat, hookimpl

async def flash(call, host):
    return {}

@hookimpl
def siteward_actions():
    return [Action("doorlight.flash", Repeat.RERUN, Moves.NO, perform=flash)]
"""
