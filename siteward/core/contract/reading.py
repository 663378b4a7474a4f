"""What the readers of the parts of a file share: the registry, the problems, the ids taken, and what the file needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from .document import Value
from .fixes import add_key, nearest_key
from .notes import Notes, listed, shown
from .registry import Registry, SiteView
from .tree import At

MOST_STEPS: Final = 2000


@dataclass(slots=True)
class Reading:
    """One reading of one file. `ids` maps the id of each step to its kind; `updates` are `update_with` settings, judged at the end;
    `uses` are the roles that the file names, by kind; `skills` what others than the host must provide."""

    registry: Registry
    notes: Notes
    site: SiteView | None = None
    ids: dict[str, str] = field(default_factory=dict)
    trigger_names: frozenset[str] = frozenset()
    updates: list[At] = field(default_factory=list)
    uses: dict[str, set[str]] = field(default_factory=dict)
    skills: dict[str, None] = field(default_factory=dict)
    steps: int = 0

    def use(self, kind: str, name: str) -> None:
        """The file names a role."""
        self.uses.setdefault(kind, set()).add(name)

    def need(self, skill: str) -> None:
        """The file needs a skill."""
        self.skills.setdefault(skill, None)

    def count_step(self, at: At) -> bool:
        """False (noted once) when there are too many steps."""
        self.steps += 1
        if self.steps == MOST_STEPS + 1:
            self.notes.error(
                "shape.too_large", f"Over {MOST_STEPS:,} steps. Split the file into several workflows.", at
            )
        return self.steps <= MOST_STEPS

    def unknown_key(self, at: At, known: Iterable[str], where: str, taken: Iterable[str]) -> None:
        """Notes a key that is not known in its place."""
        names = tuple(known)
        near = self.notes.nearest(at.key, names)
        hint = f" Did you mean `{near}`?" if near else f" Known here: {listed(names)}." if names else ""
        self.notes.error(
            "shape.unknown_key",
            f"{shown(at.key)} is not a key of {where}.{hint}",
            at,
            fixes=nearest_key(at, near, taken),
        )

    def missing_key(self, at: At, key: str, where: str, example: Value = None) -> None:
        """Notes a required key that is not there; with an `example`, adding it is the fix."""
        fixes = (add_key(at, key, example),) if example is not None and at.is_map else ()
        self.notes.error("shape.missing_key", f"{where} needs `{key}`. Add it.", at, fixes=fixes)


def frozen(values: Mapping[str, Value]) -> Mapping[str, Value]:
    """An immutable mapping."""
    return MappingProxyType(dict(values))


def say_type(at: At) -> str:
    """What stands there, in words."""
    if at.is_map:
        return "a mapping"
    if at.is_list:
        return "a list"
    value = at.node.value
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, int | float):
        return f"the number {value}"
    return f"the text {shown(value)}"
