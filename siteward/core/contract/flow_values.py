"""The labels of what triggers and steps give: who says it, and whether it is an identity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from .document import Step, TriggerUse, Value
from .flow_conditions import names_read, sole_name, window_provenance
from .flow_labels import LOST, Label, join_labels
from .flow_state import Point
from .provenance import least_trusted
from .registry import Given, Provenance, Registry, SiteView, TriggerSpec

COMMON_NAMES: Final = ("camera", "time", "event_id")
"""What every trigger gives."""
AI_NAMES: Final = ("reason", "decision", "confidence")
"""What every AI step gives beside its fields."""
ASK_NAMES: Final = ("reply", "who", "by", "note", "at")
CALL_NAMES: Final = ("outcome", "transcript", "confirmed", "who")
SAID_BY_PERSON: Final = Label(Provenance.PERSON)


def triggers_give(
    triggers: Sequence[TriggerUse], registry: Registry, site: SiteView | None
) -> tuple[Provenance, dict[str, Label]]:
    """Who says that the run starts, and what it is told. The least trusted of several triggers; of none (a fragment), AI: its source is lost."""
    if not triggers:
        return Provenance.AI, dict.fromkeys(COMMON_NAMES, LOST)
    several = [trigger_gives(use, registry, site) for use in triggers]
    provenance = least_trusted(source for source, _ in several)
    names: dict[str, Label] = {}
    for name in dict.fromkeys(name for _, given in several for name in given):
        labels = [given.get(name, LOST) for _, given in several]
        joined = join_labels(labels)
        names[name] = _trusted_at_most(joined, provenance)
    if len(triggers) > 1:
        names["trigger"] = Label(provenance)
    return provenance, names


def trigger_gives(use: TriggerUse, registry: Registry, site: SiteView | None) -> tuple[Provenance, dict[str, Label]]:
    """The provenance of one trigger as it is used, and the labels of the names that it gives."""
    spec = registry.triggers.get(use.name)
    if spec is None:
        return Provenance.AI, dict.fromkeys(COMMON_NAMES, LOST)
    provenance, given = _source(use, spec, registry, site)
    names = {name: Label(provenance) for name in COMMON_NAMES}
    for value in given:
        label = Label(value.provenance, value.authorises, _fixed_text(use, value.name))
        names[value.name] = _trusted_at_most(label, provenance)
    return provenance, names


def _source(
    use: TriggerUse, spec: TriggerSpec, registry: Registry, site: SiteView | None
) -> tuple[Provenance, tuple[Given, ...]]:
    if use.name == "event":
        contracted = registry.events.get(str(use.settings.get("type")))
        return (contracted.provenance, contracted.gives) if contracted else (Provenance.AI, spec.gives)
    if use.name == "alert":
        return alert_source(use.settings.get("source"), registry), _as_the_source_says(spec.gives)
    entities = [field.name for field in spec.fields if field.role == "entity"]
    if entities:
        return _entity_source(use, spec, entities, site), _as_the_source_says(spec.gives)
    return spec.provenance, spec.gives


def _as_the_source_says(gives: Iterable[Given]) -> tuple[Given, ...]:
    """The values of a trigger whose use fixes the source: each is as good as that source, where nothing better or worse is known of it."""
    return tuple(
        replace(given, provenance=Provenance.LITERAL) if given.provenance is Provenance.AI else given for given in gives
    )


def alert_source(source: Value, registry: Registry) -> Provenance:
    """Who raises the alerts of a `source`; AI unless every source named is known to be none."""
    sources = source if isinstance(source, tuple) else (source,)
    known = [registry.alert_sources.get(str(one), Provenance.AI) for one in sources]
    return least_trusted(known) if known else Provenance.AI


def _entity_source(use: TriggerUse, spec: TriggerSpec, fields: list[str], site: SiteView | None) -> Provenance:
    """An entity is a sensor only where an admin of this site marked it as one."""
    marked = site.sensor_entities if site is not None else frozenset[str]()
    named = [use.settings.get(name) for name in fields]
    if not all(isinstance(name, str) and name in marked for name in named):
        return Provenance.AI
    return Provenance.SENSOR if spec.provenance is Provenance.AI else spec.provenance


def _trusted_at_most(label: Label, provenance: Provenance) -> Label:
    worse = least_trusted((label.provenance, provenance))
    return replace(label, provenance=worse, authorises=label.authorises and worse is not Provenance.AI)


def _fixed_text(use: TriggerUse, name: str) -> tuple[str, ...] | None:
    """What a trigger's own setting pins a value to: `gate.changed: {gate: north}` gives the gate `north`."""
    setting = use.settings.get(name)
    return (setting,) if isinstance(setting, str) else None


def ai_step_gives(step: Step, start: Mapping[str, Label]) -> dict[str, Label]:
    """The names that an AI step gives, all of them AI's.

    Fields that the host fills (`plate: {from: "{plate}"}`) are AI's too: they are read back as the step's output, a rule of the step may have chosen
    among them, and an author who means the sensor's plate can write `{plate}`. A field never hides a name that the trigger gives.
    """
    fields = step.settings.get("fields")
    names = (*AI_NAMES, *(fields if isinstance(fields, Mapping) else ()))
    given = {name: LOST for name in names if name not in start}
    return {**given, **under(step.id, dict.fromkeys(names, LOST))}


def under(step_id: str | None, names: Mapping[str, Label]) -> dict[str, Label]:
    """Names under a step's id; a step without one gives none."""
    return {f"{step_id}.{name}": label for name, label in names.items()} if step_id is not None else {}


def step_kind_gives(step: Step, point: Point, registry: Registry) -> tuple[bool, dict[str, Label]]:
    """Whether a third party's step is AI's word (by its manifest, or because AI's values went in), and what it gives."""
    spec = registry.step_kinds.get(step.kind)
    if spec is None:
        return True, {}
    ai = spec.ai or bool(point.ai_names(names_read(step.settings)))
    names = {given.name: Label(Provenance.AI if ai else given.provenance) for given in spec.gives}
    return ai, under(step.id, names)


def call_gives(step: Step, *, row: bool) -> dict[str, Label]:
    """What a call gives. Its fields and transcript are what a model heard. `row` is the callee's row in a list, where AI looked it up."""
    fields = step.settings.get("fields")
    names = (*CALL_NAMES, *(fields if isinstance(fields, Mapping) else ()))
    labels = dict.fromkeys(names, LOST)
    if row:
        labels["row"] = Label(Provenance.AI, row=True)
    return under(step.id, labels)


def item_label(source: Value, point: Point, registry: Registry) -> tuple[frozenset[str], Label]:
    """The AI values that a loop's `in` reads, and the label of its item. An item is never an identity."""
    read = point.ai_names(names_read(source))
    if read:
        return read, LOST
    if isinstance(source, Mapping):
        return read, Label(window_provenance(source.get("events", source), registry))
    if isinstance(source, tuple):
        plain = all(isinstance(item, str) and not names_read(item) for item in source)
        texts = tuple(str(item) for item in source) if plain else None
        return read, Label(least_trusted(point.label(name).provenance for name in names_read(source)), texts=texts)
    name = sole_name(source)
    if name is not None:
        return read, Label(point.label(name).provenance)
    listed = isinstance(source, str) and source.startswith("list:")
    return read, Label(Provenance.LIST if listed else Provenance.LITERAL)
