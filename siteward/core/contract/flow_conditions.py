"""What a condition reads, and whether it names an identity: the one predicate that validator and `if` step share.

A condition *authorises* where it compares one value that the trigger's manifest marks as an identity (a plate, a badge, a face
match, a code) with what the author wrote or with a list. Everything else only narrows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from .document import Condition, Value
from .placeholders import BadPlaceholder, Reference, names_in, parse_template
from .registry import Provenance, Registry
from .remembered import remembered

UNREADABLE: Final = ""
"""Stands for a read whose braces are broken: no label is ever known for it, so it counts as AI's."""

IN_LIST: Final = frozenset({"value", "list"})
EQUALITIES: Final = (frozenset({"of", "is"}), frozenset({"of", "one_of"}))


class Known(Protocol):
    """The label of a name: static in the validator, of the real value in a run."""

    @property
    def provenance(self) -> Provenance: ...
    @property
    def authorises(self) -> bool: ...


Labels = Callable[[str], Known]
"""From a name (`plate`, `look.reason`) to its label; a name that nobody knows must answer as AI's."""


def names_read(value: Value) -> tuple[str, ...]:
    """Every name that a setting reads, keys of mappings included, each once."""
    return tuple(dict.fromkeys(_names_read(value)))


def _names_read(value: Value) -> Iterator[str]:
    if isinstance(value, str):
        try:
            yield from names_in(value)
        except BadPlaceholder:
            yield UNREADABLE
    elif isinstance(value, tuple):
        for item in value:
            yield from _names_read(item)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _names_read(key)
            yield from _names_read(item)


@remembered
def condition_names(conditions: Sequence[Condition]) -> tuple[str, ...]:
    """Every name that the conditions read, at any depth and in any key."""
    names: dict[str, None] = {}
    for condition in conditions:
        names.update(dict.fromkeys(names_read(condition.settings)))
        names.update(dict.fromkeys(condition_names(condition.inner)))
    return tuple(names)


def ai_names(names: Sequence[str], labels: Labels) -> frozenset[str]:
    """Those of the names whose value is AI's."""
    return frozenset(name for name in names if labels(name).provenance is Provenance.AI)


def asks_ai(conditions: Sequence[Condition], registry: Registry) -> bool:
    """Whether an answer comes from AI though no AI value is read: a condition marked `ai`, or a count of AI events."""
    return any(_asks_ai(condition, registry) or asks_ai(condition.inner, registry) for condition in conditions)


def _asks_ai(condition: Condition, registry: Registry) -> bool:
    if condition.name in ("any", "not"):
        return False
    spec = registry.conditions.get(condition.name)
    if spec is None or spec.ai:
        return True
    return condition.name == "count" and window_provenance(condition.settings.get("events"), registry) is Provenance.AI


def window_provenance(window: Value, registry: Registry) -> Provenance:
    """Who says the events of a window: the contracted type's source, or the trigger's of that name; AI where nothing fixes it."""
    kind = window.get("type") if isinstance(window, Mapping) else None
    if not isinstance(kind, str):
        return Provenance.AI
    if kind in registry.events:
        return registry.events[kind].provenance
    if kind in registry.triggers:
        return registry.triggers[kind].provenance
    return Provenance.AI


def identities(conditions: Sequence[Condition], labels: Labels) -> tuple[frozenset[str], ...]:
    """The ways in which the conditions (all of which must hold) establish an identity: one set of lists per way, empty for a
    comparison with what the author wrote. No way at all: the conditions only narrow."""
    found = (_identity(condition, labels) for condition in conditions)
    return tuple(lists for lists in found if lists is not None)


def _identity(condition: Condition, labels: Labels) -> frozenset[str] | None:
    if condition.name == "any":
        branches = [_identity(inner, labels) for inner in condition.inner]
        if not branches or any(branch is None for branch in branches):
            return None
        return frozenset().union(*(branch for branch in branches if branch is not None))
    settings = condition.settings
    if condition.name == "in_list" and frozenset(settings) == IN_LIST:
        sound = _is_identity(settings["value"], labels) and _is_written(settings["list"])
        return frozenset({str(settings["list"])}) if sound else None
    if condition.name == "value" and frozenset(settings) in EQUALITIES:
        sound = _is_identity(settings["of"], labels) and _compares_written(condition)
        return frozenset() if sound else None
    return None


def _is_identity(value: Value, labels: Labels) -> bool:
    """One placeholder and nothing else, whose value a trigger gave as an identity and no AI touched."""
    name = sole_name(value)
    if name is None:
        return False
    label = labels(name)
    return label.authorises and label.provenance is not Provenance.AI


def sole_name(value: Value) -> str | None:
    """The name in a text that is one placeholder and nothing else."""
    if not isinstance(value, str):
        return None
    try:
        template = parse_template(value)
    except BadPlaceholder:
        return None
    return template[0].name if len(template) == 1 and isinstance(template[0], Reference) else None


def _compares_written(condition: Condition) -> bool:
    """Whether the other side is a text or number of the author, or a list of them (a text where a list belongs could match by its parts)."""
    if "is" in condition.settings:
        return _is_written(condition.settings["is"])
    choices = condition.settings["one_of"]
    return isinstance(choices, tuple | list) and bool(choices) and all(_is_written(choice) for choice in choices)


def _is_written(value: Value) -> bool:
    """A plain text or number of the author. An empty text is no identity: it matches a plate that nobody could read."""
    if isinstance(value, str):
        return bool(value.strip()) and not names_read(value)
    return isinstance(value, int | float) and not isinstance(value, bool)
