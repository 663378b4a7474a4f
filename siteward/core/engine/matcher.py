"""Which workflows an event may start: an index by event type and camera, so that an event costs nothing to those that do not want it,
and the residual test of the trigger for those that might."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from siteward.core.contract.document import TriggerUse
from siteward.core.contract.provenance import least_trusted
from siteward.core.contract.registry import EventSpec, Provenance, Registry
from siteward.core.engine.limits import own_scope
from siteward.core.engine.plan import Plan
from siteward.core.engine.seam import Labelled
from siteward.core.engine.values import event_values
from siteward.core.errors import SitewardError
from siteward.core.events.event import Event
from siteward.core.plugins.event_triggers import Bound, SettingsTest, bind
from siteward.core.plugins.objects import Trigger

SCHEDULE = "schedule"
"""The event type of a due schedule; its payload names the one trigger that it is for."""


class TriggerBroken(SitewardError):
    """The code behind a trigger raised over an event. The event starts nothing of that trigger, and everything else as ever."""

    code = "trigger.broken"

    def __init__(self, name: str, error: BaseException) -> None:
        super().__init__(
            f"The trigger {name} broke ({type(error).__name__}): see the log, and report it to who made it."
        )


@dataclass(frozen=True, slots=True)
class Match:
    """A workflow whose trigger fits an event. `beside`: by the version that runs in Test beside the one that is On."""

    plan: Plan
    use: TriggerUse
    beside: bool = False

    @property
    def version(self) -> tuple[str, int]:
        """The workflow and the version of it."""
        return self.plan.workflow_id, self.plan.version

    @property
    def scope(self) -> str:
        """Under which name its counters are kept."""
        return own_scope(self.plan.workflow_id, beside=self.beside)


Groups = dict[Bound | None, list[Match]]
"""Triggers by what they ask of an event beside its type and camera: one answer does for all that ask the same."""


@dataclass(slots=True)
class _OfType:
    """The triggers for one event type: those that name cameras by camera, those that name none, and schedules by workflow and name.
    `several`: some version of a workflow has more than one of them."""

    by_camera: dict[str, Groups] = field(default_factory=dict)
    anywhere: Groups = field(default_factory=dict)
    due: dict[tuple[str, str], list[Match]] = field(default_factory=dict)
    versions: set[tuple[str, int]] = field(default_factory=set)
    several: bool = False


class Found(NamedTuple):
    """What an event may start: of each version of a workflow the first trigger that fits, and the triggers that broke over it."""

    matches: Sequence[Match] = ()
    broken: Sequence[tuple[Match, TriggerBroken]] = ()


NOTHING: Final = Found()


@dataclass(frozen=True, slots=True)
class Index:
    """The triggers of all workflows that take events now, under what was provided and mapped when it was built. Never changed: an edit, a
    provider or a role that came or went builds a new one."""

    of_type: Mapping[str, _OfType] = field(default_factory=dict)

    def find(self, event: Event) -> Found:
        """The triggers that fit. What nobody wants costs two look-ups, and those that ask the same are asked once. A trigger that raises holds
        up no other."""
        of_type = self.of_type.get(event.type)
        if of_type is None:
            return NOTHING
        camera = event.camera
        named = None if camera is None else of_type.by_camera.get(camera)
        matches: list[Match] = []
        broken: list[tuple[Match, TriggerBroken]] = []
        if of_type.due:
            matches += _due(of_type.due, event)
        for groups in (named, of_type.anywhere):
            if not groups:
                continue
            for fits_event, group in groups.items():
                try:
                    if fits_event is None or fits_event(event):
                        matches += group
                except (Exception, SystemExit) as error:  # noqa: BLE001 (the edge to code that is not ours: it may raise anything)
                    broken += [(match, _broken(match.use, error)) for match in group]
        if of_type.several:
            matches = _first_of_each(matches)
        return Found(matches, broken) if matches or broken else NOTHING


def _first_of_each(matches: Sequence[Match]) -> list[Match]:
    """The trigger of each version that stands first in its file."""
    first: dict[tuple[str, int], Match] = {}
    for match in matches:
        held = first.setdefault(match.version, match)
        uses = match.plan.document.triggers
        if held is not match and uses.index(match.use) < uses.index(held.use):
            first[match.version] = match
    return list(first.values())


def _due(schedules: Mapping[tuple[str, str], Sequence[Match]], event: Event) -> Sequence[Match]:
    """The schedule that a due event is for. Where two versions have one of that name, it is for those that say the same time. Its payload is the
    host's own, or anybody's who sends events of that type."""
    workflow, trigger = event.payload.get("workflow"), event.payload.get("trigger")
    if not isinstance(workflow, str) or not isinstance(trigger, str):
        return ()
    named = schedules.get((workflow, trigger), ())
    if len(named) < 2:
        return named
    said = event.payload.get("schedule")
    if not isinstance(said, Mapping):
        return ()
    return [match for match in named if when_of(plain_settings(match.use)) == when_of(said)]


def when_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """When a schedule is due, without what becomes of missed times."""
    return {name: value for name, value in settings.items() if name != "missed"}


def plain_settings(use: TriggerUse) -> dict[str, Any]:
    """The settings of a trigger as a payload carries them."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in use.settings.items()}


