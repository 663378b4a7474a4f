"""The entries of a manifest's `provides` and `skills`, by kind.

`triggers` (name, provenance, fields, gives), `events` (name, provenance, gives), `conditions` (name, fields, shorthand, ai), `actions` (name, fields,
repeat, moves, target, shorthand), `tools` (name, description, effect, mode, parameters as a JSON schema; or `moves: true`), `step_kinds` (name,
fields, outcomes, gives, shorthand, ai), `ai_modes, models, cameras, gates, lines` (name, fields of their settings), `templates` (name, path), and
`alert_sources` (name, provenance). Each may carry `description` and `scopes`. `{name: …, skill: true}` provides a skill of the vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import voluptuous as vol

from siteward.core.contract.document import Path
from siteward.core.contract.registry import Effect, FieldType, Moves, Provenance, Repeat, ToolMode

SCOPES: Final = ("faces", "plates", "audio", "people")
GIVEN_TYPES: Final = ("text", "number", "bool", "list")
ROLE_KINDS: Final = ("camera", "person", "list", "zone", "line", "gate", "siren", "destination", "entity")

Check = Callable[[Any], Any]


def text(value: Any) -> str:
    """A text with something in it."""
    if not isinstance(value, str) or not value.strip():
        raise vol.Invalid("a text is expected")
    return value


texts: Final = [text]


def matching(pattern: str, sentence: str) -> Check:
    """A text of one form; `sentence` says which."""
    compiled = re.compile(pattern)

    def check(value: Any) -> str:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            raise vol.Invalid(sentence)
        return value

    return check


def one_of(*allowed: str) -> Check:
    """One of these words."""

    def check(value: Any) -> str:
        if value not in allowed:
            raise vol.Invalid(f"one of {', '.join(allowed)} is expected")
        return str(value)

    return check


NAME: Final = matching(
    r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*(\.v[0-9]+)?",
    "a name is small letters, digits and _, with dots between its parts",
)
EVENT: Final = matching(
    r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*\.v[0-9]+", "an event type has three parts, such as plate.recognized.v1"
)
KEY: Final = matching(r"[a-z][a-z0-9_]*", "a name of a field is small letters, digits and _, and begins with a letter")
_NUMBER: Final = vol.Any(int, float, msg="a number is expected")

_COMMON: Final[dict[Any, Any]] = {
    vol.Required("name"): NAME,
    vol.Optional("description"): text,
    vol.Optional("scopes"): [one_of(*SCOPES)],
}
_FIELD_KEYS: Final[dict[Any, Any]] = {
    vol.Required("type"): one_of(*FieldType),
    vol.Optional("required"): bool,
    vol.Optional("description"): text,
    vol.Optional("options"): texts,
    vol.Optional("minimum"): _NUMBER,
    vol.Optional("maximum"): _NUMBER,
    vol.Optional("role"): one_of(*ROLE_KINDS),
    vol.Optional("default"): object,
}


def _whole_field(value: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = value["type"]
    if kind in ("role", "roles") and "role" not in value:
        raise vol.Invalid("a field of this type says which kind of role it takes: add `role`", path=["role"])
    if kind in ("choice", "choices") and not value.get("options"):
        raise vol.Invalid("a field of this type lists what it takes: add `options`", path=["options"])
    return value


_FIELDS: Final = {vol.Optional("fields"): {KEY: vol.All(_FIELD_KEYS, _whole_field)}}
_GIVEN_KEYS: Final[dict[Any, Any]] = {
    vol.Required("type"): one_of(*GIVEN_TYPES),
    vol.Optional("provenance"): one_of(*Provenance),
    vol.Optional("authorises"): bool,
    vol.Optional("description"): text,
}
_GIVEN_SCHEMA: Final = vol.Schema(_GIVEN_KEYS)
_GIVEN_TYPE: Final = one_of(*GIVEN_TYPES)


def _given(value: Any) -> Any:
    """`text`, or the long form. An AI's word is no identity, so it cannot authorise."""
    if not isinstance(value, Mapping):
        return _GIVEN_TYPE(value)
    checked = _GIVEN_SCHEMA(value)
    if checked.get("authorises") and checked.get("provenance") == Provenance.AI:
        raise vol.Invalid("what AI says cannot authorise", path=["authorises"])
    return checked


_GIVES: Final = {vol.Optional("gives"): {KEY: _given}}
_PROVENANCE: Final = {vol.Required("provenance"): one_of(*Provenance)}
_SHORTHAND: Final = {vol.Optional("shorthand"): text}


