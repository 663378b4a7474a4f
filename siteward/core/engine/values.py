"""Values with their labels: filling placeholders, and the JSON form that rows carry.

A filled text is as trusted as the least trusted value in it. A text that is one placeholder and nothing else keeps its value's
type and its mark as an identity; any other text is new, and authorises nothing. A name that is known and has no value (a plate that nobody
read, a field of a model that was down) is null, and reads as "unknown" in a text: a question to a guard must not fail for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from siteward.core.contract.document import Value
from siteward.core.contract.placeholders import BadPlaceholder, Reference, Template, names_in, parse_template
from siteward.core.contract.provenance import least_trusted, less_trusted
from siteward.core.contract.registry import ActionSpec, EventSpec, FieldType, Given, Provenance, TriggerSpec
from siteward.core.contract.remembered import remembered
from siteward.core.errors import SitewardError
from siteward.core.events.event import Event

from .schedule import zone_named
from .seam import JSON, Labelled

TEXT_LIMIT: Final = 64 * 1024
"""A filled text is cut here with a visible mark: a value can be large, and a row must not be."""

UNKNOWN: Final = "unknown"
"""How a null reads in a text."""

_CUT = " [cut]"


class MissingValue(SitewardError):
    """A placeholder that this run cannot fill."""

    code = "value.missing"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        names = ", ".join(sorted(known)) or "none"
        super().__init__(f"Nothing fills {{{name}}} in this run. Known here: {names}.", where=name)
        self.name = name


def lookup(name: str, values: Mapping[str, Labelled]) -> Labelled:
    """The value behind a name: `plate`, `look.reason`, or a field inside a value (`item.zone`). Raises `MissingValue` where nothing has
    that name. What is read carries the name by which it was read: that is what a person was shown, or was not."""
    found = values.get(name)
    if found is None:
        found = _inside(name, values)
    if found is None:
        raise MissingValue(name, values)
    return Labelled(found.value, found.provenance, found.authorises, frozenset((name,)))


def _inside(name: str, values: Mapping[str, Labelled]) -> Labelled | None:
    """A field of a mapping value. It is labelled as the whole is, and is no identity of its own."""
    head, dot, rest = name.rpartition(".")
    if not dot:
        return None
    whole = values.get(head) or _inside(head, values)
    if whole is None or not isinstance(whole.value, Mapping) or rest not in whole.value:
        return None
    return Labelled(whole.value[rest], whole.provenance)


def fill(text: str, values: Mapping[str, Labelled]) -> Labelled:
    """The text with its placeholders filled. Raises `MissingValue`, or `BadPlaceholder` where the text was never validated."""
    template = parse_template(text)
    if len(template) == 1:
        only = template[0]
        if isinstance(only, Reference):
            return lookup(only.name, values)
        if len(only) <= TEXT_LIMIT:
            return Labelled(only, Provenance.LITERAL)
    return _join(template, values)


def _join(template: Template, values: Mapping[str, Labelled]) -> Labelled:
    pieces: list[str] = []
    read: list[Labelled] = []
    for part in template:
        if isinstance(part, str):
            pieces.append(part)
            continue
        value = lookup(part.name, values)
        read.append(value)
        pieces.append(as_text(value.value))
    text = "".join(pieces)
    if len(text) > TEXT_LIMIT:
        text = text[: TEXT_LIMIT - len(_CUT)] + _CUT
    names = frozenset[str]().union(*(value.names for value in read))
    return Labelled(text, least_trusted(value.provenance for value in read), names=names)


def resolve(value: Value, values: Mapping[str, Labelled]) -> Labelled:
    """Any setting with its placeholders filled: texts, and texts inside lists and mappings. Keys are the author's own."""
    if isinstance(value, str):
        return fill(value, values)
    if isinstance(value, tuple | list):
        return _gather([resolve(item, values) for item in value], lambda items: list(items))
    if isinstance(value, Mapping):
        keys = list(value)
        return _gather([resolve(value[key], values) for key in keys], lambda items: dict(zip(keys, items, strict=True)))
    return Labelled(value, Provenance.LITERAL)


def _gather(parts: list[Labelled], build: Any) -> Labelled:
    names = frozenset[str]().union(*(part.names for part in parts))
    return Labelled(build(part.value for part in parts), least_trusted(part.provenance for part in parts), names=names)


def resolve_settings(settings: Mapping[str, Value], values: Mapping[str, Labelled]) -> dict[str, Labelled]:
    """Each setting of a step resolved on its own, so that a target keeps its own label. Raises `MissingValue`."""
    written = _as_written(settings)
    return dict(written) if written is not None else {key: resolve(value, values) for key, value in settings.items()}


