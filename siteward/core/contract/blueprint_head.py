"""The head of a blueprint: `blueprint: {name, description, domain, author, siteward, source_url, input}`.

The form is that of Home Assistant blueprints (https://www.home-assistant.io/docs/blueprint/schema/), with `domain: workflow` and
`siteward: {min_version}` in place of `homeassistant`. Stricter than there: a default must fit its selector, and every problem has a place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from .blueprint_selectors import Misfit, NotPlain, Selector, Selects, as_value, misfits
from .document import Place, Value
from .fixes import nearest_key
from .notes import Notes, listed, shown
from .reading import say_type
from .roles import ROLE_KINDS
from .tree import At

Version: TypeAlias = tuple[int, int, int]

_HEAD: Final = ("name", "description", "domain", "author", "siteward", "source_url", "input")
_INPUT: Final = ("name", "description", "default", "selector")
_SECTION: Final = ("name", "icon", "description", "collapsed", "input")
_INPUT_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}", re.ASCII)
_VERSION: Final = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", re.ASCII)
_OPTIONS: Final[Mapping[Selects, tuple[str, ...]]] = {
    Selects.ROLE: ("kind", "multiple"),
    Selects.LIST: (),
    Selects.TEXT: ("multiline",),
    Selects.NUMBER: ("min", "max", "step", "unit_of_measurement", "mode"),
    Selects.BOOLEAN: (),
    Selects.SELECT: ("options", "multiple", "custom_value"),
    Selects.DURATION: (),
    Selects.OBJECT: (),
    Selects.STEPS: (),
}


@dataclass(frozen=True, slots=True)
class BlueprintInput:
    """One input. `default` is None where the author wrote none, else where it stands. `section` is the key of its section."""

    key: str
    name: str
    description: str
    selector: Selector
    place: Place
    default: At | None = None
    section: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A group of inputs in the form."""

    key: str
    name: str
    description: str
    icon: str | None
    collapsed: bool


@dataclass(frozen=True, slots=True)
class Head:
    """What the head says. `min_version` is the oldest host that runs it, `min_version_at` where that stands."""

    name: str
    description: str
    author: str | None
    source_url: str | None
    min_version: Version | None
    min_version_at: Place | None
    inputs: Mapping[str, BlueprintInput]
    sections: tuple[Section, ...]


