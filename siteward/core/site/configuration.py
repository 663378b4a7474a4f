"""`configuration.yaml`: the site as its owner writes it, checked with the place of everything that is wrong.

It holds what the machine must know before anyone signs in: cameras and their roles, gates and what drives them, lists, groups, destinations,
models and integrations. What people change on the pages (site mode, rows of lists, accounts) lives in the database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import voluptuous as vol

from siteward.core.errors import ConfigurationInvalid

from .addresses import PORTS
from .configuration_yaml import Tree, read_tree

NAME = vol.Match(r"^[a-z][a-z0-9_-]{0,63}$", msg="a name is small letters, digits, - and _, and begins with a letter")
DATA_CLASSES = ("text", "plate", "picture", "face", "audio")
FRESH_FOR_SECONDS = 60
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CameraSettings:
    """A camera: its id, the name that people see, the kind that opens it (`camera.folder`), that kind's settings, and its roles."""

    id: str
    name: str
    kind: str
    settings: Mapping[str, Any]
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GateConfiguration:
    """A gate role: what drives it, and for how many seconds a reply or a rule may move it."""

    role: str
    name: str
    driver: str
    settings: Mapping[str, Any]
    fresh_for: float


@dataclass(frozen=True, slots=True)
class ListConfiguration:
    """A list: its columns with their types (text, plate, number), the column that is matched, its first rows, and the targets (`gate:north`)
    that it may authorise."""

    name: str
    columns: Mapping[str, str]
    match: str
    rows: tuple[Mapping[str, str], ...]
    authority_for: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DestinationConfiguration:
    """A place outside where bytes may go. `tells`: an admin says that what is sent there only tells and moves nothing."""

    name: str
    url: str
    purpose: str
    data_classes: tuple[str, ...]
    tells: bool


@dataclass(frozen=True, slots=True)
class ModelConfiguration:
    """A model: the kind that opens it and its settings."""

    name: str
    kind: str
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SiteConfiguration:
    """Everything in `configuration.yaml`. `roles` are further roles by kind (zone, line, siren, entity) and what they stand for."""

    name: str
    zone: str
    host: str
    port: int
    cameras: tuple[CameraSettings, ...] = ()
    gates: Mapping[str, GateConfiguration] = field(default_factory=lambda: _NOTHING)
    lists: Mapping[str, ListConfiguration] = field(default_factory=lambda: _NOTHING)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _NOTHING)
    destinations: Mapping[str, DestinationConfiguration] = field(default_factory=lambda: _NOTHING)
    models: Mapping[str, ModelConfiguration] = field(default_factory=lambda: _NOTHING)
    roles: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=lambda: _NOTHING)
    tools: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    caps: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    facts: str = ""
    site_mode: str = "disarmed"
    integrations: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: _NOTHING)
    metrics_token: str = field(default="", repr=False)
    database: str = field(default="", repr=False)
    """The address of a PostgreSQL database (`postgresql://…`); empty: the SQLite file in the site's folder."""


POSTGRESQL = "postgresql://"


def _zone(value: Any) -> str:
    try:
        ZoneInfo(str(value))
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise vol.Invalid(f"{value} is no time zone; write one such as Europe/Berlin") from error
    return str(value)


def _facts(value: Any) -> str:
    if not isinstance(value, str):
        raise vol.Invalid("facts are a text")
    if len(value.split()) > 300:
        raise vol.Invalid("facts hold at most 300 words; longer material goes into lists")
    return value


def _group(value: Any) -> str:
    if value in ("admin", "operator", "viewer"):
        raise vol.Invalid(f"{value} is a role of its own; choose another name for the group")
    return str(value)


def _database(value: Any) -> str:
    if not isinstance(value, str) or not value.startswith(POSTGRESQL) or len(value) <= len(POSTGRESQL):
        raise vol.Invalid(
            f"write {POSTGRESQL}user:password@server/name, best as `!secret database`; leave the key out for SQLite"
        )
    return value


