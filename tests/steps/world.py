"""A small world around one step: a site, a run and a clock, all as data that a test sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from siteward.core.contract.document import Condition, Lane, Place, Step, TriggerUse, Value
from siteward.core.contract.manifest_data import shipped_registry
from siteward.core.contract.registry import Provenance, Registry
from siteward.core.engine.seam import AiSurroundings, Labelled, Mode, Trail
from siteward.core.engine.windows import event_window
from siteward.core.errors import UnknownRole
from siteward.core.events.event import Event
from siteward.core.plugins.event_triggers import VOCABULARY
from siteward.core.plugins.objects import AiMode, Trigger
from siteward.core.plugins.objects import Condition as HostCondition
from siteward.steps import host_conditions, host_triggers

NOON = datetime(2026, 6, 1, 10, 0, tzinfo=UTC)
"""A Monday, noon in Berlin."""
HERE = Place(1, 1)
BERLIN = "Europe/Berlin"


class StillClock:
    """A clock that moves only when a test says so."""

    def __init__(self, now: datetime = NOON, boot: float = 1000.0) -> None:
        self._now = now
        self._boot = boot

    def now(self) -> datetime:
        return self._now

    def since_boot(self) -> float:
        return self._boot

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        self._boot += seconds

    async def sleep_until(self, due: datetime) -> None:
        self.advance(max(0.0, (due - self._now).total_seconds()))


def event(type: str = "plate.recognized.v1", **over: Any) -> Event:
    """A plate read at the gate, unless said otherwise."""
    fields: dict[str, Any] = {
        "id": "e1",
        "source": "detector",
        "provenance": Provenance.SENSOR,
        "at": NOON,
        "camera": "cam-gate",
        "payload": {"plate": "B-AB 123", "confidence": 0.9},
        "picture": "picture-1",
    }
    return Event(type=type, **(fields | over))


def frozen(value: Any) -> Value:
    """Plain test data as the document holds it: tuples for lists."""
    if isinstance(value, list | tuple):
        return tuple(frozen(item) for item in value)
    if isinstance(value, Mapping):
        return {key: frozen(item) for key, item in value.items()}
    result: Value = value
    return result


def condition(name: str, settings: Any) -> Condition:
    """A condition as the loader makes it: `any` and `not` hold further ones, a scalar or list fills the shorthand field."""
    if name in ("any", "not"):
        inner = tuple(condition(*next(iter(one.items()))) for one in settings)
        return Condition(name, {}, (name,), HERE, inner)
    if not isinstance(settings, Mapping):
        shorthand = shipped_registry().conditions[name].shorthand
        assert shorthand is not None
        settings = {shorthand: settings}
    made = frozen(settings)
    assert isinstance(made, Mapping)
    return Condition(name, made, ("if", 0, name), HERE)


def conditions(*listed: Mapping[str, Any]) -> tuple[Condition, ...]:
    return tuple(condition(*next(iter(one.items()))) for one in listed)


def step(kind: str, settings: Mapping[str, Any] | None = None, **over: Any) -> Step:
    """One step. `lanes` names the outcomes that have a lane."""
    lanes = tuple(Lane(outcome, (), (outcome,), HERE, True) for outcome in over.pop("lanes", ()))
    made = frozen(settings or {})
    assert isinstance(made, Mapping)
    return Step(kind, made, ("then", 0), HERE, "then.0", lanes=lanes, **over)


def use(name: str, settings: Mapping[str, Any] | None = None) -> TriggerUse:
    made = frozen(settings or {})
    assert isinstance(made, Mapping)
    return TriggerUse(name, made, ("when", name), HERE)


def value(value: Any, provenance: Provenance = Provenance.SENSOR, *, authorises: bool = False) -> Labelled:
    return Labelled(value, provenance, authorises)


PLATE = value("B-AB 123", authorises=True)


@dataclass
class Site:
    """What a site holds."""

    zone: str = BERLIN
    mode: str = "armed_away"
    camera_roles: Mapping[str, frozenset[str]] = field(
        default_factory=lambda: {
            "cam-gate": frozenset({"gate"}),
            "cam-1": frozenset({"yard"}),
            "cam-2": frozenset({"yard"}),
        }
    )
    lists: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    unconfirmed: frozenset[str] = frozenset()
    past: tuple[Event, ...] = ()

    async def cameras_of(self, role: str) -> tuple[str, ...]:
        found = tuple(camera for camera, roles in self.camera_roles.items() if role in roles)
        if not found:
            raise UnknownRole(f"No camera has the role {role}.")
        return found

    async def roles_of(self, camera: str) -> frozenset[str]:
        return self.camera_roles.get(camera, frozenset())

    async def list_rows(self, name: str, *, confirmed_only: bool) -> tuple[Mapping[str, Any], ...]:
        if name not in self.lists:
            raise UnknownRole(f"There is no list {name}.")
        unconfirmed = self.unconfirmed if confirmed_only else frozenset[str]()
        return tuple(row for row in self.lists[name] if unconfirmed.isdisjoint(row.values()))

    async def events_in(self, window: Mapping[str, Any]) -> tuple[Event, ...]:
        wanted = event_window(window)
        return tuple(one for one in self.past if wanted.holds(one) and one.at >= wanted.starts(NOON, NOON))


class View:
    """The site as conditions see it."""

    def __init__(self, site: Site, at: datetime, trigger: Event) -> None:
        self._site = site
        self.now = at.astimezone(ZoneInfo(site.zone))
        self.event = trigger
        self.asked_lists: list[tuple[str, str, bool]] = []

    @property
    def camera_roles(self) -> frozenset[str]:
        return self._site.camera_roles.get(self.event.camera or "", frozenset())

    async def site_mode(self) -> str:
        return self._site.mode

    async def in_list(self, name: str, value: str, *, confirmed_only: bool) -> bool:
        self.asked_lists.append((name, value, confirmed_only))
        if confirmed_only and value in self._site.unconfirmed:
            return False
        return any(value in row.values() for row in self._site.lists.get(name, ()))

    async def count_events(self, window: Mapping[str, Any]) -> int:
        wanted = event_window(window)
        start = wanted.starts(self.now, self.event.at)
        return len([one for one in self._site.past if wanted.holds(one) and start <= one.at <= self.now])


@dataclass(frozen=True)
class Provided:
    """What is loaded: the host's own and the vocabulary's triggers, and the AI modes that a test adds."""

    registry: Registry
    triggers: Mapping[str, Trigger]
    conditions: Mapping[str, HostCondition]
    ai_modes: Mapping[str, AiMode] = field(default_factory=dict)


def provided(*modes: AiMode, registry: Registry | None = None) -> Provided:
    return Provided(
        registry or shipped_registry(),
        {**VOCABULARY, **{trigger.name: trigger for trigger in host_triggers()}},
        {one.name: one for one in host_conditions()},
        {mode.name: mode for mode in modes},
    )


@dataclass
class World:
    """A run at one step."""

    event: Event = field(default_factory=event)
    values: dict[str, Labelled] = field(default_factory=lambda: {"plate": PLATE})
    mode: Mode = Mode.ON
    site: Site = field(default_factory=Site)
    clock: StillClock = field(default_factory=StillClock)
    trail: Trail = field(default_factory=Trail)
    skills: Provided = field(default_factory=provided)
    moves: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    around: AiSurroundings | None = None
    run_id: str = "run-1"
    workflow_id: str = "workflow-1"
    workflow_name: str = "Gate concierge"
    step_path: str = "then.0"
    view: View | None = None

    def conditions(self) -> View:
        self.view = View(self.site, self.clock.now(), self.event)
        return self.view

    def moves_on(self, step: Step, outcome: str) -> tuple[str, ...]:
        return self.moves.get(outcome, ())

    async def ai_surroundings(self, step: Step) -> AiSurroundings:
        assert self.around is not None
        return self.around

    def but(self, **over: Any) -> World:
        return replace(self, **over)
