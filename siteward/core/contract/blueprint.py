"""Blueprints: a workflow with a `blueprint:` head and `!input name` in its body.

`read_blueprint` reads one, `instantiate` makes the workflow text of it. Nothing here judges safety: the made text is a workflow like any
other and goes through `validate`; an input is part of it by then, wherever it came from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from .blueprint_head import BlueprintInput, Head, Version, descend, fit, read_head
from .blueprint_places import refused_place
from .blueprint_selectors import as_value
from .blueprint_text import Splice, Woven, last_offset, line_break, weave, whole_lines, write_value
from .document import Path, Place, Value
from .notes import Notes, listed, shown
from .places import BLUEPRINT_BYTES, WORKFLOW_BYTES, Source, read_tree
from .problems import Problem
from .scalars import write_scalar
from .tree import At, Node, NodeKind, walk

HEAD: Final = "blueprint"
AtInput: TypeAlias = Callable[[str | None, Path], At]
_INPUT_KEY: Final = re.compile(r"(?:&\S+\s+)?!(?:input\b|<!input>)")


class InputName(str):
    """The name that an `!input` says: how such a node is told from a text while reading."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Use:
    """An `!input` of the body: characters [start, end) and where a problem with it is shown. An alias over it makes a second use of
    the same characters at another path."""

    name: str
    path: Path
    start: int
    end: int
    place: Place


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A blueprint that can be instantiated. `removed` are the characters of its head."""

    text: str
    head: Head
    uses: tuple[Use, ...]
    removed: tuple[int, int]
    root: Node

    @property
    def inputs(self) -> Mapping[str, BlueprintInput]:
        """The inputs by name, in the order of the head."""
        return self.head.inputs


@dataclass(frozen=True, slots=True)
class BlueprintReport:
    """A read blueprint, or none, and the problems of the file as such, sorted by place."""

    blueprint: Blueprint | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Instantiated:
    """A made workflow. There is no text where a problem is an error; their places are in the blueprint's text."""

    problems: tuple[Problem, ...]
    blueprint: Blueprint | None = None
    woven: Woven | None = None

    @property
    def text(self) -> str | None:
        """The text of the workflow."""
        return self.woven.text if self.woven is not None else None


@dataclass(frozen=True, slots=True)
class Own:
    """What an instance says of itself in place of the blueprint's words."""

    name: str | None = None
    description: str | None = None


def read_source(given: str | bytes, notes: Notes) -> Source:
    """The tree of a file that may hold `!input`, each of them a scalar with an `InputName`."""
    return read_tree(given, notes, most_bytes=BLUEPRINT_BYTES, resolve=InputName)


def read_blueprint(given: str | bytes) -> BlueprintReport:
    """Reads a blueprint of at most 512 KiB: its head, and where its inputs stand. All problems in one pass."""
    notes = Notes()
    blueprint = blueprint_of(read_source(given, notes), notes)
    return BlueprintReport(None if notes.has_errors else blueprint, notes.sorted())


def instantiate(
    given: str | bytes, inputs: Mapping[str, object], *, own: Own | None = None, version: Version | None = None
) -> Instantiated:
    """The workflow that a blueprint makes of these inputs; values as YAML or JSON gives them, defaults for the rest.

    Without a name of its own the workflow has the body's, else the blueprint's. `version` is the host's, where it matters.
    """
    notes = Notes()
    blueprint = blueprint_of(read_source(given, notes), notes)
    if blueprint is None or notes.has_errors:
        return Instantiated(notes.sorted())
    check_version(blueprint, version, notes)
    filled = fill(blueprint, inputs, notes, lambda key, path: _in_head(blueprint, key))
    woven = None if filled is None else weave_in(blueprint, filled, own or Own(), notes)
    return Instantiated(notes.sorted(), blueprint, None if notes.has_errors else woven)


def _in_head(blueprint: Blueprint, key: str | None) -> At:
    root = At(blueprint.root)
    head = root.get(HEAD) or root
    found = blueprint.inputs.get(key) if key is not None else None
    if found is None:
        return head.get("input") or head
    within = (found.section, "input") if found.section else ()
    return descend(head, ("input", *within, found.key))


def blueprint_of(source: Source, notes: Notes) -> Blueprint | None:
    """The blueprint in a read file. What is wrong is noted."""
    if source.tree is None:
        return None
    root = At(source.tree)
    at = root.get(HEAD)
    if at is None or at.entry is None:
        notes.error(
            "shape.missing_key", "A blueprint begins with `blueprint:` and its name, domain and inputs. Add it.", root
        )
        return None
    head = read_head(at, notes)
    _refuse_inputs_in_head(at, notes)
    removed = None
    if not source.tree.flow:
        removed = whole_lines(source.text, at.entry.span.start, max(at.entry.span.end, last_offset(at.node)))
    if removed is None:
        notes.error(
            "shape.bad_value", "`blueprint:` stands on a line of its own, as a key of the file. Write it so.", at
        )
    if head is None or removed is None:
        return None
    uses = tuple(_uses(source, head, notes))
    return Blueprint(source.text, head, uses, removed, source.tree)