_TEXT = vol.All(str, vol.Length(min=1, max=200))
_SETTINGS = vol.Any({str: object}, msg="settings are a mapping")
_CAMERA = {
    vol.Required("id"): NAME,
    vol.Optional("name"): _TEXT,
    vol.Required("kind"): _TEXT,
    vol.Optional("settings", default=dict): _SETTINGS,
    vol.Optional("roles", default=list): [NAME],
}
_GATE = {
    vol.Optional("name"): _TEXT,
    vol.Required("driver"): _TEXT,
    vol.Optional("settings", default=dict): _SETTINGS,
    vol.Optional("fresh_for_seconds", default=FRESH_FOR_SECONDS): vol.All(
        vol.Any(int, float, msg="a number of seconds"),
        vol.Range(min=5, max=600, msg="fresh_for_seconds is between 5 and 600"),
    ),
}
_LIST = {
    vol.Required("columns"): {NAME: vol.In(("text", "plate", "number"))},
    vol.Required("match"): str,
    vol.Optional("rows", default=list): [{str: vol.Coerce(str)}],
    vol.Optional("authority_for", default=list): [str],
}
_DESTINATION = {
    vol.Required("url"): vol.Match(
        rf"^({'|'.join(PORTS)})://[^\s@#?]+$",
        msg="an http or https address, or a broker's (mqtt, mqtts, nats, tls), without user, query or fragment",
    ),
    vol.Required("purpose"): _TEXT,
    vol.Optional("data_classes", default=lambda: ["text"]): [vol.In(DATA_CLASSES)],
    vol.Optional("tells", default=False): bool,
}
_MODEL = {vol.Required("kind"): _TEXT, vol.Optional("settings", default=dict): _SETTINGS}
SCHEMA = vol.Schema(
    {
        vol.Optional("name", default="My site"): _TEXT,
        vol.Optional("zone", default="UTC"): _zone,
        vol.Optional("database"): _database,
        vol.Optional("web", default=dict): {
            vol.Optional("host", default="127.0.0.1"): _TEXT,
            vol.Optional("port", default=8787): vol.All(int, vol.Range(min=0, max=65535)),
            vol.Optional("metrics_token", default=""): vol.All(
                str,
                vol.Any(
                    "", vol.Length(min=16, max=200), msg="a token of 16 to 200 letters, as `!secret metrics_token`"
                ),
            ),
        },
        vol.Optional("cameras", default=list): [_CAMERA],
        vol.Optional("gates", default=dict): {NAME: _GATE},
        vol.Optional("lists", default=dict): {NAME: _LIST},
        vol.Optional("groups", default=dict): {vol.All(NAME, _group): [_TEXT]},
        vol.Optional("destinations", default=dict): {NAME: _DESTINATION},
        vol.Optional("models", default=dict): {NAME: _MODEL},
        vol.Optional("roles", default=dict): {vol.In(("zone", "line", "siren", "entity")): {NAME: [str]}},
        vol.Optional("tools", default=dict): {str: vol.In(("auto", "ask", "unavailable"))},
        vol.Optional("caps", default=dict): {str: vol.Any(int, float)},
        vol.Optional("facts", default=""): _facts,
        vol.Optional("site_mode", default="disarmed"): vol.In(("disarmed", "armed_home", "armed_away")),
        vol.Optional("integrations", default=dict): {NAME: vol.Any(None, {str: object})},
    }
)


def read_configuration(path: FilePath) -> SiteConfiguration:
    """Read and check `configuration.yaml`. Raises `ConfigurationInvalid` whose sentence lists every problem with file, line and column."""
    tree = read_tree(path)
    try:
        checked = SCHEMA(tree.value)
    except vol.MultipleInvalid as error:
        raise _located(error, tree) from error
    return _build(checked, tree)


def _located(error: vol.MultipleInvalid, tree: Tree) -> ConfigurationInvalid:
    lines: list[str] = []
    first = None
    for problem in error.errors:
        path = tuple(str(p) if isinstance(p, vol.Marker) else p for p in problem.path)
        place = tree.place(path)
        first = first or place
        key = ".".join(str(part) for part in path) or "the file"
        lines.append(f"{place}: {key}: {_words(problem)}")
    return ConfigurationInvalid("\n".join(lines), where=str(first) if first else None)


