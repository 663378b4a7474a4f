"""Documents out of well-formed workflow text, for tests of the safety rules alone.

It checks nothing: what the loader would refuse gives a document here too, which is what a test of the rules behind it wants.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import yaml

from siteward.core.contract.document import (
    Condition,
    Document,
    Lane,
    Path,
    Place,
    State,
    Step,
    TriggerUse,
    Value,
    WorkflowLimits,
)
from siteward.core.contract.registry import Registry
from siteward.core.contract.scalars import resolve_plain

SETTING_KEYS = frozenset({"id", "name"})
OUTCOME_SETTINGS = {"ai": "decision", "ask_person": "replies", "call": "outcomes"}
FIXED_OUTCOMES = {
    "ai": ("unsure",),
    "ask_person": ("no_answer",),
    "call": ("no_answer",),
    "if": ("true", "false"),
    "wait_for": ("happened", "not_happened"),
}
SHORTHANDS = {"wait": "for"}


class Builder:
    """Builds one document."""

    def __init__(self, text: str, registry: Registry) -> None:
        self.text = text
        self.registry = registry
        self.places: dict[Path, Place] = {}
        self.key_places: dict[Path, Place] = {}

    def document(self) -> Document:
        root = self._plain(yaml.compose(self.text, Loader=yaml.SafeLoader), ())
        assert isinstance(root, Mapping)
        return Document(
            text=self.text,
            name=str(root.get("name", "")),
            description=None,
            state=State.TEST,
            needs={},
            limits=WorkflowLimits(),
            triggers=self._triggers(root.get("when"), ("when",)),
            conditions=self._conditions(root.get("if"), ("if",)),
            then=self._steps(root.get("then"), ("then",), "then"),
            always=self._steps(root.get("always"), ("always",), "always"),
            places=self.places,
            key_places=self.key_places,
            root=root,
        )

    def _plain(self, node: yaml.Node, path: Path) -> Value:
        self.places[path] = Place(node.start_mark.line + 1, node.start_mark.column + 1)
        if isinstance(node, yaml.MappingNode):
            made: dict[str, Value] = {}
            for key, value in node.value:
                at = (*path, str(key.value))
                self.key_places[at] = Place(key.start_mark.line + 1, key.start_mark.column + 1)
                made[str(key.value)] = self._plain(value, at)
            return MappingProxyType(made)
        if isinstance(node, yaml.SequenceNode):
            return tuple(self._plain(item, (*path, index)) for index, item in enumerate(node.value))
        return str(node.value) if node.style else resolve_plain(str(node.value))

    def _place(self, path: Path) -> Place:
        return self.key_places.get(path) or self.places.get(path) or Place(1, 1)

    def _triggers(self, value: Value, path: Path) -> tuple[TriggerUse, ...]:
        if not isinstance(value, Mapping):
            return ()
        if isinstance(value.get("any"), tuple):
            return tuple(
                use for index, one in enumerate(value["any"]) for use in self._triggers(one, (*path, "any", index))
            )
        return tuple(
            TriggerUse(name, settings if isinstance(settings, Mapping) else {}, (*path, name), self._place((*path, name)))
            for name, settings in value.items()
            if name != "timeout"
        )

    def _conditions(self, value: Value, path: Path) -> tuple[Condition, ...]:
        made = []
        for index, one in enumerate(value if isinstance(value, tuple) else ()):
            (name, settings), *_ = one.items()
            at = (*path, index, name)
            if name in ("any", "not"):
                made.append(Condition(name, {}, at, self._place(at), self._conditions(settings, at)))
                continue
            spec = self.registry.conditions.get(name)
            if not isinstance(settings, Mapping):
                settings = {spec.shorthand if spec and spec.shorthand else name: settings}
            made.append(Condition(name, settings, at, self._place(at)))
        return tuple(made)

    def _steps(self, value: Value, path: Path, plan: str) -> tuple[Step, ...]:
        return tuple(
            self._step(one, (*path, index), f"{plan}.{index}")
            for index, one in enumerate(value if isinstance(value, tuple) else ())
        )

    def _kind(self, step: Mapping[str, Value]) -> str:
        known = {*self.registry.actions, *self.registry.step_kinds}
        return next((key for key in step if key in known and key not in SETTING_KEYS), next(iter(step)))

    def _step(self, step: Value, path: Path, plan: str) -> Step:
        assert isinstance(step, Mapping)
        kind = self._kind(step)
        inner = step[kind]
        settings: dict[str, Value] = dict(inner) if isinstance(inner, Mapping) else self._short(kind, inner)
        outcomes = self._outcomes(kind, settings)
        lanes = [
            Lane(key, self._steps(value, (*path, key), f"{plan}/{key}"), (*path, key), self._place((*path, key)), True)
            for key, value in step.items()
            if key != kind and key not in SETTING_KEYS and isinstance(value, tuple)
        ]
        for key in [key for key in settings if key in outcomes and isinstance(settings[key], tuple)]:
            at = (*path, kind, key)
            lanes.append(Lane(key, self._steps(settings.pop(key), at, f"{plan}/{key}"), at, self._place(at), False))
        conditions = self._conditions(inner, (*path, "if")) if kind == "if" else ()
        body = self._steps(settings.pop("do", None), (*path, kind, "do"), f"{plan}/do") if kind == "for_each" else ()
        triggers = self._triggers(inner, (*path, kind)) if kind == "wait_for" else ()
        name, step_id = step.get("name"), step.get("id")
        return Step(
            kind,
            settings,
            path,
            self.places[path],
            plan,
            str(step_id) if step_id is not None else None,
            str(name) if name is not None else None,
            tuple(lanes),
            conditions,
            body,
            triggers,
        )

    def _outcomes(self, kind: str, settings: Mapping[str, Value]) -> set[str]:
        listed = settings.get(OUTCOME_SETTINGS.get(kind, ""))
        return {*(str(one) for one in listed or ()), *FIXED_OUTCOMES.get(kind, ())} if isinstance(listed, tuple) else set()

    def _short(self, kind: str, value: Value) -> dict[str, Value]:
        if kind == "if":
            return {}
        spec = self.registry.actions.get(kind)
        return {(spec.shorthand if spec and spec.shorthand else SHORTHANDS.get(kind, kind)): value}


def build(text: str, registry: Registry) -> Document:
    """The document of a text."""
    return Builder(text, registry).document()
