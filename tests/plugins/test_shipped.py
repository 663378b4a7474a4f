"""What ships registers what its manifests declare, and together they are the vocabulary of workflow.v1."""

from __future__ import annotations

import inspect
from importlib.resources import files

import pytest

from siteward.core.contract.manifest_data import shipped_registry
from siteward.core.contract.registry import Moves, Provenance, Repeat, ToolMode
from siteward.core.plugins import hookspecs
from siteward.core.plugins.discovery import Source, find_shipped
from siteward.core.plugins.loader import load_shipped
from siteward.core.plugins.manifest import read_manifest
from siteward.core.plugins.registered import HOOK_OF, differences, register
from siteward.core.plugins.registry import Loaded, LoadState

FOUND = {one.domain: one for one in find_shipped()}


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return load_shipped()


@pytest.mark.parametrize("domain", sorted(FOUND))
def test_a_shipped_manifest_equals_what_its_code_registers(domain: str, loaded: Loaded) -> None:
    found = FOUND[domain]
    manifest = read_manifest(found.read(), found.where, host=found.source is Source.HOST)
    assert manifest.domain == domain
    record = loaded.record(domain)
    assert record is not None
    if record.state is LoadState.NEEDS_ATTENTION:
        assert "install siteward[" in record.sentence  # an extra that this environment does not have
        return
    assert differences(manifest, register(found.load(), domain), loaded.registry.actions) == ()
    assert record.state is LoadState.LOADED


def test_every_folder_of_an_integration_is_found() -> None:
    folders = {one.name for one in (files("siteward") / "integrations").iterdir() if (one / "__init__.py").is_file()}
    assert folders <= FOUND.keys()


def test_the_whole_vocabulary_is_declared() -> None:
    registry = shipped_registry()
    assert {
        "alert", "event", "schedule", "button", "message", "detect.person_in_zone", "detect.vehicle_in_zone",
        "detect.line_crossed", "detect.zone_empty", "camera.offline", "camera.online", "doorbell", "gate.changed",
    } <= registry.triggers.keys()  # fmt: skip
    assert {
        "gate.open", "gate.close", "siren", "alert", "notify", "log", "save_clip", "ptz_preset", "webhook", "home_assistant",
        "mqtt.publish", "site_mode", "speak", "email",
    } <= registry.actions.keys()  # fmt: skip
    assert {"ai", "if", "for_each", "ask_person", "call", "wait", "wait_for"} == registry.step_kinds.keys()
    assert {"time", "days", "site_mode", "camera", "value", "in_list", "count"} == registry.conditions.keys()
    assert registry.ai_modes == {"look", "investigate"}
    assert registry.alert_sources == {"detector": Provenance.SENSOR}


def test_exactly_what_opens_arms_or_sounds_moves_and_messages_move_unless_approved() -> None:
    actions = shipped_registry().actions.values()
    assert {one.name for one in actions if one.moves is Moves.YES} == {"gate.open", "gate.close", "siren", "site_mode"}
    assert {one.name for one in actions if one.moves is Moves.UNLESS_APPROVED} == {
        "webhook",
        "home_assistant",
        "mqtt.publish",
    }
    assert all(one.repeat is Repeat.ONCE for one in actions if one.moves is Moves.YES)


def test_only_identities_of_sensors_authorise() -> None:
    registry = shipped_registry()
    given = [(spec.type, one) for spec in registry.events.values() for one in spec.gives]
    given += [(spec.name, one) for spec in registry.triggers.values() for one in spec.gives]
    assert {(event, one.name) for event, one in given if one.authorises} == {
        ("plate.recognized.v1", "plate"),
        ("face.matched.v1", "person"),
        ("badge.read.v1", "badge"),
        ("code.entered.v1", "code"),
    }
    assert {one.provenance for _, one in given if one.authorises} == {Provenance.SENSOR}


def test_the_tools_have_the_default_modes_of_the_site_policy() -> None:
    tools = shipped_registry().tools
    modes = {mode: {name for name, tool in tools.items() if tool.default_mode is mode} for mode in ToolMode}
    assert modes[ToolMode.UNAVAILABLE] == {"open_gate", "unlock", "set_site_mode", "siren"}
    assert modes[ToolMode.UNAVAILABLE] == {name for name, tool in tools.items() if tool.moves}
    assert modes[ToolMode.ASK] == {"ask_person", "speak", "call"}
    assert modes[ToolMode.AUTO] == {
        "camera_snapshot", "describe_camera", "describe_event", "describe_window", "detect_objects", "recent_events",
        "recent_plates", "recognize_faces", "search_footage", "search_history", "site_lookup", "camera_health", "notify",
        "alert", "save_clip", "ptz_preset",
    }  # fmt: skip


def test_a_tool_says_what_each_argument_is() -> None:
    for tool in shipped_registry().tools.values():
        assert tool.parameters["type"] == "object"
        for name in tool.parameters.get("required", ()):
            assert name in tool.parameters["properties"], tool.name
        described = [one for one in tool.parameters["properties"].values() if one.get("description") or one.get("enum")]
        assert len(described) == len(tool.parameters["properties"]), tool.name


def test_a_host_provides_only_what_somebody_loaded_provides(loaded: Loaded) -> None:
    assert {"gate.open", "detect.vehicle_in_zone", "gate.changed"} <= {
        *loaded.registry.actions,
        *loaded.registry.triggers,
    }
    assert "siren" not in loaded.registry.actions
    assert "call" not in loaded.registry.step_kinds
    assert loaded.registry.actions["gate.open"].provider == "gate_relay"


def test_behind_every_name_of_the_registry_stands_code(loaded: Loaded) -> None:
    assert loaded.actions.keys() == loaded.registry.actions.keys()
    assert loaded.triggers.keys() == loaded.registry.triggers.keys()
    assert loaded.conditions.keys() == loaded.registry.conditions.keys()
    assert loaded.step_kinds.keys() | loaded.host_steps.keys() == loaded.registry.step_kinds.keys()
    assert loaded.ai_modes.keys() == loaded.registry.ai_modes
    assert loaded.gate_drivers.keys() == {"gate_relay"}
    assert {"camera.folder", "camera.http", "demo.camera"} <= loaded.camera_kinds.keys()


def test_each_hook_says_in_one_line_what_it_is_for() -> None:
    hooks = [one for name, one in inspect.getmembers(hookspecs, inspect.isfunction) if name.startswith("siteward_")]
    assert set(HOOK_OF.values()) <= {one.__name__ for one in hooks}
    for hook in hooks:
        assert hook.__doc__ and "\n" not in hook.__doc__.strip(), hook.__name__