def _words(problem: vol.Invalid) -> str:
    message = problem.msg
    if message == "extra keys not allowed":
        return "this key is not known here; remove it or correct its name"
    if message == "required key not provided":
        return "this key is required and missing"
    if message == "expected a list":
        return "this takes a list: write [one, two], or [] for none"
    if message == "expected a dictionary":
        return "this takes keys with values: write `key: value` lines below it, or remove it"
    return str(message)


def _refuse(tree: Tree, path: tuple[Any, ...], sentence: str) -> ConfigurationInvalid:
    place = tree.place(path)
    return ConfigurationInvalid(f"{place}: {sentence}", where=str(place) if place else None)


def _build(raw: Mapping[str, Any], tree: Tree) -> SiteConfiguration:
    seen: set[str] = set()
    for index, camera in enumerate(raw["cameras"]):
        if camera["id"] in seen:
            raise _refuse(
                tree, ("cameras", index, "id"), f"the camera id {camera['id']} stands twice; each camera has its own"
            )
        seen.add(camera["id"])
    for name, entry in raw["lists"].items():
        _check_list(name, entry, tree)
        _check_authority(name, entry, raw["gates"], tree)
    return SiteConfiguration(
        name=raw["name"],
        zone=raw["zone"],
        host=raw["web"]["host"],
        port=raw["web"]["port"],
        metrics_token=raw["web"]["metrics_token"],
        database=raw.get("database", ""),
        cameras=tuple(
            CameraSettings(c["id"], c.get("name", c["id"]), c["kind"], c["settings"], tuple(c["roles"]))
            for c in raw["cameras"]
        ),
        gates={
            role: GateConfiguration(
                role, g.get("name", role), g["driver"], g["settings"], float(g["fresh_for_seconds"])
            )
            for role, g in raw["gates"].items()
        },
        lists={
            name: ListConfiguration(
                name, entry["columns"], entry["match"], tuple(entry["rows"]), tuple(entry["authority_for"])
            )
            for name, entry in raw["lists"].items()
        },
        groups={name: tuple(people) for name, people in raw["groups"].items()},
        destinations={
            name: DestinationConfiguration(name, d["url"], d["purpose"], tuple(d["data_classes"]), d["tells"])
            for name, d in raw["destinations"].items()
        },
        models={name: ModelConfiguration(name, m["kind"], m["settings"]) for name, m in raw["models"].items()},
        roles={kind: {r: tuple(t) for r, t in entries.items()} for kind, entries in raw["roles"].items()},
        tools=raw["tools"],
        caps={name: float(value) for name, value in raw["caps"].items()},
        facts=raw["facts"],
        site_mode=raw["site_mode"],
        integrations={name: settings or {} for name, settings in raw["integrations"].items()},
    )


def _check_authority(name: str, entry: Mapping[str, Any], gates: Mapping[str, Any], tree: Tree) -> None:
    for index, target in enumerate(entry["authority_for"]):
        kind, _, role = target.partition(":")
        if kind == "gate" and role not in gates:
            known = ", ".join(f"gate:{gate}" for gate in gates) or "none"
            sentence = f"authority_for names {target}, and the site has no such gate; there is: {known}"
            raise _refuse(tree, ("lists", name, "authority_for", index), sentence)


def _check_list(name: str, entry: Mapping[str, Any], tree: Tree) -> None:
    columns = entry["columns"]
    if entry["match"] not in columns:
        raise _refuse(tree, ("lists", name, "match"), f"match names {entry['match']}, which is no column of the list")
    for index, row in enumerate(entry["rows"]):
        for key in row:
            if key not in columns:
                raise _refuse(tree, ("lists", name, "rows", index, key), f"{key} is no column of the list {name}")
        if not row.get(entry["match"]):
            raise _refuse(
                tree, ("lists", name, "rows", index), f"the row has no {entry['match']}, which the list matches on"
            )
