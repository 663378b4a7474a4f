"""Case sets: pictures with what is right about them, and the step that they are for.

A set is a YAML file: `kind: look`, `name`, `pictures` (a folder, seen from the file), `step` (the keys of an `ai` step), `files` (SHA-256 by file
name) and `cases` (`id`, `picture`, `box`, `draw`, `shows`, `hard`, `expect`). A case is one distinct object. The held-out half is
chosen by hash: of the cases with one expected decision, in order of the SHA-256 of their ids, every second one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import voluptuous as vol
import yaml

from siteward.core.agent import StepSpec, spec_of
from siteward.core.errors import ConfigurationInvalid


@dataclass(frozen=True, slots=True)
class Drawn:
    """A text that is drawn over the picture (a number plate), and where: left, top, right, bottom."""

    text: str
    box: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Case:
    """One case. `box` is cut out of the picture (left, top, right, bottom; pixels), None for all of it. `decision` and `fields` are what is right; a
    field may have several right values. `hard` says why it is hard."""

    id: str
    picture: Path
    decision: str | None
    fields: Mapping[str, tuple[Any, ...]] = field(default_factory=lambda: MappingProxyType({}))
    box: tuple[int, int, int, int] | None = None
    drawn: Drawn | None = None
    shows: str = ""
    hard: str = ""
    held_out: bool = False

    @property
    def label(self) -> str:
        """What is right, as one word: the decision, or the fields."""
        return self.decision or ", ".join(
            f"{name}={'|'.join(map(str, values))}" for name, values in self.fields.items()
        )


@dataclass(frozen=True, slots=True)
class CaseSet:
    """A set with its step. `text` is the file."""

    name: str
    file: Path
    prompt: str
    step: StepSpec
    cases: tuple[Case, ...]


_BOX = vol.All([int], vol.Length(min=4, max=4))
_CASE = vol.Schema(
    {
        vol.Required("id"): str,
        vol.Required("picture"): str,
        vol.Optional("box"): _BOX,
        vol.Optional("draw"): {vol.Required("text"): str, vol.Required("box"): _BOX},
        vol.Required("shows"): str,
        vol.Optional("hard"): str,
        vol.Required("expect"): {vol.Optional("decision"): str, vol.Optional("fields"): dict},
    }
)
_SET = vol.Schema(
    {
        vol.Required("kind"): "look",
        vol.Required("name"): str,
        vol.Required("pictures"): str,
        vol.Required("step"): dict,
        vol.Required("files"): {str: str},
        vol.Required("cases"): vol.All([_CASE], vol.Length(min=1)),
    }
)


def load_cases(file: Path) -> CaseSet:
    """Read a set and check its pictures against their sums. Raises `ConfigurationInvalid` with the file and what is wrong."""
    try:
        raw: dict[str, Any] = _SET(yaml.safe_load(file.read_text(encoding="utf-8")))
        step = spec_of(raw["step"])
    except OSError as error:
        raise _wrong(file, f"cannot be opened: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise _wrong(file, f"is not well-formed YAML{where}: {error.problem}") from error
    except (yaml.YAMLError, vol.Invalid, ValueError) as error:
        raise _wrong(file, f"is not a case set: {error}") from error
    folder = (file.parent / raw["pictures"]).resolve()
    _check_files(file, folder, raw["files"])
    cases = [_case(file, folder, raw["files"], one, step) for one in raw["cases"]]
    if len({case.id for case in cases}) != len(cases):
        raise _wrong(file, "has two cases of one id")
    held = held_out(cases)
    marked = tuple(replace(case, held_out=case.id in held) for case in cases)
    return CaseSet(raw["name"], file, str(raw["step"].get("prompt", "")), step, marked)


def held_out(cases: Sequence[Case]) -> frozenset[str]:
    """The ids of the held-out half: of each label's cases, in order of the SHA-256 of their ids, every second one."""
    by_label: dict[str, list[str]] = {}
    for case in cases:
        by_label.setdefault(case.label if case.decision else "", []).append(case.id)
    ordered = (sorted(ids, key=lambda one: hashlib.sha256(one.encode()).hexdigest()) for ids in by_label.values())
    return frozenset(one for ids in ordered for one in ids[1::2])


def _case(file: Path, folder: Path, files: Mapping[str, str], raw: Mapping[str, Any], step: StepSpec) -> Case:
    if raw["picture"] not in files:
        raise _wrong(file, f"has no sum for the picture {raw['picture']}")
    expect = raw["expect"]
    fields = {name: tuple(v) if isinstance(v, list) else (v,) for name, v in expect.get("fields", {}).items()}
    decision = expect.get("decision")
    if decision is None and not fields:
        raise _wrong(file, f"says nothing of what is right in the case {raw['id']}")
    if decision is not None and decision not in step.spec.options:
        raise _wrong(file, f"expects {decision} in the case {raw['id']}, which the step cannot decide")
    if unknown := fields.keys() - step.spec.fields.keys():
        raise _wrong(
            file, f"expects the field {sorted(unknown)[0]} in the case {raw['id']}, which the step does not have"
        )
    draw = raw.get("draw")
    return Case(
        id=raw["id"],
        picture=folder / raw["picture"],
        decision=decision,
        fields=MappingProxyType(fields),
        box=_box(raw.get("box")),
        drawn=Drawn(draw["text"], _box(draw["box"]) or (0, 0, 0, 0)) if draw else None,
        shows=raw["shows"],
        hard=raw.get("hard", ""),
    )


def _box(raw: Sequence[int] | None) -> tuple[int, int, int, int] | None:
    return None if raw is None else (raw[0], raw[1], raw[2], raw[3])


def _check_files(file: Path, folder: Path, files: Mapping[str, str]) -> None:
    for name, wanted in files.items():
        picture = folder / name
        if not picture.is_file():
            raise _wrong(file, f"names the picture {name}, which is not in {folder}")
        if hashlib.sha256(picture.read_bytes()).hexdigest() != wanted:
            raise _wrong(file, f"was labelled on other bytes than {name} has now")


def _wrong(file: Path, what: str) -> ConfigurationInvalid:
    return ConfigurationInvalid(f"The case set {file} {what}.", code="cases.invalid", where=str(file))
