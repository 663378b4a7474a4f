"""The schema for editors: it takes what the validator takes, and refuses the plain mistakes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from siteward.core.contract import to_json_schema, validate
from siteward.core.contract.document import Value
from siteward.core.contract.manifest_data import shipped_registry
from tests.contract.expected import Expected, files

REGISTRY = shipped_registry()
SCHEMA = Draft202012Validator(to_json_schema(REGISTRY))


def as_json(value: Value) -> Any:
    if isinstance(value, Mapping):
        return {key: as_json(one) for key, one in value.items()}
    return [as_json(one) for one in value] if isinstance(value, tuple) else value


def tree(data: bytes | str) -> Any:
    document = validate(data, REGISTRY).document
    assert document is not None
    return as_json(document.root)


def test_the_schema_is_a_schema_and_plain_json() -> None:
    Draft202012Validator.check_schema(to_json_schema(REGISTRY))
    assert json.loads(json.dumps(to_json_schema(REGISTRY))) == to_json_schema(REGISTRY)


@pytest.mark.parametrize(
    "file", [f for f in files("accepted") if not f.fragment and len(f.data) < 10_000], ids=lambda file: file.name
)
def test_accepted_files_fit_the_schema(file: Expected) -> None:
    assert [error.message for error in SCHEMA.iter_errors(tree(file.data))] == []


@pytest.mark.parametrize(
    "name",
    ["095-limit-as-text", "101-unknown-top-key", "105-no-name", "111-severity-urgent", "119-then-is-empty", "121-empty-conditions",
     "124-two-kinds-in-one-step", "150-trigger-nobody-has", "152-action-nobody-has", "155-condition-nobody-has", "174-six-tools",
     "176-gate-as-a-tool", "117-two-triggers", "122-step-of-a-name-only", "340-missed-twice"],
)  # fmt: skip
def test_plain_mistakes_do_not_fit_the_schema(name: str) -> None:
    file = next(file for file in files("refused") if file.name == name)
    assert not SCHEMA.is_valid(tree(file.data))


def test_everything_that_the_registry_provides_can_be_completed() -> None:
    written = json.dumps(to_json_schema(REGISTRY))
    names = [*REGISTRY.triggers, *REGISTRY.conditions, *REGISTRY.actions, *REGISTRY.step_kinds, *REGISTRY.ai_modes]
    assert [name for name in names if f'"{name}"' not in written] == []
