"""Which workflows an event may start: an index by event type and camera, so that an event costs nothing to those that do not want it,
and the residual test of the trigger for those that might."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from siteward.core.contract.document import TriggerUse
from siteward.core.contract.provenance import least_trusted
from siteward.core.contract.registry import EventSpec, Provenance, Registry
from siteward.core.engine.plan import Plan
from siteward.core.engine.seam import Labelled
from siteward.core.engine.values import event_values
from siteward.core.errors import SitewardError
from siteward.core.events.event import Event
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
    """A workflow whose trigger fits an event."""

    plan: Plan
    use: TriggerUse


@dataclass(frozen=True, slots=True)
class Index:
    """The triggers of all workflows that take events now. Immutable: an edit builds a new one."""

    entries: Mapping[tuple[str, str | None], tuple[Match, ...]] = field(default_factory=dict)

    def candidates(self, event: Event) -> Iterable[Match]:
        """Triggers for this type that name the event's camera, or no camera."""
        if event.camera is not None:
            yield from self.entries.get((event.type, event.camera), ())
        yield from self.entries.get((event.type, None), ())


def build_index(
    plans: Iterable[Plan], triggers: Mapping[str, Trigger], cameras_of: Callable[[str], frozenset[str]]
) -> Index:
    """Index the triggers of `plans`. A camera role stands for the cameras that it is mapped to now."""
    entries: dict[tuple[str, str | None], list[Match]] = {}
    for plan in plans:
        for use in plan.document.triggers:
            trigger = triggers.get(use.name)
            if trigger is None:
                continue
            for event_type in trigger.event_types(use.settings):
                for camera in cameras_of_use(use, cameras_of) or (None,):
                    entries.setdefault((event_type, camera), []).append(Match(plan, use))
    return Index({key: tuple(found) for key, found in entries.items()})


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
    """The whole test of one trigger on one event."""
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
        raise TriggerBroken(use.name, error) from error


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
