"""Manifests, as plain data, to a `Registry`. Pure: it checks only what would make the registry ambiguous.

The form of a manifest is checked, with lines, by `siteward.core.plugins.manifest`; here it is taken as given, so that this room
stays alone. An entry of `provides` is a definition, or `{name: gate.open, skill: true}`, which takes the definition of that name from
the vocabulary (`skills` of the host's own manifests). A running host's registry holds what is provided; `declared` adds the whole
vocabulary, for checking a file without a site.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, TypeVar

from .notes import Notes
from .places import read_tree
from .registry import (
    ActionSpec,
    ConditionSpec,
    Effect,
    EventSpec,
    Field,
    FieldType,
    Given,
    Moves,
    Provenance,
    Registry,
    Repeat,
    StepKindSpec,
    ToolMode,
    ToolSpec,
    TriggerSpec,
)
from .tree import Node, NodeKind

Entry = Mapping[str, Any]
Spec = TypeVar("Spec")

VOCABULARY: Final = "siteward"
"""The provider of what is declared and not provided."""

NO_PARAMETERS: Final[Mapping[str, Any]] = MappingProxyType(
    {"type": "object", "additionalProperties": False, "properties": MappingProxyType({})}
)


class ManifestConflict(ValueError):
    """Two manifests define the same name, or one provides a skill that the vocabulary does not have. `domain` is the later one."""

    def __init__(self, domain: str, kind: str, name: str, sentence: str) -> None:
        super().__init__(sentence)
        self.domain = domain
        self.kind = kind
        self.name = name
        self.sentence = sentence


def registry_from_manifests(manifests: Iterable[Entry], *, declared: bool = False) -> Registry:
    """The registry of these manifests. With `declared`, everything that their vocabulary names counts as provided.

    Raises `ManifestConflict`.
    """
    read = tuple(manifests)

    def of(kind: str, build: Callable[[Entry, str], Spec]) -> Mapping[str, Spec]:
        return MappingProxyType({name: build(entry, by) for name, entry, by in _entries(read, kind, declared)})

    return Registry(
        triggers=of("triggers", _trigger),
        events=of("events", _event),
        conditions=of("conditions", _condition),
        actions=of("actions", _action),
        step_kinds=of("step_kinds", _step_kind),
        ai_modes=frozenset(of("ai_modes", _named)),
        tools=of("tools", _tool),
        alert_sources=of("alert_sources", _alert_source),
    )


def shipped_manifests() -> tuple[Entry, ...]:
    """The manifests that Siteward ships, the host's own first. Read without importing any of what they describe."""
    root = files("siteward")
    folders = [root / "steps", root / "tools"]
    folders += sorted((root / "integrations").iterdir(), key=lambda folder: folder.name)
    texts = [(folder / "manifest.yaml").read_bytes() for folder in folders if (folder / "manifest.yaml").is_file()]
    return tuple(_parsed(text) for text in texts)


def _parsed(text: bytes) -> Entry:
    """A shipped manifest, which the tests hold to be right."""
    notes = Notes()
    tree = read_tree(text, notes).tree
    if tree is None or notes.has_errors:
        raise ValueError(f"a shipped manifest cannot be read: {[one.message for one in notes.sorted()]}")
    data = thawed(tree)
    assert isinstance(data, dict)
    return data


def thawed(node: Node) -> Any:
    """A YAML tree as plain dicts, lists and scalars, as JSON schemas and voluptuous want them."""
    if node.kind is NodeKind.MAP:
        return {entry.key: thawed(entry.value) for entry in node.entries}
    if node.kind is NodeKind.LIST:
        return [thawed(item) for item in node.items]
    return node.value


@cache
def shipped_registry() -> Registry:
    """The whole vocabulary of the shipped manifests: what a file is checked against where there is no site."""
    return registry_from_manifests(shipped_manifests(), declared=True)


def vocabulary(manifests: Iterable[Entry], kind: str) -> Mapping[str, Entry]:
    """The declared skills of one kind (`actions`), by name. Raises `ManifestConflict`."""
    found: dict[str, Entry] = {}
    for manifest in manifests:
        for entry in manifest.get("skills", {}).get(kind, ()):
            if entry["name"] in found:
                raise _twice(manifest, kind, entry["name"])
            found[entry["name"]] = entry
    return found


def _entries(manifests: Sequence[Entry], kind: str, declared: bool) -> Iterator[tuple[str, Entry, str]]:
    """Name, definition and provider of everything of one kind. Several domains may provide one skill; a definition has one owner."""
    skills = vocabulary(manifests, kind)
    own: dict[str, tuple[Entry, str]] = {}
    by_skill: dict[str, list[str]] = {}
    for manifest in manifests:
        for entry in manifest.get("provides", {}).get(kind, ()):
            name, domain = entry["name"], manifest["domain"]
            if not entry.get("skill", False):
                if name in own or name in skills:
                    raise _twice(manifest, kind, name)
                own[name] = (entry, domain)
            elif name in skills:
                by_skill.setdefault(name, []).append(domain)
            else:
                raise _no_skill(manifest, kind, name)
    for name, (entry, domain) in own.items():
        yield name, entry, domain
    for name, entry in skills.items():
        if declared or name in by_skill:
            yield name, entry, ", ".join(by_skill.get(name, [VOCABULARY]))


