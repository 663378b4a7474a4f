"""The host's steps register like any integration, and are what their manifest says."""

from __future__ import annotations

import siteward.steps
from siteward.core.contract.manifest_data import shipped_manifests, shipped_registry
from siteward.core.plugins.event_triggers import VOCABULARY
from siteward.core.plugins.loader import load_shipped
from siteward.core.plugins.registered import register
from siteward.core.plugins.registry import LoadState
from siteward.steps import host_steps
from tests.steps.world import event

MANIFEST = shipped_manifests()[0]


def names(kind: str, part: str = "provides") -> set[str]:
    return {entry["name"] for entry in MANIFEST[part][kind]}


def test_what_the_host_registers_is_what_its_manifest_declares() -> None:
    registered = register(siteward.steps, "siteward")
    for kind in ("triggers", "conditions", "actions", "step_kinds"):
        assert set(registered.of(kind)) == names(kind)
    assert registered.doubles == ()


def test_the_host_loads() -> None:
    record = load_shipped().record("siteward")
    assert record is not None
    assert (record.state, record.sentence) == (LoadState.LOADED, "")


def test_repeat_and_moves_are_the_manifests() -> None:
    specs = shipped_registry().actions
    for name, action in register(siteward.steps, "siteward").of("actions").items():
        assert (action.repeat, action.moves) == (specs[name].repeat, specs[name].moves)


def test_every_step_kind_of_the_host_is_there() -> None:
    assert set(host_steps()) == names("step_kinds")


def test_every_trigger_of_the_vocabulary_has_its_meaning() -> None:
    assert set(VOCABULARY) == names("triggers", "skills")


def test_triggers_give_only_what_the_manifest_lists() -> None:
    registry = shipped_registry()
    own = register(siteward.steps, "siteward").of("triggers")
    for name, trigger in {**own, **VOCABULARY}.items():
        spec = registry.triggers[name]
        listed = {given.name for given in spec.gives} | {"camera"}
        full = event(name, payload=dict.fromkeys([*listed, "secret"], "x"))
        given = set(trigger.values(full))
        assert spec.open_payload or given <= listed
        assert listed - {"camera"} <= given
