"""A JSON schema of workflow files, for editors: completion, hints and first checks. The validator is the judge.

JSON Schema 2020-12 (https://json-schema.org/draft/2020-12/schema). Mapping keys that are YAML `true` and `false` stand as the
texts `"true"` and `"false"`, as they do in a tree of string keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from .ai_shape import INPUTS
from .asks import ATTACHMENTS
from .conditions import COMPARISONS
from .document import State
from .durations import DAYS
from .needs import NEEDS_KEYS
from .registry import Field, FieldType, Registry, ToolMode

Schema: TypeAlias = dict[str, Any]
"""A JSON schema node."""

_TEXT: Final[Schema] = {"type": "string"}
_DURATION: Final[Schema] = {"type": "string", "pattern": r"^(\d+d)?(\d+h)?(\d+m)?(\d+s)?$", "minLength": 2}
_TIME: Final[Schema] = {"type": "string", "pattern": r"^([01]\d|2[0-3]):[0-5]\d$"}
_ROLE: Final[Schema] = {"type": "string", "minLength": 1, "maxLength": 100}
_WHO_PATTERN: Final = r"^((role|user|group):.+|.*\{.+\}.*)$"
_WHO: Final[Schema] = {
    "anyOf": [
        {"type": "string", "pattern": _WHO_PATTERN},
        {"type": "array", "items": {"type": "string", "pattern": _WHO_PATTERN}, "minItems": 1},
    ]
}
_STEPS: Final[Schema] = {"$ref": "#/$defs/steps"}
_CONDITIONS: Final[Schema] = {"$ref": "#/$defs/conditions"}


def to_json_schema(registry: Registry) -> Schema:
    """The schema of a workflow file with everything that the registry provides."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "workflow.v1",
        "type": "object",
        "required": ["name", "when", "then"],
        "additionalProperties": False,
        "properties": {
            "contract": {"const": "workflow.v1"},
            "name": {"type": "string", "minLength": 1},
            "description": _TEXT,
            "state": {"enum": [state.value for state in State]},
            "needs": {
                "type": "object",
                "additionalProperties": False,
                "properties": {key: {"type": "array", "items": _TEXT} for key in NEEDS_KEYS},
            },
            "limits": _limits(),
            "when": {"$ref": "#/$defs/when"},
            "if": _CONDITIONS,
            "then": _STEPS,
            "always": _STEPS,
        },
        "$defs": {
            "steps": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/step"}},
            "step": _any_step(registry),
            "conditions": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/condition"}},
            "condition": {"type": "object", "minProperties": 1, "maxProperties": 1, **_conditions(registry)},
            "trigger": {"type": "object", "minProperties": 1, "maxProperties": 1, **_triggers(registry)},
            "when": _when(registry),
        },
    }


def _limits() -> Schema:
    return _closed(
        {
            "cooldown": _DURATION,
            "one_at_a_time": {"enum": ["camera", "plate", "track"]},
            "per_hour": {"type": "integer", "minimum": 1},
            "ai_per_hour": {"type": "integer", "minimum": 0},
        }
    )


def _closed(properties: Schema, required: Iterable[str] = ()) -> Schema:
    schema: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    needed = list(required)
    return {**schema, "required": needed} if needed else schema


def _triggers(registry: Registry) -> Schema:
    properties = {spec.name: _mapping(spec.fields, spec.description) for spec in registry.triggers.values()}
    return {"additionalProperties": False, "properties": properties}


def _when(registry: Registry) -> Schema:
    several = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/trigger"}}
    triggers = _triggers(registry)
    return {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "properties": {**triggers["properties"], "any": several},
    }


def _conditions(registry: Registry) -> Schema:
    properties: Schema = {"any": _CONDITIONS, "not": _CONDITIONS}
    for spec in registry.conditions.values():
        properties[spec.name] = _form(spec.fields, spec.shorthand, spec.description)
    comparisons = [{"required": [key]} for key in COMPARISONS]
    if "value" in properties:
        properties["value"] = {**properties["value"], "oneOf": comparisons}
    return {"additionalProperties": False, "properties": properties}


