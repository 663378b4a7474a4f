"""A manifest is refused with every problem at its line, before any code runs."""

from __future__ import annotations

import pytest

from siteward.core.contract.manifest_data import ManifestConflict, registry_from_manifests, shipped_manifests
from siteward.core.contract.registry import FieldType, Moves, Provenance, Repeat, ToolMode
from siteward.core.plugins.discovery import Source, find_shipped
from siteward.core.plugins.manifest import ManifestInvalid, Replicas, read_manifest

HEAD = "domain: greeter\nname: Greeter\nversion: 1.0.0\n"
ACTION = (
    "provides:\n  actions:\n    - name: greeter.greet\n      repeat: once\n      moves: 'no'\n"
    "      target: name\n      fields:\n        name: { type: text, required: true }\n"
)


def problems(text: str | bytes, domain: str | None = None) -> list[tuple[int, str]]:
    with pytest.raises(ManifestInvalid) as raised:
        read_manifest(text, domain=domain)
    return [(one.place.line, one.sentence) for one in raised.value.problems]


def test_a_whole_manifest_is_read() -> None:
    manifest = read_manifest(
        HEAD
        + "siteward: '>=0.1,<1'\ndescription: Says hello.\ndocumentation: https://greeter.example/docs\ncodeowners: ['@ada']\n"
        + "iot_class: local_push\nrequirements: ['aiohttp>=3', 'siteward[vision]']\ndependencies: [camera]\nafter_dependencies: [demo]\n"
        + "config_flow: true\nsingle_instance: true\nreplicas: each\nscopes: [people]\negress: [greeter.example]\nicon: hand\n"
        + ACTION
    )
    assert (manifest.domain, manifest.version, manifest.config_flow) == ("greeter", "1.0.0", True)
    assert manifest.replicas is Replicas.EACH
    assert read_manifest(HEAD).replicas is Replicas.ONE
    assert manifest.requirements == ("aiohttp>=3", "siteward[vision]")
    assert manifest.dependencies == ("camera",)
    assert [entry["name"] for entry in manifest.provided("actions")] == ["greeter.greet"]
    assert manifest.provided("tools") == ()


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("domain: greeter\nversion: 1.0.0\n", 1, "`name` is missing"),
        (HEAD + "descripton: Hello\n", 4, "Did you mean `description`?"),
        (HEAD.replace("greeter", "Greeter!"), 1, "a domain is small letters"),
        (HEAD.replace("1.0.0", "one"), 3, "a version is a text such as"),
        (HEAD.replace("1.0.0", "1.0"), 3, "a version is a text such as"),
        (HEAD + "siteward: newest\n", 4, "a range of versions"),
        (HEAD + "requirements: ['not a package!']\n", 4, "a requirement is a package"),
        (HEAD + "scopes: [fingerprints]\n", 4, "one of faces, plates, audio, people"),
        (HEAD + "iot_class: magic\n", 4, "one of local_push"),
        (HEAD + "documentation: greeter.example\n", 4, "https"),
        (HEAD + "config_flow: maybe\n", 4, "bool"),
        (HEAD + "replicas: all\n", 4, "one of one, each"),
        (HEAD + "provides:\n  action: []\n", 5, "`action` is not known here. Did you mean `actions`?"),
        (HEAD + "provides:\n  actions: greet\n", 5, "a list of entries"),
        (HEAD + ACTION.replace("repeat: once", "repeat: often"), 7, "one of rerun, with_step, keyed_retry, once"),
        (HEAD + ACTION.replace("      repeat: once\n", ""), 6, "`repeat` is missing"),
        (HEAD + ACTION.replace("moves: 'no'", "moves: no way"), 8, "one of no, yes, unless_approved"),
        (HEAD + ACTION.replace("moves: 'no'", "movs: 'no'"), 8, "Did you mean `moves`?"),
        (HEAD + ACTION.replace("target: name", "target: nam"), 9, "`nam` is not one of the fields"),
        (HEAD + ACTION.replace("type: text", "type: str"), 11, "one of text, string"),
        (HEAD + ACTION.replace("required: true", "must: true"), 11, "`must` is not known here"),
        (HEAD + ACTION.replace("type: text", "type: role"), 11, "add `role`"),
        (HEAD + ACTION.replace("type: text", "type: choice"), 11, "add `options`"),
        (HEAD + ACTION.replace("moves: 'no'", "moves: 'yes'").replace("once", "keyed_retry"), 7, "`repeat: once`"),
        (HEAD + ACTION + ACTION.partition("actions:\n")[2], 12, "greeter.greet stands twice"),
        (HEAD + "provides:\n  actions:\n    - { name: gate.open, skill: true, moves: 'no' }\n", 6, "`moves` is not known"),
        (HEAD + "provides:\n  tools:\n    - { name: peek, description: Peeks., mode: auto, effect: act, parameters: { type: object } }\n", 6, "one of read, ask_person, tell"),
        (HEAD + "provides:\n  tools:\n    - { name: peek, description: Peeks., mode: auto, effect: read }\n", 6, "`parameters` is missing"),
        (HEAD + "provides:\n  tools:\n    - { name: push, description: Pushes., mode: ask, moves: true }\n", 6, "unavailable to AI"),
        (HEAD + "provides:\n  triggers:\n    - { name: greeter.came, provenance: ai, gives: { badge: { type: text, authorises: true } } }\n", 6, "cannot authorise"),
        (HEAD + "provides:\n  triggers:\n    - { name: greeter.came, provenance: sensor, gives: { who: { type: text, provenance: ai, authorises: true } } }\n", 6, "cannot authorise"),
        (HEAD + "provides:\n  step_kinds:\n    - { name: greeter.act, repeat: once }\n", 6, "one of rerun"),
        (HEAD + "name: Again\n", 4, "stands twice"),
        (HEAD + ACTION.replace("greeter.greet", "greet"), 6, "write greeter.greet"),
        (HEAD + ACTION.replace("greeter.greet", "gate.open"), 6, "write greeter.open, or provide the skill"),
        (HEAD + "provides:\n  gates:\n    - name: north\n", 6, "write greeter"),
        (HEAD + "provides:\n  alert_sources:\n    - { name: detector, provenance: sensor }\n", 6, "write app:greeter"),
        (HEAD + "skills:\n  ai_modes:\n    - name: dream\n", 4, "Only the host has a vocabulary"),
        (HEAD + "provides:\n  events:\n    - { name: greeter.came, provenance: sensor }\n", 6, "an event type has three parts"),
        ("domain: [greeter\n", 2, ""),
        (b"domain: \xff\n", 1, ""),
        ("", 1, ""),
        ("- greeter\n", 1, ""),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_at_its_line(text: str | bytes, line: int, says: str) -> None:
    found = problems(text)
    assert (line, True) in [(at, says in sentence) for at, sentence in found], found


