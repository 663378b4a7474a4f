"""What a decision may be (`DecisionSpec`) and what came of it (`Decision`).

Property order of the schema is reason, fields, decision, confidence: a constrained model writes in that order, and small models
decide worse when the decision comes first. With rules the model reports fields only, and the first rule that matches decides.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from .fields import (
    REASON_CAP,
    FieldSpec,
    FieldType,
    FieldValue,
    Malformed,
    confidence_said,
    one_line,
    read_field,
    schema_of,
)
from .limits import Usage
from .trace import TraceRow

UNSURE = "unsure"
RESERVED = frozenset({"decision", "reason", "confidence", UNSURE})
ANSWER_CAP = 8_000
"""Characters of an answer beyond which it is not read: a decision is short, and the trace keeps all of what was read."""

_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"^```[a-zA-Z]*\s*\n(.*?)\n?```$", re.DOTALL)


class UnsureReason(StrEnum):
    """Why a step answers `unsure`. None stands for the model's own choice of `unsure`."""

    BELOW_FLOOR = "below_floor"
    INVALID_OUTPUT = "invalid_output"
    LLM_DOWN = "llm_down"
    OVER_BUDGET = "over_budget"
    NO_RULE = "no_rule"
    NO_EVIDENCE = "no_evidence"
    ORDER_SENSITIVE = "order_sensitive"
    ERROR = "error"


