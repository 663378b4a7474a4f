"""A workflow.v1 file as data: what the loader makes, and what validator, explain and engine read.

Everything here is immutable and plain. A `Path` names a node of the YAML tree (`("then", 0, "ai", "alert", 1)`); a
`Place` is where that node stands in the text, both numbers counted from 1 as editors do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]
Scalar: TypeAlias = str | int | float | bool | None
Value: TypeAlias = "Scalar | tuple[Value, ...] | Mapping[str, Value]"
"""A YAML value as workflow.v1 reads it: YAML 1.2 core scalars, tuples for sequences, string keys."""

EMPTY: Mapping[str, Value] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the text: line and column, both from 1."""

    line: int
    column: int


class State(StrEnum):
    """What a workflow may do: nothing, everything but effects, everything."""

    OFF = "off"
    TEST = "test"
    ON = "on"


@dataclass(frozen=True, slots=True)
class TriggerUse:
    """One trigger under `when` (or inside `wait_for`): the skill's name and its settings as written."""

    name: str
    settings: Mapping[str, Value]
    path: Path
    place: Place


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition. `any` and `not` hold `inner` conditions and no settings; a scalar or list form (`site_mode: [armed_home]`)
    stands under its shorthand field name in `settings`."""

    name: str
    settings: Mapping[str, Value]
    path: Path
    place: Place
    inner: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Lane:
    """The steps that follow one outcome of a step. `beside` is true where the lane stands beside the step's key."""

    outcome: str
    steps: tuple[Step, ...]
    path: Path
    place: Place
    beside: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `kind` is the step kind or action key (`ai`, `if`, `gate.open`, `my_app.greet`); `settings` are its keys
    without lanes, shorthand forms expanded (`log: "x"` -> `{"message": "x"}`; `wait: 30s` -> `{"for": "30s"}`).

    `conditions` is filled for `if`; `body` for `for_each` (its `do`); `trigger` for `wait_for` (several under `any`).
    `plan_path` is the stable name of the step in runs: `then.0/alert.1`, `then.2/do.0`, `always.0`.
    """

    kind: str
    settings: Mapping[str, Value]
    path: Path
    place: Place
    plan_path: str
    id: str | None = None
    name: str | None = None
    lanes: tuple[Lane, ...] = ()
    conditions: tuple[Condition, ...] = ()
    body: tuple[Step, ...] = ()
    triggers: tuple[TriggerUse, ...] = ()

    def lane(self, outcome: str) -> Lane | None:
        """The lane for `outcome`, or None where the author wrote none."""
        return next((lane for lane in self.lanes if lane.outcome == outcome), None)


@dataclass(frozen=True, slots=True)
class WorkflowLimits:
    """`limits` of the file, None where not written (the host's defaults then apply). Durations in seconds."""

    cooldown: float | None = None
    one_at_a_time: str | None = None
    per_hour: int | None = None
    ai_per_hour: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A whole workflow. `text` is the file as given, never re-dumped. `places` maps the path of every value, and
    `key_places` of every mapping key, to where it stands. A fragment has an empty name and no triggers."""

    text: str
    name: str
    description: str | None
    state: State
    needs: Mapping[str, tuple[str, ...]]
    limits: WorkflowLimits
    triggers: tuple[TriggerUse, ...]
    conditions: tuple[Condition, ...]
    then: tuple[Step, ...]
    always: tuple[Step, ...]
    places: Mapping[Path, Place]
    key_places: Mapping[Path, Place]
    root: Mapping[str, Value] = field(default_factory=lambda: EMPTY)

    def place_of(self, path: Path) -> Place:
        """Where `path` stands, or its nearest ancestor that stands somewhere."""
        while path:
            found = self.key_places.get(path) or self.places.get(path)
            if found is not None:
                return found
            path = path[:-1]
        return Place(1, 1)
