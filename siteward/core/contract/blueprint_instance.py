"""Workflows made from a blueprint: `use_blueprint: {path, input}`, and the check of any file that a person may hand in.

A check always judges the made text. Each problem is then shown in the file that the person has: at the input's value where it comes
from one, in the blueprint where it comes from its body, and for an instance at its `path` with the blueprint's place in the sentence.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, TypeAlias

from .blueprint import (
    HEAD,
    Blueprint,
    Instantiated,
    Own,
    Use,
    blueprint_of,
    check_version,
    fill,
    read_source,
    weave_in,
)
from .blueprint_head import Version, descend
from .blueprint_selectors import stand_in
from .blueprint_text import WayBack, Woven
from .document import Document, Path, Place, Step, Value
from .notes import Notes, listed, shown, sort_problems
from .places import Source, read_tree
from .problems import Problem, Report
from .reading import say_type
from .tree import At

USE: Final = "use_blueprint"
Find: TypeAlias = Callable[[str], "str | bytes"]
"""Gives the text of a blueprint by its path. Raises LookupError where there is none."""
Judge: TypeAlias = Callable[["str | bytes"], Report]
"""`validate` with its registry and site."""

_KEYS: Final = ("contract", "name", "description", USE)
_PATH: Final = re.compile(r"(?:\w[\w.-]*/)*\w[\w.-]*\.ya?ml", re.ASCII)
_BROKEN: Final = re.compile(r"^(blueprint|use_blueprint)[ \t]*:", re.MULTILINE)


class FileKind(StrEnum):
    """What a file is."""

    WORKFLOW = "workflow"
    BLUEPRINT = "blueprint"
    INSTANCE = "instance"


@dataclass(frozen=True, slots=True)
class Instance:
    """A read instance. `path` is where it names its blueprint; `inputs` its values as written."""

    at_path: At
    path: str
    at_inputs: At | None
    own: Own
    own_places: Mapping[str, At]

    @property
    def inputs(self) -> dict[str, Value]:
        """The values by input."""
        return {one.key: one.value for one in self.at_inputs.entries()} if self.at_inputs is not None else {}


@dataclass(frozen=True, slots=True)
class MadeFrom:
    """What a workflow was made from: the blueprint's path, the SHA-256 of its text, and the inputs as given."""

    path: str
    sha256: str
    inputs: Mapping[str, Value]

    def as_dict(self) -> dict[str, Any]:
        """The JSON form that a saved version keeps."""
        return {"path": self.path, "sha256": self.sha256, "input": _thawed(self.inputs)}


def _thawed(value: Value) -> Any:
    if isinstance(value, Mapping):
        return {key: _thawed(one) for key, one in value.items()}
    return [_thawed(one) for one in value] if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True)
class Checked:
    """A file as judged. `text` is the workflow to be saved, the very one that was judged (None where none could be made).
    `step_inputs` are the inputs that hold steps: a person who confirms an import is shown their values."""

    kind: FileKind
    report: Report
    text: str | None
    made_from: MadeFrom | None = None
    step_inputs: tuple[str, ...] = ()


def kind_of(source: Source) -> FileKind:
    """What a read file is; of a broken one, what it seems to be."""
    if source.tree is None:
        found = _BROKEN.search(source.text)
        name = found[1] if found else None
    else:
        name = next((key for key in (USE, HEAD) if source.tree.get(key) is not None), None)
    return {HEAD: FileKind.BLUEPRINT, USE: FileKind.INSTANCE, None: FileKind.WORKFLOW}[name]


def resolve(given: str | bytes, find: Find, *, version: Version | None = None) -> Instantiated:
    """The workflow of an instance file. There is no text where a problem is an error; places are in the instance's text."""
    notes = Notes()
    made = _resolve(given, find, notes, version)
    if made is None or notes.has_errors:
        return Instantiated(notes.sorted())
    return Instantiated(notes.sorted(), made[1], made[2])


def check_file(given: str | bytes, judge: Judge, find: Find, *, version: Version | None = None) -> Checked:
    """Judges a workflow, a blueprint (with its defaults) or an instance, whichever the file is."""
    if (b"blueprint" if isinstance(given, bytes) else "blueprint") not in given:  # type: ignore[operator]  # same type on both sides
        return _as_workflow(given, judge)
    notes = Notes()
    source = read_source(given, notes)
    kind = kind_of(source)
    if kind is FileKind.WORKFLOW:
        return _as_workflow(given, judge)
    if kind is FileKind.BLUEPRINT:
        return _check_blueprint(source, judge, notes, version)
    return _check_instance(given, judge, find, version)