def test_all_problems_are_said_at_once_by_place() -> None:
    found = problems("domain: 3\nversion: x\nicons: hand\n")
    assert [line for line, _ in found] == sorted(line for line, _ in found)
    assert len(found) == 4


def test_the_sentence_names_file_line_and_column() -> None:
    with pytest.raises(ManifestInvalid) as raised:
        read_manifest(HEAD + "icons: hand\n", "custom_integrations/greeter/manifest.yaml")
    assert raised.value.sentence.startswith("custom_integrations/greeter/manifest.yaml:4:1: ")
    assert raised.value.where == "custom_integrations/greeter/manifest.yaml:4"


def test_a_domain_is_what_its_folder_is_called() -> None:
    ((line, sentence),) = problems("name: Greeter\ndomain: greeter\nversion: 1.0.0\n", domain="hello")
    assert line == 2
    assert "the folder or entry point is called hello" in sentence


def test_the_checked_manifests_are_those_that_the_registry_is_made_from() -> None:
    checked = [read_manifest(one.read(), one.where, host=one.source is Source.HOST).data for one in find_shipped()]
    assert checked == list(shipped_manifests())


def test_an_entry_becomes_a_definition_with_all_that_it_says() -> None:
    registry = registry_from_manifests([read_manifest(HEAD + ACTION).data])
    action = registry.actions["greeter.greet"]
    assert (action.provider, action.repeat, action.moves, action.target) == ("greeter", Repeat.ONCE, Moves.NO, "name")
    assert (action.fields[0].name, action.fields[0].type, action.fields[0].required) == ("name", FieldType.TEXT, True)


def test_a_value_has_the_provenance_of_its_trigger_unless_it_says_another() -> None:
    text = HEAD + (
        "provides:\n  triggers:\n    - name: greeter.came\n      provenance: ai\n      fields: { cameras: { type: roles, role: camera } }\n"
        "      gives: { text: text, person: { type: text, provenance: person } }\n"
    )
    gives = {
        one.name: one for one in registry_from_manifests([read_manifest(text).data]).triggers["greeter.came"].gives
    }
    assert {name: one.provenance for name, one in gives.items()} == {
        "text": Provenance.AI,
        "person": Provenance.PERSON,
        "camera": Provenance.AI,
        "time": Provenance.AI,
        "event_id": Provenance.AI,
    }


def test_a_skill_takes_the_definition_of_the_vocabulary_and_keeps_all_its_providers() -> None:
    vocabulary = {"domain": "siteward", "skills": {"actions": [_opens("gate.open")]}}
    first = {"domain": "relay", "provides": {"actions": [{"name": "gate.open", "skill": True}]}}
    second = {**first, "domain": "bus"}
    assert registry_from_manifests([vocabulary]).actions == {}
    assert registry_from_manifests([vocabulary], declared=True).actions["gate.open"].provider == "siteward"
    provided = registry_from_manifests([vocabulary, first, second]).actions["gate.open"]
    assert (provided.provider, provided.moves) == ("relay, bus", Moves.YES)


def test_a_name_has_one_definition() -> None:
    vocabulary = {"domain": "siteward", "skills": {"actions": [_opens("gate.open")]}}
    own = {"domain": "relay", "provides": {"actions": [{**_opens("gate.open"), "moves": "no"}]}}
    with pytest.raises(ManifestConflict, match=r"relay defines gate\.open") as raised:
        registry_from_manifests([vocabulary, own])
    assert raised.value.domain == "relay"


def test_a_skill_that_the_vocabulary_does_not_have_cannot_be_provided() -> None:
    with pytest.raises(ManifestConflict, match="the vocabulary has no such skill"):
        registry_from_manifests([{"domain": "x", "provides": {"actions": [{"name": "lid.open", "skill": True}]}}])


def test_a_tool_that_moves_is_unavailable_whatever_its_entry_says() -> None:
    entry = {"name": "push", "description": "Pushes.", "moves": True, "mode": "auto"}
    tool = registry_from_manifests([{"domain": "x", "provides": {"tools": [entry]}}]).tools["push"]
    assert (tool.moves, tool.default_mode) == (True, ToolMode.UNAVAILABLE)


def _opens(name: str) -> dict[str, object]:
    return {"name": name, "repeat": "once", "moves": "yes", "fields": {}}
