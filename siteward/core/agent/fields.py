"""Fields of a decision: what a model is asked to report, and how what it said becomes a value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeAlias

REASON_CAP = 300
"""Characters of a reason that are kept: it is one line for people."""
TEXT_CAP = 500
"""Characters of a text field that are kept."""
LIST_CAP = 50
"""Entries of a list field that are kept."""


class FieldType(StrEnum):
    """The open types of a field; a closed one is its tuple of options. All but `bool` may be null: the model cannot tell."""

    TEXT = "text"
    NUMBER = "number"
    BOOL = "bool"
    LIST = "list"


FieldSpec: TypeAlias = "tuple[str, ...] | FieldType"
FieldValue: TypeAlias = "str | float | int | bool | tuple[str, ...] | None"


class Malformed(Exception):
    """The model's answer does not fit the spec. The sentence names the spec's own keys only, never what the model wrote."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


def schema_of(spec: FieldSpec) -> dict[str, Any]:
    """The JSON schema of one field."""
    if isinstance(spec, tuple):
        return {"type": "string", "enum": list(spec)}
    match spec:
        case FieldType.TEXT:
            return {"type": ["string", "null"], "maxLength": TEXT_CAP}
        case FieldType.NUMBER:
            return {"type": ["number", "null"]}
        case FieldType.BOOL:
            return {"type": "boolean"}
        case FieldType.LIST:
            return {"type": ["array", "null"], "items": {"type": "string", "maxLength": TEXT_CAP}, "maxItems": LIST_CAP}


def in_words(spec: FieldSpec) -> str:
    """What to write for a field, said to a model."""
    if isinstance(spec, tuple):
        return "one of " + ", ".join(spec)
    match spec:
        case FieldType.TEXT:
            return "a short text, or null if you cannot tell"
        case FieldType.NUMBER:
            return "a number, or null if you cannot tell"
        case FieldType.BOOL:
            return "true or false"
        case FieldType.LIST:
            return "a list of short texts, or null if you cannot tell"


def read_field(name: str, spec: FieldSpec, data: Mapping[str, Any]) -> FieldValue:
    """The value of a field in the model's answer. Raises `Malformed`; nothing is guessed or coerced."""
    if name not in data:
        raise Malformed(f"the field {name} is missing")
    value = data[name]
    if isinstance(spec, tuple):
        if isinstance(value, str) and value in spec:
            return value
        raise Malformed(f"the field {name} must be one of {', '.join(spec)}")
    if value is None and spec is not FieldType.BOOL:
        return None
    match spec:
        case FieldType.TEXT if isinstance(value, str):
            return one_line(value, TEXT_CAP)
        case FieldType.NUMBER if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _finite(name, value)
        case FieldType.BOOL if isinstance(value, bool):
            return value
        case FieldType.LIST if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
            return tuple(one_line(entry, TEXT_CAP) for entry in value[:LIST_CAP])
    raise Malformed(f"the field {name} must be {in_words(spec)}")


def one_line(text: str, cap: int) -> str:
    """`text` as one line that can be stored and shown: control characters and lone surrogates gone, at most `cap` characters."""
    clean = text.encode("utf-8", "replace").decode("utf-8")
    line = " ".join("".join(c if c.isprintable() else " " for c in clean).split())
    return line if len(line) <= cap else line[: cap - 1] + "…"


def confidence_said(value: object) -> float | None:
    """The model's own number, kept for study only: between 0 and 1, None where it is no such number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not math.isfinite(value) or not 0 <= value <= 1:
        return None
    return float(value)


def _finite(name: str, value: int | float) -> int | float:
    if isinstance(value, float) and not math.isfinite(value):
        raise Malformed(f"the field {name} must be a finite number")
    if abs(value) > 1e15:
        raise Malformed(f"the field {name} is too large a number")
    return value