def _refuse_inputs_in_head(at: At, notes: Notes) -> None:
    for path, node, entry in walk(at.node, at.path):
        if isinstance(node.value, InputName):
            notes.error(
                "shape.input_place",
                "The head of a blueprint has no `!input`; inputs stand in the body.",
                At(node, path, entry),
            )


def _uses(source: Source, head: Head, notes: Notes) -> Iterator[Use]:
    assert source.tree is not None
    for one in At(source.tree).entries():
        if one.path == (HEAD,):
            continue
        for path, node, entry in walk(one.node, one.path):
            at = At(node, path, entry or (one.entry if path == one.path else None))
            _refuse_input_keys(at, source.text, notes)
            if isinstance(node.value, InputName) and _may_stand(at, str(node.value), head, notes):
                yield Use(str(node.value), path, node.span.start, node.span.end, at.place)


def _refuse_input_keys(at: At, text: str, notes: Notes) -> None:
    if at.entry is not None and _INPUT_KEY.match(text, at.entry.span.start, at.entry.span.end):
        told = "A key is no input: outcomes and settings are named in the blueprint. Write the name."
        notes.error("shape.input_place", told, at)


def _may_stand(at: At, name: str, head: Head, notes: Notes) -> bool:
    found = head.inputs.get(name)
    if found is None:
        near = notes.nearest(name, head.inputs)
        hint = (
            f"Did you mean `{near}`?" if near else f"It has {listed(head.inputs)}." if head.inputs else "It has none."
        )
        notes.error("shape.bad_value", f"{shown(name)} is no input of this blueprint. {hint}", at)
        return False
    told = refused_place(at.path, found.selector)
    if told is not None:
        notes.error("shape.input_place", told, at)
    return told is None


def check_version(blueprint: Blueprint, version: Version | None, notes: Notes) -> None:
    """Notes that a blueprint wants a newer host."""
    needed = blueprint.head.min_version
    if version is not None and needed is not None and version < needed:
        wanted, here = (".".join(map(str, one)) for one in (needed, version))
        told = f"This blueprint needs Siteward {wanted} or newer; this is {here}. Update Siteward, or use an older blueprint."
        notes.error("shape.bad_value", told, place=blueprint.head.min_version_at)


def fill(blueprint: Blueprint, given: Mapping[str, object], notes: Notes, at_input: AtInput) -> dict[str, Value] | None:
    """The value of each input, None (noted) where one is missing, unknown or does not fit. `at_input(key, path)` says where
    a problem with the value of an input, or (None) with all of them, is shown."""
    before = notes.count
    for key in given:
        if key not in blueprint.inputs:
            near = notes.nearest(key, blueprint.inputs)
            hint = f" Did you mean `{near}`?" if near else " Remove it."
            notes.error("shape.unknown_key", f"{shown(key)} is no input of this blueprint.{hint}", at_input(key, ()))
    filled: dict[str, Value] = {}
    for key, one in blueprint.inputs.items():
        if key in given:
            wrong = fit(given[key], one.selector)
            for misfit in wrong:
                notes.error(misfit.code, f"The input `{key}` {misfit.sentence}.", at_input(key, misfit.path))
            if not wrong:
                filled[key] = as_value(given[key])
        elif one.default is not None:
            filled[key] = one.default.value
        else:
            notes.error(
                "shape.missing_key", f"The input `{key}` ({one.name}) has no value. Give it one.", at_input(None, ())
            )
    return filled if notes.count == before else None


def weave_in(blueprint: Blueprint, filled: Mapping[str, Value], own: Own, notes: Notes) -> Woven | None:
    """The text with its inputs put in and its head taken out, None (noted) where it would be too large for a workflow."""
    written = {name: write_value(filled[name]) for name in {use.name for use in blueprint.uses}}
    spliced = {use.start: Splice(use.start, use.end, written[use.name]) for use in blueprint.uses}
    start, end = blueprint.removed
    root = At(blueprint.root)
    added = ""
    for key, value in (("name", own.name), ("description", own.description)):
        said = root.get(key)
        if said is None:
            value = blueprint.head.name if value is None and key == "name" else value
            added += "" if value is None else _key_line(blueprint, key, value)
        elif value is not None and said.node.kind is NodeKind.SCALAR:
            replaced = _replace_scalar(blueprint.text, said, value)
            spliced[replaced.start] = replaced
    length = (
        len(blueprint.text) - (end - start) + sum(len(one.text) - (one.end - one.start) for one in spliced.values())
    )
    if length > WORKFLOW_BYTES:
        told = f"With its inputs the workflow has {length:,} characters; at most {WORKFLOW_BYTES:,} bytes are read. Give shorter inputs."
        notes.error("shape.too_large", told, place=Place(1, 1))
        return None
    return weave(blueprint.text, (Splice(start, end, added), *spliced.values()))


def _key_line(blueprint: Blueprint, key: str, value: str) -> str:
    indentation = " " * (blueprint.root.entries[0].span.place.column - 1)
    return f"{indentation}{key}: {write_scalar(value)}{line_break(blueprint.text)}"


def _replace_scalar(text: str, at: At, value: str) -> Splice:
    start, end = at.node.span.start, at.node.span.end
    end = start + len(text[start:end].rstrip())
    gap = "" if text[start - 1] in " \t" else " "
    return Splice(start, end, gap + write_scalar(value))
