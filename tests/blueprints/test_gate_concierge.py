"""Gate concierge: the template, and the demo's workflow made from it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

import pytest
import yaml

from siteward.blueprints import read_shipped, shipped
from siteward.core.contract import explain, validate
from siteward.core.contract.blueprint import instantiate
from siteward.core.contract.blueprint_instance import Checked, FileKind, check_file
from siteward.core.contract.document import Document
from siteward.core.contract.problems import Report, Severity
from siteward.integrations.embedded.vocabulary import VOCABULARY
from siteward.sdk.choices import Says, Trace, every_run
from siteward.sdk.scripted import Interpreter
from siteward.sdk.workflows import default_registry

CONCIERGE = "siteward/gate_concierge.yaml"
DEMO = files("siteward.integrations.demo") / "workflows" / "gate_concierge.yaml"
CASES = files("siteward.blueprints") / "cases" / "gate_look.yaml"


def judge(text: str | bytes) -> Report:
    return validate(text, default_registry())


def check(text: bytes) -> Checked:
    return check_file(text, judge, read_shipped)


def template() -> Checked:
    return check(read_shipped(CONCIERGE))


def demo() -> Checked:
    return check(DEMO.read_bytes())


def document_of(checked: Checked) -> Document:
    assert checked.report.document is not None
    return checked.report.document


async def runs_of(document: Document) -> list[Trace]:
    return [trace async for trace in every_run(Interpreter(default_registry()), document)]


both = pytest.mark.parametrize("checked", [template(), demo()], ids=["template", "demo"])


@pytest.mark.parametrize("path", shipped())
def test_every_shipped_blueprint_is_a_good_one(path: str) -> None:
    made = check(read_shipped(path))
    assert made.kind is FileKind.BLUEPRINT
    assert [one for one in made.report.problems if one.severity is not Severity.INFO] == []


def test_a_blueprint_that_is_not_shipped_is_not_found() -> None:
    for path in (
        "siteward/none.yaml",
        "gate_concierge.yaml",
        "siteward/../blueprints/gate_concierge.yaml",
        "siteward/__init__.py",
    ):
        with pytest.raises(LookupError):
            read_shipped(path)


@both
def test_it_is_accepted_without_a_warning(checked: Checked) -> None:
    assert [one for one in checked.report.problems if one.severity is not Severity.INFO] == []
    assert {one.code for one in checked.report.problems} == {"scope.admin"}


@both
async def test_only_the_guards_let_in_opens_the_gate_whatever_the_model_says(checked: Checked) -> None:
    document = document_of(checked)
    runs = await runs_of(document)
    opened = [trace for trace in runs if trace.moves]
    assert opened
    for trace in runs:
        assert trace.refused == [] and trace.missing == []
        answers = [index for choice, index in trace.choices.items() if choice.says is Says.PERSON]
        assert bool(trace.moves) == (answers == [1])
        assert [(one.action, one.target) for one in trace.moves] in ([], [("gate.open", "main_gate")])


@both
def test_each_decision_has_its_line_in_the_run(checked: Checked) -> None:
    document = document_of(checked)
    look = next(step for step in document.then if step.kind == "ai")
    decisions = look.settings["decision"]
    assert isinstance(decisions, tuple)
    assert {lane.outcome for lane in look.lanes} == {*decisions, "unsure"}
    for lane in look.lanes:
        assert any(step.kind == "log" and "{reason}" in str(step.settings["message"]) for step in lane.steps), (
            lane.outcome
        )
    assert any(step.kind == "log" for step in document.always)


def test_the_template_decides_delivery_cab_visitor_unknown() -> None:
    look = document_of(template()).then[0]
    assert look.settings["decision"] == ("delivery", "cab", "visitor", "unknown")
    assert "rules" not in look.settings


def test_the_demo_decides_by_what_the_built_in_perception_can_see() -> None:
    look = document_of(demo()).then[0]
    fields = look.settings["fields"]
    assert isinstance(fields, Mapping)
    for name, taken in fields.items():
        assert VOCABULARY[name] == taken
    cases = yaml.safe_load(CASES.read_text(encoding="utf-8"))["step"]
    shown = yaml.safe_load(DEMO.read_text(encoding="utf-8"))["use_blueprint"]["input"]["look"]
    assert shown["decision"] == cases["decision"]
    assert shown["rules"] == cases["rules"]
    assert shown["fields"] == {**cases["fields"], "plate_text": "text"}


def test_the_demo_says_which_model_would_do_more() -> None:
    description = document_of(demo()).description
    assert description is not None
    assert "vision-language model" in description and "Ollama" in description and "OpenAI-compatible" in description


def test_what_explain_says_of_it_reads_well() -> None:
    said = explain(document_of(template()), default_registry())
    assert [(move.action, move.target, len(move.authorised_by)) for move in said.moves] == [
        ("gate.open", "main_gate", 1)
    ]
    assert '"Let in"' in said.moves[0].authorised_by[0]
    ask = said.asks[0]
    assert ask.who == "role:guard"
    assert "main_gate" in ask.outcomes["Let in"]
    assert "moves nothing" in ask.outcomes["Send away"]
    assert "moves nothing" in ask.outcomes["no answer"]
    assert "log" in said.text()


def test_a_site_with_other_names_gives_them_as_inputs() -> None:
    made = instantiate(
        read_shipped(CONCIERGE),
        {
            "camera": "drive",
            "zone": "barrier",
            "gate": "north",
            "guard": "group:porters",
            "answer_within": "45s",
            "seconds": 5,
        },
    )
    assert made.problems == () and made.text is not None
    document = document_of(check(made.text.encode()))
    assert document.triggers[1].settings == {"cameras": ("drive",), "zone": "barrier", "min_seconds": 5}
    ask = document.then[1]
    assert (ask.settings["who"], ask.settings["timeout"], ask.settings["default"]) == (
        "group:porters",
        "45s",
        "Send away",
    )
    assert ask.lanes[0].steps[0].settings == {"gate": "north"}


def test_a_look_that_opens_the_gate_itself_is_refused_by_its_line() -> None:
    instance = DEMO.read_text(encoding="utf-8").replace(
        'car: [log: "Car at {camera}: {reason}"]', "car: [gate.open: { gate: main_gate }]"
    )
    made = check(instance.encode())
    line = next(n for n, text in enumerate(instance.splitlines(), 1) if "gate.open" in text)
    assert [(one.code, one.place.line) for one in made.report.problems if one.severity is Severity.ERROR] == [
        ("safety.ai_unguarded", line)
    ]