def _names_own_fields(value: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in ("shorthand", "target"):
        if key in value and value[key] not in value.get("fields", {}):
            raise vol.Invalid(f"`{value[key]}` is not one of the fields", path=[key])
    return value


def _moves_once(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """What always moves acts once: a second try could move a thing twice."""
    if value["moves"] == Moves.YES and value["repeat"] != Repeat.ONCE:
        raise vol.Invalid("what moves things has `repeat: once`", path=["repeat"])
    return _names_own_fields(value)


def _authorises_with_source(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """An identity of an AI event is AI's word, unless it says where else it comes from."""
    for name, given in value.get("gives", {}).items():
        if not isinstance(given, Mapping) or not given.get("authorises"):
            continue
        if value["provenance"] == Provenance.AI and "provenance" not in given:
            raise vol.Invalid("what AI says cannot authorise; say where it comes from", path=["gives", name])
    return value


_TOOL_KEYS: Final[dict[Any, Any]] = {
    **_COMMON,
    vol.Required("description"): text,
    vol.Optional("moves"): bool,
    vol.Optional("effect"): one_of(*Effect),
    vol.Required("mode"): one_of(*ToolMode),
    vol.Optional("parameters"): {"type": one_of("object"), vol.Extra: object},
}


def _tool(value: Mapping[str, Any]) -> Mapping[str, Any]:
    if value.get("moves"):
        if value["mode"] != ToolMode.UNAVAILABLE:
            raise vol.Invalid("a tool that moves things is unavailable to AI", path=["mode"])
    elif "effect" not in value or "parameters" not in value:
        missing = "effect" if "effect" not in value else "parameters"
        raise vol.RequiredFieldInvalid("required key not provided", path=[missing])
    return value


_KINDS: Final[Mapping[str, tuple[dict[Any, Any], Check | None]]] = {
    "triggers": (
        {**_COMMON, **_PROVENANCE, **_FIELDS, **_GIVES, vol.Optional("open_payload"): bool},
        _authorises_with_source,
    ),
    "events": ({**_COMMON, vol.Required("name"): EVENT, **_PROVENANCE, **_GIVES}, _authorises_with_source),
    "conditions": ({**_COMMON, **_FIELDS, **_SHORTHAND, vol.Optional("ai"): bool}, _names_own_fields),
    "actions": (
        {
            **_COMMON,
            **_FIELDS,
            **_SHORTHAND,
            vol.Required("repeat"): one_of(*Repeat),
            vol.Required("moves"): one_of(*Moves),
            vol.Optional("target"): text,
        },
        _moves_once,
    ),
    "tools": (_TOOL_KEYS, _tool),
    "step_kinds": (
        {
            **_COMMON,
            **_FIELDS,
            **_GIVES,
            **_SHORTHAND,
            vol.Optional("outcomes"): texts,
            vol.Optional("ai"): bool,
            vol.Optional("repeat"): one_of(Repeat.RERUN),
        },
        _names_own_fields,
    ),
    "ai_modes": ({**_COMMON}, None),
    "models": ({**_COMMON, **_FIELDS}, None),
    "cameras": ({**_COMMON, **_FIELDS}, None),
    "gates": ({**_COMMON, **_FIELDS}, None),
    "lines": ({**_COMMON, **_FIELDS}, None),
    "templates": ({vol.Required("name"): NAME, vol.Required("path"): text, vol.Optional("description"): text}, None),
    "alert_sources": ({vol.Required("name"): text, **_PROVENANCE, vol.Optional("description"): text}, None),
}
KINDS: Final = tuple(_KINDS)
_SKILL_KEYS: Final[dict[Any, Any]] = {vol.Required("name"): NAME, vol.Required("skill"): bool}


def _entries(kind: str) -> Check:
    keys, whole = _KINDS[kind]
    schema = vol.Schema(keys if whole is None else vol.All(keys, whole))
    skill = vol.Schema(_SKILL_KEYS)

    def check(value: Any) -> Any:
        if not isinstance(value, list):
            raise vol.Invalid("a list of entries is expected")
        problems: list[vol.Invalid] = []
        seen: set[object] = set()
        for index, entry in enumerate(value):
            try:
                (skill if isinstance(entry, dict) and entry.get("skill") else schema)(entry)
            except vol.MultipleInvalid as error:
                error.prepend([index])
                problems.extend(error.errors)
                continue
            if entry["name"] in seen:
                problems.append(vol.Invalid(f"{entry['name']} stands twice", path=[index, "name"]))
            seen.add(entry["name"])
        if problems:
            raise vol.MultipleInvalid(problems)
        return value

    return check


PROVIDES: Final[dict[Any, Any]] = {vol.Optional(kind): _entries(kind) for kind in KINDS}


def known_keys(path: Path, top: Mapping[Any, Any]) -> Iterable[str]:
    """The keys that the mapping at `path[:-1]` may have, for the nearest one of a key that is not known."""
    match path:
        case (_,):
            return _keys(top)
        case ("provides" | "skills", _):
            return KINDS
        case ("provides" | "skills", str(kind), int(), _) if kind in _KINDS:
            return _keys(_KINDS[kind][0])
        case ("provides" | "skills", _, int(), "fields", _, _):
            return _keys(_FIELD_KEYS)
        case ("provides" | "skills", _, int(), "gives", _, _):
            return _keys(_GIVEN_KEYS)
        case _:
            return ()


def _keys(schema: Mapping[Any, Any]) -> list[str]:
    return [str(key.schema if isinstance(key, vol.Marker) else key) for key in schema]