def _as_workflow(given: str | bytes, judge: Judge) -> Checked:
    report = judge(given)
    return Checked(FileKind.WORKFLOW, report, report.document.text if report.document is not None else None)


def _check_blueprint(source: Source, judge: Judge, notes: Notes, version: Version | None) -> Checked:
    blueprint = blueprint_of(source, notes)
    woven = None
    if blueprint is not None and not notes.has_errors:
        check_version(blueprint, version, notes)
        given = _stand_ins(blueprint, notes)
        filled = None if notes.has_errors else fill(blueprint, given, notes, lambda key, path: At(blueprint.root))
        woven = weave_in(blueprint, filled, Own(), notes) if filled is not None else None
    if blueprint is None or woven is None or notes.has_errors:
        return Checked(FileKind.BLUEPRINT, Report(None, notes.sorted()), None)
    report = _in_file(judge(woven.text), _Origins(blueprint, woven, None), notes)
    return Checked(FileKind.BLUEPRINT, report, woven.text, step_inputs=step_inputs(report.document, blueprint))


def _stand_ins(blueprint: Blueprint, notes: Notes) -> dict[str, Value]:
    """Values for the inputs without a default, so that a blueprint can be judged by itself."""
    made: dict[str, Value] = {}
    for key, one in blueprint.inputs.items():
        if one.default is None:
            made[key] = stand_in(key, one.selector)
            if made[key] is None:
                told = f"The input `{key}` needs a default: without one nothing can say what the blueprint would do. Give it one."
                notes.error("shape.missing_key", told, place=one.place)
    return made


def _check_instance(given: str | bytes, judge: Judge, find: Find, version: Version | None) -> Checked:
    notes = Notes()
    made = _resolve(given, find, notes, version)
    if made is None or notes.has_errors:
        return Checked(FileKind.INSTANCE, Report(None, notes.sorted()), None)
    instance, blueprint, woven = made
    report = _in_file(judge(woven.text), _Origins(blueprint, woven, instance), notes)
    held = step_inputs(report.document, blueprint)
    digest = hashlib.sha256(blueprint.text.encode("utf-8")).hexdigest()
    made_from = MadeFrom(instance.path, digest, instance.inputs)
    return Checked(FileKind.INSTANCE, report, woven.text, made_from, held)


def _in_file(report: Report, origins: _Origins, notes: Notes) -> Report:
    moved = [origins.moved(problem) for problem in report.problems]
    return Report(report.document, tuple(sort_problems((*notes.sorted(), *moved))))


def _resolve(
    given: str | bytes, find: Find, notes: Notes, version: Version | None
) -> tuple[Instance, Blueprint, Woven] | None:
    # Read as a workflow is, so that `!input` is no tag here: an instance gives values and has no inputs of its own.
    instance = _read_instance(read_tree(given, notes), notes)
    if instance is None or notes.has_errors:
        return None
    blueprint = _found(instance, find, notes, version)
    if blueprint is None:
        return None
    inner = Notes()
    filled = fill(blueprint, instance.inputs, inner, lambda key, path: _at_input(instance, key, path))
    woven = None if filled is None else weave_in(blueprint, filled, instance.own, inner)
    for problem in inner.sorted():
        at = None if problem.code == "shape.too_large" else problem.place
        notes.error(problem.code, problem.message, place=at or instance.at_path.place)
    return None if woven is None else (instance, blueprint, woven)


def _at_input(instance: Instance, key: str | None, path: Path) -> At:
    inputs = instance.at_inputs or instance.at_path
    return inputs if key is None else descend(inputs, (key, *path))


def _found(instance: Instance, find: Find, notes: Notes, version: Version | None) -> Blueprint | None:
    try:
        text = find(instance.path)
    except LookupError:
        notes.error(
            "shape.bad_value",
            f"There is no blueprint {shown(instance.path)}. Import it first, or name another.",
            instance.at_path,
        )
        return None
    inner = Notes()
    blueprint = blueprint_of(read_source(text, inner), inner)
    if blueprint is not None and not inner.has_errors:
        check_version(blueprint, version, inner)
    for problem in inner.sorted():
        told = _in_blueprint(instance.path, problem.place, problem.message)
        notes.add(problem.severity, problem.code, told, instance.at_path)
    return None if inner.has_errors else blueprint


