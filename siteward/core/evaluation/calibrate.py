"""Calibration tables out of an evaluation: from the seen half alone, kept by the model's digest beside the case set."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from siteward.core.agent import Calibration, Case, Tables, fact_of
from siteward.core.errors import ConfigurationInvalid

from .cases import CaseSet
from .run import Evaluation, fact_is_right, group

VERSION = 1
_COUNTS = re.compile(r"\[\s*\[[\d\s,\[\]]*\]\s*\]")


def file_of(cases: CaseSet) -> Path:
    """Where a case set's tables are kept."""
    return cases.file.with_suffix(".calibration.json")


def tables_of(evaluation: Evaluation) -> Tables:
    """The tables that the seen half gives: of this step, and of each fact that the cases say something of."""
    seen = [(one.case, answer) for one in group(evaluation.results, held_out=False) for answer in one.answers]
    step = Calibration.of(Case(answer.said, answer.raw, answer.right) for _, answer in seen)
    facts: dict[str, list[Case]] = {}
    for case, answer in seen:
        for name, value in answer.fields.items():
            right = fact_is_right(case, name, value)
            if right is not None and name in answer.scores:
                fact = fact_of(evaluation.case_set.step.spec.fields[name], value)
                facts.setdefault(name, []).append(Case(fact, answer.scores[name], right))
    return Tables(step, {name: Calibration.of(marked) for name, marked in facts.items()})


def write_tables(evaluation: Evaluation) -> Path:
    """Put the tables into the case set's file, beside those of other models; returns the file."""
    file = file_of(evaluation.case_set)
    models: dict[str, Any] = dict(_read(file))
    tables = tables_of(evaluation)
    models[evaluation.model_digest] = {
        "model": evaluation.model,
        "cases": len(group(evaluation.results, held_out=False)),
        "steps": {evaluation.case_set.step.spec.digest(): tables.step.to_json()},
        "facts": {name: table.to_json() for name, table in sorted(tables.facts.items())},
    }
    data = {"version": VERSION, "case_set": evaluation.case_set.name, "models": dict(sorted(models.items()))}
    partial = file.with_name(f".{file.name}.partial")
    partial.write_text(_short(json.dumps(data, indent=1)) + "\n", encoding="utf-8")
    os.replace(partial, file)
    return file


def read_tables(cases: CaseSet, model_digest: str) -> Tables:
    """The kept tables of a model; empty ones where it was never calibrated. Raises `ConfigurationInvalid` for a broken file."""
    model = _read(file_of(cases)).get(model_digest)
    if model is None:
        return Tables()
    try:
        return Tables.from_json(model, cases.step.spec.digest())
    except (KeyError, TypeError, ValueError) as error:
        raise _broken(file_of(cases)) from error


def _short(text: str) -> str:
    """The same JSON with the bands of an option on one line."""
    return _COUNTS.sub(lambda found: " ".join(found[0].split()).replace("[ ", "[").replace(" ]", "]"), text)


def _read(file: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise _broken(file) from error
    if not isinstance(data, dict) or data.get("version") != VERSION or not isinstance(data.get("models"), dict):
        raise _broken(file)
    models: Mapping[str, Any] = data["models"]
    return models


def _broken(file: Path) -> ConfigurationInvalid:
    return ConfigurationInvalid(
        f"The calibration {file} cannot be read; run `siteward eval --calibrate` again.", where=str(file)
    )