def _twice(manifest: Entry, kind: str, name: str) -> ManifestConflict:
    domain = manifest["domain"]
    return ManifestConflict(
        domain,
        kind,
        name,
        f"{domain} defines {name} under {kind}, and another manifest defines it already; "
        f"a name has one definition. Provide the skill with `skill: true`, or name it {domain}.{name}.",
    )


def _no_skill(manifest: Entry, kind: str, name: str) -> ManifestConflict:
    domain = manifest["domain"]
    return ManifestConflict(
        domain,
        kind,
        name,
        f"{domain} provides the skill {name} under {kind}, and the vocabulary has no such skill; define it in full without `skill: true`.",
    )


def _trigger(entry: Entry, provider: str) -> TriggerSpec:
    provenance = Provenance(entry["provenance"])
    fields = _fields(entry)
    common = [Given("time", "text", provenance, description="When it happened, in the site's zone.")]
    common.append(Given("event_id", "text", provenance, description="The id of the event."))
    if any(one.name == "cameras" for one in fields):
        common.insert(0, Given("camera", "text", provenance, description="The camera that saw it."))
    return TriggerSpec(
        name=entry["name"],
        provider=provider,
        provenance=provenance,
        fields=fields,
        gives=(*_gives(entry, provenance), *common),
        description=entry.get("description", ""),
        scopes=tuple(entry.get("scopes", ())),
        open_payload=entry.get("open_payload", False),
    )


def _event(entry: Entry, provider: str) -> EventSpec:
    provenance = Provenance(entry["provenance"])
    return EventSpec(
        type=entry["name"],
        provider=provider,
        provenance=provenance,
        gives=_gives(entry, provenance),
        description=entry.get("description", ""),
        scopes=tuple(entry.get("scopes", ())),
    )


def _condition(entry: Entry, provider: str) -> ConditionSpec:
    return ConditionSpec(
        name=entry["name"],
        provider=provider,
        fields=_fields(entry),
        shorthand=entry.get("shorthand"),
        description=entry.get("description", ""),
        ai=entry.get("ai", False),
    )


def _action(entry: Entry, provider: str) -> ActionSpec:
    return ActionSpec(
        name=entry["name"],
        provider=provider,
        repeat=Repeat(entry["repeat"]),
        moves=Moves(entry["moves"]),
        fields=_fields(entry),
        shorthand=entry.get("shorthand"),
        target=entry.get("target"),
        description=entry.get("description", ""),
        scopes=tuple(entry.get("scopes", ())),
    )


def _step_kind(entry: Entry, provider: str) -> StepKindSpec:
    ai = entry.get("ai", False)
    return StepKindSpec(
        name=entry["name"],
        provider=provider,
        repeat=Repeat(entry.get("repeat", "rerun")),
        fields=_fields(entry),
        outcomes=tuple(entry.get("outcomes", ())),
        gives=_gives(entry, Provenance.AI if ai else Provenance.APP),
        shorthand=entry.get("shorthand"),
        ai=ai,
        description=entry.get("description", ""),
        scopes=tuple(entry.get("scopes", ())),
    )


def _tool(entry: Entry, provider: str) -> ToolSpec:
    moves = entry.get("moves", False)
    return ToolSpec(
        name=entry["name"],
        provider=provider,
        # A moving tool is never offered; the effect that its type asks for says nothing.
        effect=Effect.TELL if moves else Effect(entry["effect"]),
        default_mode=ToolMode.UNAVAILABLE if moves else ToolMode(entry["mode"]),
        description=entry["description"],
        parameters=entry.get("parameters", NO_PARAMETERS),
        moves=moves,
        scopes=tuple(entry.get("scopes", ())),
    )


def _alert_source(entry: Entry, provider: str) -> Provenance:
    return Provenance(entry["provenance"])


def _named(entry: Entry, provider: str) -> str:
    return str(entry["name"])


def _fields(entry: Entry) -> tuple[Field, ...]:
    return tuple(field_from(name, spec) for name, spec in entry.get("fields", {}).items())


def field_from(name: str, spec: Entry) -> Field:
    """One setting of a manifest (`seconds: {type: number, minimum: 1}`)."""
    return Field(
        name=name,
        type=FieldType(spec["type"]),
        required=spec.get("required", False),
        description=spec.get("description", ""),
        options=tuple(spec.get("options", ())),
        minimum=spec.get("minimum"),
        maximum=spec.get("maximum"),
        role=spec.get("role"),
        default=spec.get("default"),
    )


def _gives(entry: Entry, provenance: Provenance) -> tuple[Given, ...]:
    return tuple(_given(name, spec, provenance) for name, spec in entry.get("gives", {}).items())


def _given(name: str, spec: Entry | str, provenance: Provenance) -> Given:
    """`zone: text` is short for `zone: {type: text}`; without its own provenance a value has that of what gives it."""
    if isinstance(spec, str):
        return Given(name, spec, provenance)
    return Given(
        name=name,
        type=spec["type"],
        provenance=Provenance(spec.get("provenance", provenance)),
        authorises=spec.get("authorises", False),
        description=spec.get("description", ""),
    )