def _mapping(fields: tuple[Field, ...], description: str) -> Schema:
    schema = _closed({field.name: _field(field) for field in fields}, (f.name for f in fields if f.required))
    return {"description": description, **schema} if description else schema


def _form(fields: tuple[Field, ...], shorthand: str | None, description: str) -> Schema:
    mapping = _mapping(fields, description)
    short = next((field for field in fields if field.name == shorthand), None)
    return mapping if short is None else {"anyOf": [_field(short), mapping]}


def _field(field: Field) -> Schema:
    schema = dict(_field_type(field))
    if field.description:
        schema["description"] = field.description
    if field.minimum is not None:
        schema["minimum"] = field.minimum
    if field.maximum is not None:
        schema["maximum"] = field.maximum
    if field.default is not None:
        schema["default"] = field.default
    return schema


def _field_type(field: Field) -> Schema:
    roles = {"anyOf": [_ROLE, {"type": "array", "items": _ROLE, "minItems": 1}]}
    options: Schema = {"enum": list(field.options)}
    types: dict[FieldType, Schema] = {
        FieldType.TEXT: _TEXT,
        FieldType.STRING: _TEXT,
        FieldType.NUMBER: {"type": "number"},
        FieldType.INTEGER: {"type": "integer"},
        FieldType.BOOL: {"type": "boolean"},
        FieldType.DURATION: _DURATION,
        FieldType.TIME: _TIME,
        FieldType.DAYS: {"type": "array", "items": {"enum": list(DAYS)}, "minItems": 1},
        FieldType.CRON: _TEXT,
        FieldType.CHOICE: options,
        FieldType.CHOICES: {"type": "array", "items": options, "minItems": 1},
        FieldType.STRINGS: {"type": "array", "items": _TEXT, "minItems": 1},
        FieldType.ROLE: _ROLE,
        FieldType.ROLES: roles,
        FieldType.WHO: _WHO,
        FieldType.MAPPING: {"type": "object"},
        FieldType.EVENTS: _window(),
        FieldType.ANY: {},
    }
    return types[field.type]


def _window() -> Schema:
    return _closed(
        {"type": _TEXT, "last": _DURATION, "since": {"const": "trigger"}, "where": {"type": "object"}}, ("type",)
    )


def _any_step(registry: Registry) -> Schema:
    """A step has the key of exactly one kind, and only that kind's form is asked: trying every form on every lane would cost the power of
    the depth."""
    forms = list(_steps(registry))
    asked = [{"if": {"required": form["required"]}, "then": form} for form in forms]
    return {"type": "object", "oneOf": [{"required": form["required"]} for form in forms], "allOf": asked}


def _steps(registry: Registry) -> Iterable[Schema]:
    for kind, schema in _host_kinds(registry).items():
        if kind in registry.step_kinds:
            yield _step(kind, schema, lanes=True)
    for spec in registry.step_kinds.values():
        if spec.name not in _host_kinds(registry):
            yield _step(spec.name, _form(spec.fields, spec.shorthand, spec.description), lanes=bool(spec.outcomes))
    for action in registry.actions.values():
        yield _step(action.name, _form(action.fields, action.shorthand, action.description), lanes=False)


def _step(kind: str, schema: Schema, *, lanes: bool) -> Schema:
    """One form of a step. Its lanes are named by the author, so any other key that holds steps is one."""
    return {
        "type": "object",
        "required": [kind],
        "properties": {kind: schema, "id": {"type": "string", "pattern": "^[a-z][a-z0-9_]*$"}, "name": _TEXT},
        "additionalProperties": _STEPS if lanes else False,
    }


