"""The keys of an `ai` step, as a workflow file writes them, to a `DecisionSpec`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from .decision import DecisionSpec, Rule, Uncalibrated
from .fields import FieldSpec, FieldType, FieldValue

DEFAULT_SURE = 0.75
_PART = re.compile(r"\{\{|\}\}|\{([A-Za-z_][\w.]*)\}")


@dataclass(frozen=True, slots=True)
class StepSpec:
    """The spec of a step, and its backstops: the fields that the caller's values filled, and the name that each came from."""

    spec: DecisionSpec
    backstops: Mapping[str, str]


def spec_of(settings: Mapping[str, Any], values: Mapping[str, Any] | None = None) -> StepSpec:
    """Read `decision`, `fields`, `rules`, `sure` and `uncalibrated`; `{ from: "{plate}" }` is filled from `values`. Raises `ValueError`."""
    fields: dict[str, FieldSpec] = {}
    known: dict[str, FieldValue] = {}
    backstops: dict[str, str] = {}
    for name, written in (settings.get("fields") or {}).items():
        if isinstance(written, Mapping):
            known[name], backstops[name] = _known(name, written, values or {})
        else:
            fields[name] = _field(name, written)
    spec = DecisionSpec(
        options=tuple(_texts(settings.get("decision"), "decision")),
        fields=MappingProxyType(fields),
        floor=_number(settings.get("sure", DEFAULT_SURE)),
        rules=tuple(_rule(rule) for rule in settings.get("rules") or ()),
        known=MappingProxyType(known),
        uncalibrated=Uncalibrated(settings.get("uncalibrated", Uncalibrated.RUN)),
    )
    return StepSpec(spec, MappingProxyType(backstops))


def _field(name: str, written: object) -> FieldSpec:
    if isinstance(written, str):
        return FieldType(written)
    return tuple(_texts(written, f"fields.{name}"))


def _known(name: str, written: Mapping[str, Any], values: Mapping[str, Any]) -> tuple[FieldValue, str]:
    source = written.get("from")
    if not isinstance(source, str) or set(written) != {"from"}:
        raise ValueError(f'The field {name!r} is filled with `{{ from: "{{…}}" }}`.')
    names = [name for name in _PART.findall(source) if name]
    if not names:
        raise ValueError(f"The field {name!r} is filled from a name in braces.")
    if source.strip() == f"{{{names[0]}}}":
        return _plain(values.get(names[0])), names[0]
    return _PART.sub(lambda part: str(values.get(part[1], "")) if part[1] else part[0][0], source), names[0]


def _plain(value: object) -> FieldValue:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(str(entry) for entry in value)
    raise ValueError("A field is filled with a text, a number, true or false, or a list.")


def _rule(written: object) -> Rule:
    if (
        not isinstance(written, Mapping)
        or not set(written) <= {"when", "then"}
        or not isinstance(written.get("then"), str)
    ):
        raise ValueError("A rule is `{ when: { field: value }, then: decision }`.")
    when = written.get("when") or {}
    taken = {name: tuple(value) if isinstance(value, (list, tuple)) else (value,) for name, value in when.items()}
    return Rule(written["then"], MappingProxyType(taken))


def _texts(written: object, key: str) -> Sequence[str]:
    if not isinstance(written, (list, tuple)) or not all(isinstance(one, str) for one in written):
        raise ValueError(f"`{key}` is a list of texts.")
    return written


def _number(written: object) -> float:
    if isinstance(written, bool) or not isinstance(written, (int, float)):
        raise ValueError("`sure` is a number between 0 and 1.")
    return float(written)
