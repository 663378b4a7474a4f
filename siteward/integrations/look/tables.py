"""The calibration tables that ship with case sets: how often answers of a model were right, by its digest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from siteward.sdk.agent import Calibration, DecisionSpec, Tables

_SUFFIX = ".calibration.json"
VERSION = 1


def tables_for(model_digest: str, spec: DecisionSpec) -> Tables:
    """What is known of this model for this step; empty tables where nothing was ever measured."""
    known = [Tables.from_json(models[model_digest], spec.digest()) for models in _shipped() if model_digest in models]
    step = next((one.step for one in known if one.step.options), Calibration())
    facts = {name: table for one in known for name, table in one.facts.items()}
    return Tables(step, facts)


@cache
def _shipped() -> tuple[Mapping[str, Any], ...]:
    """The models of every shipped table. Read once: they change with the installed version only."""
    folder = files("siteward") / "blueprints" / "cases"
    found = [json.loads(one.read_text(encoding="utf-8")) for one in folder.iterdir() if one.name.endswith(_SUFFIX)]
    return tuple(one["models"] for one in found if one["version"] == VERSION)