class Uncalibrated(StrEnum):
    """What a confidence that was never measured does."""

    RUN = "run"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Rule:
    """`when` maps a field to the values that it takes (all fields must match; none: always); `then` is the decision."""

    then: str
    when: Mapping[str, tuple[FieldValue, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def matches(self, fields: Mapping[str, FieldValue]) -> bool:
        """Whether every named field has one of the rule's values. A field that could not be told matches nothing."""
        return all(_equal(fields.get(name), values) for name, values in self.when.items())


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer of a model, read: `decision` after the rules (`unsure` where none matched, with `no_rule`), `read` the fields that the
    rules looked at until one fired."""

    decision: str
    fields: Mapping[str, FieldValue]
    reason: str
    self_reported: float | None = None
    rule: int | None = None
    no_rule: bool = False
    read: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DecisionSpec:
    """The decisions to choose from, the fields to report, and the confidence below which the decision is `unsure`.

    `fields` maps a name to its options or its open type. `known` are fields whose values the caller knows already (a plate that the
    trigger gave): they are set and never asked of the model. Raises `ValueError` where it cannot stand.
    """

    options: tuple[str, ...]
    fields: Mapping[str, FieldSpec] = field(default_factory=lambda: MappingProxyType({}))
    floor: float = 0.75
    rules: tuple[Rule, ...] = ()
    known: Mapping[str, FieldValue] = field(default_factory=lambda: MappingProxyType({}))
    uncalibrated: Uncalibrated = Uncalibrated.RUN

    def __post_init__(self) -> None:
        if not self.options or len(set(self.options)) != len(self.options):
            raise ValueError("A decision needs options, each once.")
        if UNSURE in self.options:
            raise ValueError("`unsure` is always an outcome; it is not listed.")
        if not 0 <= self.floor <= 1:
            raise ValueError("The confidence floor lies between 0 and 1.")
        for name, spec in self.fields.items():
            _check_field(name, spec)
        if taken := RESERVED & self.known.keys() or self.known.keys() & self.fields.keys():
            raise ValueError(f"The name {sorted(taken)[0]!r} is taken.")
        for rule in self.rules:
            _check_rule(rule, self)

    def schema(self) -> dict[str, Any]:
        """The JSON schema that constrains the model's answer."""
        properties: dict[str, Any] = {"reason": {"type": "string", "maxLength": REASON_CAP}}
        properties.update((name, schema_of(spec)) for name, spec in self.fields.items())
        if not self.rules:
            properties["decision"] = {"type": "string", "enum": [*self.options, UNSURE]}
        properties["confidence"] = {"type": "number", "minimum": 0, "maximum": 1}
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def read(self, content: object) -> Reading:
        """What an answer says, checked against the spec again although a schema may have held it. Raises `Malformed`."""
        data = _json_object(content)
        fields = {name: read_field(name, spec, data) for name, spec in self.fields.items()}
        fields.update(self.known)
        said = data.get("reason")
        if not isinstance(said, str):
            raise Malformed("the reason is missing or not a text")
        reason, confidence = one_line(said, REASON_CAP), confidence_said(data.get("confidence"))
        if self.rules:
            return self._by_rules(fields, reason, confidence)
        decision = data.get("decision")
        if decision != UNSURE and decision not in self.options:
            raise Malformed(f"the decision must be one of {', '.join((*self.options, UNSURE))}")
        return Reading(str(decision), MappingProxyType(fields), reason, confidence)

    def digest(self) -> str:
        """Names what is decided (options, fields, rules), so that scores and tables of another spec are never used for this one."""
        plain = {
            "options": self.options,
            "fields": dict(self.fields),
            "rules": [{"then": rule.then, "when": {k: list(v) for k, v in rule.when.items()}} for rule in self.rules],
        }
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()

    def _by_rules(self, fields: dict[str, FieldValue], reason: str, confidence: float | None) -> Reading:
        read: list[str] = []
        for index, rule in enumerate(self.rules):
            read.extend(name for name in rule.when if name not in read)
            if rule.matches(fields):
                return Reading(rule.then, MappingProxyType(fields), reason, confidence, index, read=tuple(read))
        return Reading(UNSURE, MappingProxyType(fields), reason, confidence, no_rule=True, read=tuple(read))


class ConfidenceSource(StrEnum):
    """Where a confidence comes from. `precision` is that of this option so far (one draw); empty: not measured."""

    AGREEMENT = "agreement"
    LIKELIHOOD = "likelihood"
    SCORE = "score"
    PRECISION = "precision"
    EVIDENCE = "evidence"
    NOT_MEASURED = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What an AI step decided. `decision` is an option of the spec or `unsure`; `proposed` is the option that did not reach the floor.

    `confidence` is None where it was never measured; `raw` is the share or score before calibration, `calibrated` whether a table of marked
    cases stood behind it. `evidence` are ids of the trace rows that it rests on.
    """

    decision: str
    fields: Mapping[str, FieldValue] = field(default_factory=lambda: MappingProxyType({}))
    reason: str = ""
    confidence: float | None = None
    confidence_source: ConfidenceSource = ConfidenceSource.NOT_MEASURED
    raw: float | None = None
    calibrated: bool = False
    self_reported: float | None = None
    unsure_reason: UnsureReason | None = None
    proposed: str | None = None
    rule: int | None = None
    evidence: tuple[str, ...] = ()
    trace: tuple[TraceRow, ...] = ()
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    model_digest: str = ""

    @property
    def unsure(self) -> bool:
        """Whether the decision is `unsure`."""
        return self.decision == UNSURE


def _equal(value: FieldValue, accepted: tuple[FieldValue, ...]) -> bool:
    # True == 1 in Python: a bool and a number are different values of a field.
    return value is not None and any(
        value == one and isinstance(value, bool) == isinstance(one, bool) for one in accepted
    )


def _check_field(name: str, spec: FieldSpec) -> None:
    if not name or name in RESERVED:
        raise ValueError(f"A field cannot be named {name!r}.")
    if isinstance(spec, tuple):
        if not spec or len(set(spec)) != len(spec):
            raise ValueError(f"The field {name!r} needs options, each once.")
    elif not isinstance(spec, FieldType):
        raise ValueError(f"The field {name!r} has no type.")


def _check_rule(rule: Rule, spec: DecisionSpec) -> None:
    if rule.then not in spec.options:
        raise ValueError(f"A rule leads to {rule.then!r}, which is not an option.")
    for name, values in rule.when.items():
        if name not in spec.fields and name not in spec.known:
            raise ValueError(f"A rule reads the field {name!r}, which is not there.")
        options = spec.fields.get(name)
        if isinstance(options, tuple) and not set(values) <= set(options):
            raise ValueError(f"A rule asks the field {name!r} for a value that it cannot take.")


def _json_object(content: object) -> Mapping[str, Any]:
    if not isinstance(content, str) or len(content) > ANSWER_CAP:
        raise Malformed(f"the answer must be a JSON object of at most {ANSWER_CAP} characters")
    text = _THOUGHT.sub("", content).strip()
    if fenced := _FENCE.match(text):
        text = fenced[1].strip()
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed("the answer is not JSON") from None
    if not isinstance(data, dict):
        raise Malformed("the answer must be one JSON object")
    return data