def _read_instance(source: Source, notes: Notes) -> Instance | None:
    if source.tree is None:
        return None
    root = At(source.tree)
    _check_root(root, notes)
    use = root.get(USE)
    if use is None or not use.is_map:
        notes.error("shape.wrong_type", f"`{USE}` takes a mapping with path and input.", use or root)
        return None
    for one in use.entries():
        if one.key not in ("path", "input"):
            notes.error(
                "shape.unknown_key",
                f"{shown(one.key)} is not a key of `{USE}`. Known here: {listed(('path', 'input'))}.",
                one,
            )
    inputs = use.get("input")
    if inputs is not None and not inputs.is_map:
        if inputs.is_list or inputs.value is not None:
            notes.error("shape.wrong_type", f"`input` takes a mapping of inputs, not {say_type(inputs)}.", inputs)
        inputs = None
    path = use.get("path")
    if path is None or path.text is None or not _PATH.fullmatch(path.text):
        told = f"`{USE}` needs `path`: the blueprint's file, such as siteward/gate_concierge.yaml."
        notes.error("shape.missing_key" if path is None else "shape.bad_value", told, path or use)
        return None
    own = {key: at for key in ("name", "description") if (at := root.get(key)) is not None}
    said = {key: at.text for key, at in own.items()}
    return Instance(path, path.text, inputs, Own(said.get("name"), said.get("description")), own)


def _check_root(root: At, notes: Notes) -> None:
    for one in root.entries():
        if one.key not in _KEYS:
            # A key beside `use_blueprint` would silently win over the blueprint's own, as an empty `action: []` does elsewhere.
            told = f"{shown(one.key)} cannot stand beside `{USE}`. Set it by an input, or take the workflow out of its blueprint."
            notes.error("shape.unknown_key", told, one)
    name, description, contract = (root.get(key) for key in ("name", "description", "contract"))
    if name is None:
        notes.error("shape.missing_key", "A workflow needs a `name`. Add it.", root)
    for one_text in (name, description):
        if one_text is not None and not (one_text.text or "").strip():
            notes.error("shape.wrong_type", f"`{one_text.key}` takes a text, not {say_type(one_text)}.", one_text)
    if contract is not None and contract.text != "workflow.v1":
        notes.error("shape.contract", "The contract of this file is `workflow.v1`. Write that.", contract)


def _in_blueprint(path: str, place: Place, message: str) -> str:
    return f"In the blueprint {path}, line {place.line}, column {place.column}: {message}"


class _Origins:
    """Where the problems of a made text are shown."""

    def __init__(self, blueprint: Blueprint, woven: Woven, instance: Instance | None) -> None:
        self._blueprint = blueprint
        self._instance = instance
        self._back = WayBack(woven, blueprint.text)
        self._uses = {use.path: use for use in blueprint.uses}

    def moved(self, problem: Problem) -> Problem:
        """The problem in the file that the person has. Its fixes go: they are edits of the made text, which nobody keeps."""
        plain = replace(problem, fixes=())
        for length in range(len(problem.path), 0, -1):
            use = self._uses.get(problem.path[:length])
            if use is not None:
                return self._of_input(plain, use, problem.path[length:])
        own = self._instance.own_places.get(str(problem.path[0])) if self._instance and len(problem.path) == 1 else None
        if own is not None:
            return replace(plain, place=own.place)
        return self._of_blueprint(plain, self._back.place(problem.place))

    def _of_input(self, problem: Problem, use: Use, below: Path) -> Problem:
        told = replace(problem, message=f"{problem.message} (The input `{use.name}`.)")
        given = self._instance.at_inputs.get(use.name) if self._instance and self._instance.at_inputs else None
        if given is not None:
            return replace(told, place=descend(given, below).place)
        default = self._blueprint.inputs[use.name].default
        return self._of_blueprint(told, descend(default, below).place if default is not None else use.place)

    def _of_blueprint(self, problem: Problem, place: Place) -> Problem:
        if self._instance is None:
            return replace(problem, place=place)
        message = _in_blueprint(self._instance.path, place, problem.message)
        return replace(problem, message=message, place=self._instance.at_path.place)


def step_inputs(document: Document | None, blueprint: Blueprint) -> tuple[str, ...]:
    """The inputs whose values hold steps of the made workflow, in the order of the head."""
    if document is None:
        return ()
    uses = {use.path: use.name for use in blueprint.uses}
    held: set[str] = set()
    for step in _steps((*document.then, *document.always)):
        held.update(uses[step.path[:length]] for length in range(1, len(step.path) + 1) if step.path[:length] in uses)
    return tuple(key for key in blueprint.inputs if key in held)


def _steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield step
        for lane in step.lanes:
            yield from _steps(lane.steps)
        yield from _steps(step.body)
