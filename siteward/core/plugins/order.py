"""The order in which integrations load: each after what it depends on, and otherwise as found."""

from __future__ import annotations

from collections.abc import Mapping

from .manifest import Manifest


def in_order(manifests: Mapping[str, Manifest]) -> tuple[list[str], list[str]]:
    """The domains in order, and those that depend on each other in a circle. What is not there is not waited for, and
    `after_dependencies` is only a wish: where it closes a circle it is left out."""
    left = dict(manifests)
    ordered: list[str] = []
    while left:
        ready = _first(left, wishes=True) or _first(left, wishes=False)
        if ready is None:
            return ordered, list(left)
        ordered.append(ready)
        del left[ready]
    return ordered, []


def _first(left: Mapping[str, Manifest], *, wishes: bool) -> str | None:
    for domain, manifest in left.items():
        waits_for = {*manifest.dependencies, *(manifest.after_dependencies if wishes else ())}
        if not (waits_for - {domain}) & left.keys():
            return domain
    return None