@remembered
def _as_written(settings: Mapping[str, Value]) -> Mapping[str, Labelled] | None:
    """Plain settings that name nothing: they are the same in every run. None where one names something, cannot be read, or is a list or
    mapping, which is each run's own: whoever is given it may change it."""
    if any(isinstance(value, tuple | list | Mapping) for value in settings.values()):
        return None
    try:
        named = any(names_in(value) for value in settings.values())
    except BadPlaceholder:
        return None
    return None if named else {key: resolve(value, {}) for key, value in settings.items()}


def action_arguments(
    action: ActionSpec, settings: Mapping[str, Value], values: Mapping[str, Labelled]
) -> dict[str, Labelled]:
    """The arguments of an action: its settings resolved, its texts as text, and the manifest's defaults where nothing is written.

    Raises `MissingValue`, also where a setting that must be there turns out to be null.
    """
    arguments = resolve_settings(settings, values)
    for field in action.fields:
        argument = arguments.get(field.name)
        if argument is None:
            if field.default is not None:
                arguments[field.name] = Labelled(field.default, Provenance.LITERAL)
        elif field.type is FieldType.TEXT:
            arguments[field.name] = replace(argument, value=as_text(argument.value), authorises=False)
        elif argument.value is None:
            if field.required:
                raise MissingValue(next(iter(argument.names), field.name), values)
            del arguments[field.name]
    return arguments


def plain(values: Mapping[str, Labelled]) -> dict[str, JSON]:
    """The values without their labels."""
    return {name: value.value for name, value in values.items()}


def as_text(value: JSON) -> str:
    """How a value reads inside a text: `true`, `3`, `2.5`, `a, b`; a mapping as `key: value` pairs."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {as_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(as_text(item) for item in value)
    return UNKNOWN if value is None else str(value)


def to_json(value: Labelled) -> dict[str, JSON]:
    """The JSON form of a labelled value: `v` the value, `p` its provenance, `a` whether it authorises, `n` its names."""
    row: dict[str, JSON] = {"v": value.value, "p": value.provenance}
    if value.authorises:
        row["a"] = True
    if value.names:
        row["n"] = sorted(value.names)
    return row


def from_json(row: JSON) -> Labelled:
    """A labelled value out of a row. What has lost its label, or carries one that nobody knows, is AI's and authorises nothing."""
    if not isinstance(row, Mapping) or "v" not in row:
        return Labelled(row)
    try:
        provenance = Provenance(row.get("p", ""))
    except ValueError:
        provenance = Provenance.AI
    names = row.get("n")
    return Labelled(
        row["v"],
        provenance,
        authorises=row.get("a") is True and provenance is not Provenance.AI,
        names=frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset(),
    )


def values_to_json(values: Mapping[str, Labelled]) -> dict[str, JSON]:
    """`to_json` of each."""
    return {name: to_json(value) for name, value in values.items()}


def values_from_json(rows: Mapping[str, JSON]) -> dict[str, Labelled]:
    """`from_json` of each."""
    return {name: from_json(row) for name, row in rows.items()}


def event_values(
    event: Event,
    given: Mapping[str, JSON],
    trigger: TriggerSpec,
    contracted: EventSpec | None = None,
    fixed: Provenance | None = None,
    zone: str = "UTC",
) -> dict[str, Labelled]:
    """The names that an event gives to its run, labelled.

    `given` is what `Trigger.values` read from the event; `trigger` and, for a contracted event type, `contracted` say where each
    name comes from; `fixed` is the source that the trigger's settings fix (an alert of a source known not to be AI). A name is
    never more trusted than its event, nor than its trigger where the manifest does not list it; one that the manifest lists and this event
    lacks is null. `time` reads in the site's `zone`.
    """
    specs: dict[str, Given] = {spec.name: spec for spec in trigger.gives}
    inherited, seen_by = trigger.provenance, event.provenance
    if contracted is not None:
        # The trigger's own names (camera, time, event_id) are facts of the event, so they follow its type.
        fixed = contracted.provenance if fixed is None else fixed
        specs |= {spec.name: spec for spec in contracted.gives}
    floor = inherited if fixed is None else fixed
    values: dict[str, Labelled] = {}
    named = {**dict.fromkeys(specs), **given, "time": event.at.astimezone(zone_named(zone))}
    for name, value in named.items():
        spec = specs.get(name)
        own = floor if spec is None or spec.provenance is inherited else spec.provenance
        provenance = less_trusted(seen_by, own)
        authorises = spec is not None and spec.authorises and value is not None and provenance is not Provenance.AI
        values[name] = Labelled(as_text(value) if name == "time" else value, provenance, authorises)
    return values


def shown_by(*settings: Value) -> frozenset[str]:
    """The names whose values a question (its message, and what is attached to it) shows to a person."""
    return frozenset(name for setting in settings for name in names_in(setting))