def _with_lanes(properties: Schema, required: Iterable[str]) -> Schema:
    return {**_closed(properties, required), "additionalProperties": _STEPS}


def _host_kinds(registry: Registry) -> dict[str, Schema]:
    outcomes: Schema = {"type": "array", "items": _TEXT, "minItems": 1, "uniqueItems": True}
    return {
        "ai": _ai(registry, outcomes),
        "if": _CONDITIONS,
        "ask_person": _with_lanes(
            {
                "who": _WHO,
                "message": _TEXT,
                "replies": outcomes,
                "timeout": _DURATION,
                "default": _TEXT,
                "attach": {"type": "array", "items": {"enum": list(ATTACHMENTS)}},
                "escalate": {
                    "type": "array",
                    "minItems": 1,
                    "items": _closed({"after": _DURATION, "who": _WHO}, ("after", "who")),
                },
            },
            ("who", "message", "replies"),
        ),
        "call": _with_lanes(
            {
                "who": _WHO,
                "to": _WHO,
                "line": _ROLE,
                "goal": _TEXT,
                "script": _TEXT,
                "outcomes": outcomes,
                "fields": {"type": "object"},
                "confirm": {"enum": ["digit", "spoken", "none"]},
                "retries": {"type": "integer", "minimum": 0, "maximum": 10},
                "max_seconds": {"type": "number", "minimum": 1, "maximum": 3600},
            },
            ("goal", "outcomes"),
        ),
        "for_each": _closed(
            {
                "in": {"anyOf": [_TEXT, {"type": "array", "minItems": 1}, _closed({"events": _window()}, ("events",))]},
                "as": {"type": "string", "pattern": "^[a-z][a-z0-9_]*$"},
                "do": _STEPS,
            },
            ("in", "as", "do"),
        ),
        "wait_for": {
            "type": "object",
            "required": ["timeout"],
            "properties": {
                **_when(registry)["properties"],
                "timeout": _DURATION,
                "happened": _STEPS,
                "not_happened": _STEPS,
            },
            "additionalProperties": False,
        },
    }


def _ai(registry: Registry, outcomes: Schema) -> Schema:
    tools = sorted(tool.name for tool in registry.tools.values() if not tool.moves)
    mode_of: Schema = {"type": "object", "minProperties": 1, "maxProperties": 1}
    stricter = {**mode_of, "additionalProperties": False, "properties": {t: {"enum": list(ToolMode)} for t in tools}}
    frames = _closed({"seconds": {"type": "number", "minimum": 1, "maximum": 60}, "since": {"const": "trigger"}})
    one_input = {"anyOf": [{"enum": list(INPUTS)}, _closed({"frames": frames, "text": _TEXT})]}
    count: Schema = {"type": "integer", "minimum": 1}
    return _with_lanes(
        {
            "mode": {"enum": sorted(registry.ai_modes)},
            "prompt": _TEXT,
            "input": {"anyOf": [one_input, {"type": "array", "items": one_input, "minItems": 1}]},
            "goal": _TEXT,
            "instructions": _TEXT,
            "tools": {"type": "array", "minItems": 1, "maxItems": 5, "items": {"anyOf": [{"enum": tools}, stricter]}},
            "memory": {"enum": ["run", "camera"]},
            "cameras": _field_type(Field("cameras", FieldType.ROLES)),
            "decision": outcomes,
            "fields": {"type": "object", "minProperties": 1},
            "rules": {
                "type": "array",
                "minItems": 1,
                "items": _closed({"when": {"type": "object"}, "then": _TEXT}, ("then",)),
            },
            "sure": {"type": "number", "minimum": 0, "maximum": 1},
            "uncalibrated": {"enum": ["run", "unsure"]},
            "limits": _closed(
                {
                    "tool_calls": count,
                    "model_calls": count,
                    "seconds": {"type": "number", "minimum": 1},
                    "tokens": count,
                }
            ),
        },
        ("mode", "decision"),
    )