def parse_version(text: str) -> Version | None:
    """`0.1.0` as numbers, or None."""
    found = _VERSION.match(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def read_head(at: At, notes: Notes) -> Head | None:
    """The head, or None where it is no mapping. What is wrong is noted."""
    if not at.is_map:
        notes.error(
            "shape.wrong_type", f"`blueprint` takes a mapping with name, domain and input, not {say_type(at)}.", at
        )
        return None
    _check_keys(at, _HEAD, "a blueprint's head", notes)
    name = _text(at, "name", notes)
    if name is None and at.get("name") is None:
        notes.error("shape.missing_key", "A blueprint needs a `name`. Add it.", at)
    _check_domain(at, notes)
    version, version_at = _min_version(at, notes)
    inputs = _Inputs(notes)
    inputs.read(at.get("input"))
    return Head(
        name=name or "",
        description=_text(at, "description", notes) or "",
        author=_text(at, "author", notes),
        source_url=_text(at, "source_url", notes),
        min_version=version,
        min_version_at=version_at,
        inputs=inputs.found,
        sections=tuple(inputs.sections),
    )


def _check_keys(at: At, known: tuple[str, ...], where: str, notes: Notes) -> None:
    taken = [one.key for one in at.entries()]
    for one in at.entries():
        if one.key not in known:
            near = notes.nearest(one.key, known)
            hint = f"Did you mean `{near}`?" if near else f"Known here: {listed(known)}."
            fixes = nearest_key(one, near, taken)
            notes.error("shape.unknown_key", f"{shown(one.key)} is not a key of {where}. {hint}", one, fixes=fixes)


def _text(at: At, key: str, notes: Notes) -> str | None:
    one = at.get(key)
    if one is None or (not one.is_map and not one.is_list and one.value is None and key != "name"):
        return None
    if one.text is None:
        notes.error("shape.wrong_type", f"`{key}` takes a text, not {say_type(one)}.", one)
    elif not one.text.strip():
        notes.error("shape.bad_value", f"`{key}` is empty. Write one.", one)
    return one.text


def _flag(at: At, key: str, notes: Notes) -> bool:
    one = at.get(key)
    if one is None:
        return False
    if not isinstance(one.value, bool):
        notes.error("shape.wrong_type", f"`{key}` takes true or false, not {say_type(one)}.", one)
        return False
    return one.value


def _check_domain(at: At, notes: Notes) -> None:
    domain = at.get("domain")
    if domain is None:
        notes.error("shape.missing_key", "A blueprint needs `domain: workflow`. Add it.", at)
    elif domain.text in ("automation", "script", "template"):
        notes.error(
            "shape.bad_value",
            f"This is a Home Assistant {domain.text} blueprint; here the domain is `workflow`.",
            domain,
        )
    elif domain.text != "workflow":
        notes.error("shape.bad_value", "The domain of a blueprint is `workflow`. Write that.", domain)


def _min_version(at: At, notes: Notes) -> tuple[Version | None, Place | None]:
    needed = at.get("siteward")
    if needed is None:
        return None, None
    if not needed.is_map:
        notes.error("shape.wrong_type", f'`siteward` takes {{ min_version: "0.1.0" }}, not {say_type(needed)}.', needed)
        return None, None
    _check_keys(needed, ("min_version",), "`siteward`", notes)
    one = needed.get("min_version")
    if one is None:
        notes.error("shape.missing_key", "`siteward` needs `min_version`. Add it, or leave `siteward` out.", needed)
        return None, None
    if one.text is None or not _VERSION.fullmatch(one.text):
        notes.error("shape.bad_value", 'A version has three numbers, such as "0.1.0". Write it so.', one)
        return None, None
    return parse_version(one.text), one.place


class _Inputs:
    """Reads `input`: inputs, and sections of them one level deep. Names are unique over all sections."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self.found: dict[str, BlueprintInput] = {}
        self.sections: list[Section] = []

    def read(self, at: At | None, section: str | None = None) -> None:
        if at is None or (not at.is_map and not at.is_list and at.value is None):
            return
        if not at.is_map:
            self._notes.error("shape.wrong_type", f"`input` takes a mapping of inputs, not {say_type(at)}.", at)
            return
        for one in at.entries():
            if section is None and one.is_map and one.get("input") is not None:
                self._section(one)
            else:
                self._input(one, section)

    def _section(self, at: At) -> None:
        _check_keys(at, _SECTION, "a section", self._notes)
        name, description = _text(at, "name", self._notes), _text(at, "description", self._notes)
        icon, collapsed = _text(at, "icon", self._notes), _flag(at, "collapsed", self._notes)
        self.sections.append(Section(at.key, name or at.key, description or "", icon, collapsed))
        self.read(at.get("input"), at.key)

    def _input(self, at: At, section: str | None) -> None:
        if not _INPUT_NAME.fullmatch(at.key):
            self._notes.error(
                "shape.bad_id", f"{shown(at.key)} is no name for an input. Use letters, digits and _.", at
            )
            return
        if at.key in self.found:
            self._notes.error("shape.duplicate_key", f"The input {shown(at.key)} stands in two sections. Keep one.", at)
            return
        plain = BlueprintInput(at.key, at.key, "", Selector(Selects.ANY), at.place, None, section)
        if at.is_map:
            plain = self._described(at, plain)
        elif at.is_list or at.value is not None:
            self._notes.error(
                "shape.wrong_type", f"An input takes a mapping with name, selector and default, not {say_type(at)}.", at
            )
        self.found[at.key] = plain

    def _described(self, at: At, plain: BlueprintInput) -> BlueprintInput:
        _check_keys(at, _INPUT, "an input", self._notes)
        selector = read_selector(at.get("selector"), self._notes)
        default = at.get("default")
        if default is not None:
            self._check_default(default, selector)
        name, description = _text(at, "name", self._notes), _text(at, "description", self._notes)
        return replace(plain, name=name or at.key, description=description or "", selector=selector, default=default)

    def _check_default(self, at: At, selector: Selector) -> None:
        for misfit in fit(at.value, selector):
            self._notes.error(misfit.code, f"The default {misfit.sentence}.", descend(at, misfit.path))


def fit(given: object, selector: Selector) -> list[Misfit]:
    """What is wrong with a value for a selector, whatever the value is."""
    try:
        return list(misfits(selector, as_value(given)))
    except NotPlain as error:
        return [Misfit("shape.bad_value", error.sentence, error.path)]


def descend(at: At, path: tuple[str | int, ...]) -> At:
    """The node at `path` below `at`, or the nearest one above it."""
    for step in path:
        inner = (
            at.get(step) if isinstance(step, str) else next((one for one in at.items() if one.path[-1] == step), None)
        )
        if inner is None:
            return at
        at = inner
    return at


def read_selector(at: At | None, notes: Notes) -> Selector:
    """The selector of an input. A kind or an option that is not known is a warning: a newer host may know it."""
    if at is None:
        return Selector(Selects.ANY)
    one = next(at.entries(), None) if at.is_map else None
    if one is None or len(at.node.entries) != 1:
        notes.error("shape.wrong_type", "`selector` takes one kind, such as `text: {}`.", at)
        return Selector(Selects.ANY)
    kinds = [str(kind) for kind in _OPTIONS]
    if one.key not in kinds:
        notes.warning(
            "shape.unknown_key",
            f"{shown(one.key)} is no selector known here, so values are not checked. Known: {listed(kinds)}.",
            one,
        )
        return Selector(Selects.ANY)
    kind = Selects(one.key)
    if not one.is_map and (one.is_list or one.value is not None):
        notes.error("shape.wrong_type", f"`{kind}` takes a mapping of options, not {say_type(one)}.", one)
        return Selector(kind if kind not in (Selects.ROLE, Selects.SELECT) else Selects.ANY)
    for option in one.entries():
        if option.key not in _OPTIONS[kind]:
            notes.warning(
                "shape.unknown_key",
                f"The selector `{kind}` has no option {shown(option.key)} here; it does nothing.",
                option,
            )
    return _configured(kind, one, notes)


def _configured(kind: Selects, at: At, notes: Notes) -> Selector:
    multiple = _flag(at, "multiple", notes)
    if kind is Selects.ROLE:
        role = at.get("kind")
        if role is None or role.text not in ROLE_KINDS:
            told = f"A role selector needs `kind`: {listed(ROLE_KINDS)}."
            notes.error("shape.missing_key" if role is None else "shape.bad_value", told, role or at)
            return Selector(Selects.ANY)
        return Selector(kind, role=role.text, multiple=multiple)
    if kind is Selects.SELECT:
        options = _options(at, notes)
        return Selector(
            kind if options else Selects.ANY,
            multiple=multiple,
            options=options,
            custom_value=_flag(at, "custom_value", notes),
        )
    if kind is Selects.NUMBER:
        bounds = _bound(at, "min", notes), _bound(at, "max", notes)
        if bounds[0] is not None and bounds[1] is not None and bounds[0] > bounds[1]:
            notes.error("shape.bad_value", "`min` is above `max`; no number fits.", at.get("min") or at)
        return Selector(kind, minimum=bounds[0], maximum=bounds[1])
    return Selector(kind)


def _bound(at: At, key: str, notes: Notes) -> float | None:
    one = at.get(key)
    if one is None:
        return None
    value: Value = one.value
    if not isinstance(value, int | float) or isinstance(value, bool):
        notes.error("shape.wrong_type", f"`{key}` takes a number, not {say_type(one)}.", one)
        return None
    return value


def _options(at: At, notes: Notes) -> tuple[str, ...]:
    listing = at.get("options")
    if listing is None or not listing.is_list or not listing.node.items:
        told = "A select needs `options`: a list of texts, or of `{value, label}`."
        notes.error("shape.missing_key" if listing is None else "shape.wrong_type", told, listing or at)
        return ()
    found: list[str] = []
    for item in listing.items():
        option = item.get("value") if item.is_map else item
        if option is None or option.text is None:
            notes.error("shape.wrong_type", f"An option is a text or `{{value, label}}`, not {say_type(item)}.", item)
        else:
            found.append(option.text)
    return tuple(found)
