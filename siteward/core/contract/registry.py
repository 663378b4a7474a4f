"""What the contract knows of triggers, steps, actions, conditions and tools: data made from manifests, never code.

The validator, the JSON schema, the forms of the builder and the engine's safety check all read these. `Registry` is
immutable; a host builds a new one when an integration comes or goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any


class Provenance(StrEnum):
    """Where a value or a lane comes from. Lost provenance counts as AI."""

    LITERAL = "literal"
    SENSOR = "sensor"
    PERSON = "person"
    APP = "app"
    LIST = "list"
    AI = "ai"


class Repeat(StrEnum):
    """What happens to a step after a crash (see docs of the engine)."""

    RERUN = "rerun"
    WITH_STEP = "with_step"
    KEYED_RETRY = "keyed_retry"
    ONCE = "once"


class Moves(StrEnum):
    """Whether an action moves things; `unless_approved` moves until an admin approved its target as one that only tells."""

    NO = "no"
    YES = "yes"
    UNLESS_APPROVED = "unless_approved"


class Effect(StrEnum):
    """What a tool of Investigate does. There is no effect that moves."""

    READ = "read"
    ASK_PERSON = "ask_person"
    TELL = "tell"


class ToolMode(StrEnum):
    """How a tool may be used; the order here is from loose to strict."""

    AUTO = "auto"
    ASK = "ask"
    UNAVAILABLE = "unavailable"


class FieldType(StrEnum):
    """The type of a setting.

    `text` takes placeholders, `string` does not. `role` is one role name and `roles` one or several (a scalar or a list);
    which kind of role stands in `Field.role`. `who` is `role:x`, `user:x` or `group:x`. `mapping` is a free mapping whose
    texts take placeholders; `any` is any value, and its texts take them too. `events` is an event window (`type`, `last`, `since`, `where`).
    """

    TEXT = "text"
    STRING = "string"
    NUMBER = "number"
    INTEGER = "integer"
    BOOL = "bool"
    DURATION = "duration"
    TIME = "time"
    DAYS = "days"
    CRON = "cron"
    CHOICE = "choice"
    CHOICES = "choices"
    STRINGS = "strings"
    ROLE = "role"
    ROLES = "roles"
    WHO = "who"
    MAPPING = "mapping"
    EVENTS = "events"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Field:
    """One setting of a trigger, condition, action or third-party step kind."""

    name: str
    type: FieldType
    required: bool = False
    description: str = ""
    options: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    role: str | None = None
    default: Any = None


@dataclass(frozen=True, slots=True)
class Given:
    """A value that a trigger or an event gives to its run. `authorises` marks an identity (plate, badge, face match, code)."""

    name: str
    type: str
    provenance: Provenance
    authorises: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class TriggerSpec:
    """A trigger. `provenance` is that of the event itself; AI where the trigger does not fix a non-AI source.
    `open_payload`: it gives further names that the manifest cannot list (their provenance is the trigger's)."""

    name: str
    provider: str
    provenance: Provenance
    fields: tuple[Field, ...] = ()
    gives: tuple[Given, ...] = ()
    description: str = ""
    scopes: tuple[str, ...] = ()
    open_payload: bool = False


@dataclass(frozen=True, slots=True)
class EventSpec:
    """A contracted event type (`plate.recognized.v1`) and its payload."""

    type: str
    provider: str
    provenance: Provenance
    gives: tuple[Given, ...] = ()
    description: str = ""
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConditionSpec:
    """A condition. `shorthand` names the field that a scalar or list form fills. `ai`: its answer is an AI value."""

    name: str
    provider: str
    fields: tuple[Field, ...] = ()
    shorthand: str | None = None
    description: str = ""
    ai: bool = False


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """An action. `target` names the field that says what it acts on (a gate role, a destination); that field's role kind
    is looked up on the site."""

    name: str
    provider: str
    repeat: Repeat
    moves: Moves
    fields: tuple[Field, ...] = ()
    shorthand: str | None = None
    target: str | None = None
    description: str = ""
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepKindSpec:
    """A step kind. The host's own (`ai`, `if`, `for_each`, `ask_person`, `call`, `wait_for`) have shapes that the contract knows;
    a third party's has `fields`, fixed `outcomes`, and `ai: true` where its outcome is a model's word."""

    name: str
    provider: str
    repeat: Repeat = Repeat.RERUN
    fields: tuple[Field, ...] = ()
    outcomes: tuple[str, ...] = ()
    gives: tuple[Given, ...] = ()
    shorthand: str | None = None
    ai: bool = False
    description: str = ""
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool of Investigate with its model-facing text. `moves` is true for what arrives with `confirm: true`: never offered."""

    name: str
    provider: str
    effect: Effect
    default_mode: ToolMode
    description: str
    parameters: Mapping[str, Any]
    moves: bool = False
    scopes: tuple[str, ...] = ()


def _empty() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Registry:
    """Everything that can stand in a workflow file, by name. `alert_sources` says which alert sources are known not to be AI
    (`detector`, `app:<name>` whose manifest says so)."""

    triggers: Mapping[str, TriggerSpec] = field(default_factory=_empty)
    events: Mapping[str, EventSpec] = field(default_factory=_empty)
    conditions: Mapping[str, ConditionSpec] = field(default_factory=_empty)
    actions: Mapping[str, ActionSpec] = field(default_factory=_empty)
    step_kinds: Mapping[str, StepKindSpec] = field(default_factory=_empty)
    ai_modes: frozenset[str] = frozenset()
    tools: Mapping[str, ToolSpec] = field(default_factory=_empty)
    alert_sources: Mapping[str, Provenance] = field(default_factory=_empty)


@dataclass(frozen=True, slots=True)
class SiteView:
    """The site as the validator sees it: data only, made by the host for one saver.

    `roles` maps a role kind (camera, person, list, zone, line, gate, siren, destination, entity) to its mapped role names;
    `visible_cameras` are the camera roles that the saver may see; `authority_lists` maps a target (`gate:north`) to the lists that
    may authorise it; `tells` are approved targets that only tell (`destination:ticketing`); `sensor_entities` are entities that an admin
    marked as sensors; `tool_modes` is the tool policy; `caps` are the site's upper limits; `field_vocabulary` is what the
    site's Look model can fill (None: anything).
    """

    roles: Mapping[str, frozenset[str]]
    visible_cameras: frozenset[str]
    authority_lists: Mapping[str, frozenset[str]] = field(default_factory=_empty)
    tells: frozenset[str] = frozenset()
    sensor_entities: frozenset[str] = frozenset()
    tool_modes: Mapping[str, ToolMode] = field(default_factory=_empty)
    caps: Mapping[str, float] = field(default_factory=_empty)
    field_vocabulary: frozenset[str] | None = None