def _broken(use: TriggerUse, error: BaseException) -> TriggerBroken:
    broken = TriggerBroken(use.name, error)
    broken.__cause__ = error
    return broken


def build_index(
    plans: Iterable[Plan],
    triggers: Mapping[str, Trigger],
    cameras_of: Callable[[str], frozenset[str]],
    beside: Iterable[Plan] = (),
) -> Index:
    """Index the triggers of `plans`, and of those that run in Test `beside` the ones that are On. A camera role stands for the cameras that it is
    mapped to now."""
    of_type: dict[str, _OfType] = {}
    tests: dict[tuple[str, str], Bound | None] = {}
    for plan, is_beside in (*((plan, False) for plan in plans), *((plan, True) for plan in beside)):
        for use in plan.document.triggers:
            trigger = triggers.get(use.name)
            if trigger is None:
                continue
            asks = _asks(trigger, use)
            if asks not in tests:
                tests[asks] = bind(trigger.matches, use.settings)
            cameras = cameras_of_use(use, cameras_of)
            for event_type in dict.fromkeys(trigger.event_types(use.settings)):
                into = of_type.setdefault(event_type, _OfType())
                _put(into, Match(plan, use, is_beside), trigger, cameras, tests[asks])
    return Index(of_type)


def _asks(trigger: Trigger, use: TriggerUse) -> tuple[str, str]:
    """What a use of a trigger asks of an event beside its type and camera, as a key. The text of settings tells 1 from true and from 1.0."""
    settings = use.settings
    if isinstance(trigger.matches, SettingsTest):
        settings = {name: value for name, value in settings.items() if name != "cameras"}
    return use.name, repr(settings)


def _put(into: _OfType, match: Match, trigger: Trigger, cameras: frozenset[str], asks: Bound | None) -> None:
    into.several = into.several or match.version in into.versions
    into.versions.add(match.version)
    if trigger.next_due is not None:
        into.due.setdefault((match.plan.workflow_id, name_of_use(match.use)), []).append(match)
    elif cameras:
        for camera in cameras:
            into.by_camera.setdefault(camera, {}).setdefault(asks, []).append(match)
    else:
        into.anywhere.setdefault(asks, []).append(match)


_NO_CAMERA = "\0"
"""Stands for the cameras of a role that is mapped to none: no event comes from it."""


def cameras_of_use(use: TriggerUse, cameras_of: Callable[[str], frozenset[str]]) -> frozenset[str]:
    """The cameras that a trigger listens to; empty where it names none and listens to all."""
    roles = use.settings.get("cameras")
    if roles is None:
        return frozenset()
    named = roles if isinstance(roles, tuple | list) else (roles,)
    found = frozenset[str]().union(*(cameras_of(str(role)) for role in named))
    return found or frozenset({_NO_CAMERA})


def fits(
    use: TriggerUse,
    event: Event,
    triggers: Mapping[str, Trigger],
    cameras_of: Callable[[str], frozenset[str]],
    workflow_id: str | None = None,
) -> bool:
    """The whole test of one trigger on one event, as things are provided and mapped now: what `Index.find` has looked up for all."""
    trigger = triggers.get(use.name)
    if trigger is None or event.type not in trigger.event_types(use.settings):
        return False
    cameras = cameras_of_use(use, cameras_of)
    if cameras and event.camera not in cameras:
        return False
    if trigger.next_due is not None:
        return event.payload.get("workflow") == workflow_id and event.payload.get("trigger") == name_of_use(use)
    try:
        return trigger.matches(use.settings, event)
    except (Exception, SystemExit) as error:  # the edge to code that is not ours: it may raise anything
        raise _broken(use, error) from error


def name_of_use(use: TriggerUse) -> str:
    """A stable name of a trigger in its file (`when.any.1.schedule`)."""
    return ".".join(str(part) for part in use.path)


@dataclass(frozen=True, slots=True)
class Given:
    """What a trigger gives to a run: its names, labelled, and who is behind the event."""

    values: Mapping[str, Labelled]
    provenance: Provenance


def given_by(
    use: TriggerUse, event: Event, triggers: Mapping[str, Trigger], registry: Registry, zone: str = "UTC"
) -> Given:
    """The names of an event by its trigger. `{trigger}` says which of several it was; `{time}` reads in the site's zone."""
    spec, trigger = registry.triggers[use.name], triggers[use.name]
    contracted = registry.events.get(event.type)
    fixed = fixed_source(use, contracted, registry)
    try:
        told = trigger.values(event)
    except (Exception, SystemExit) as error:  # the edge to code that is not ours: it may raise anything
        raise TriggerBroken(use.name, error) from error
    values = event_values(event, told, spec, contracted, fixed, zone)
    values["trigger"] = Labelled(use.name, Provenance.LITERAL)
    return Given(values, least_trusted((event.provenance, spec.provenance if fixed is None else fixed)))


def fixed_source(use: TriggerUse, contracted: EventSpec | None, registry: Registry) -> Provenance | None:
    """The source that a trigger's settings fix: a contracted event type, or an alert source that is known not to be AI."""
    if contracted is not None:
        return contracted.provenance
    source = use.settings.get("source")
    return registry.alert_sources.get(source) if isinstance(source, str) else None
