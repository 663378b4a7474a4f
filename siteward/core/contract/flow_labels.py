"""Where values come from: the label of one name, and all names that are known at one point of the flow.

A file of 128 KiB can give some ten thousand names at two thousand points, so a point does not copy what the one before it knew: it lays what
is new over it, and where lanes meet only what is new in one of them is compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .provenance import least_trusted
from .registry import Provenance


@dataclass(frozen=True, slots=True)
class Label:
    """Where a value comes from. `authorises`: an identity that the trigger gave. `texts` are the values that it can have, where the file
    itself lists them. `row`: a row of a list that AI chose (only that row's own door may move)."""

    provenance: Provenance
    authorises: bool = False
    texts: tuple[str, ...] | None = None
    row: bool = False


LOST: Final = Label(Provenance.AI)
"""The label of a name that nobody gives: AI's."""


def join_labels(labels: Sequence[Label]) -> Label:
    """The worse of several labels for the same name."""
    first = labels[0]
    if all(label == first for label in labels):
        return first
    texts = [label.texts for label in labels]
    known = [text for text in texts if text is not None]
    return Label(
        least_trusted(label.provenance for label in labels),
        all(label.authorises for label in labels),
        tuple(dict.fromkeys(text for part in known for text in part)) if len(known) == len(texts) else None,
        any(label.row for label in labels),
    )


class KnownNames(Mapping[str, Label]):
    """An immutable mapping from names to labels, layer over layer; a layer that outgrows the one below takes it in, so there are few."""

    __slots__ = ("_below", "_own")

    def __init__(self, own: Mapping[str, Label | None], below: KnownNames | None = None) -> None:
        self._own = own
        self._below = below

    def adding(self, names: Mapping[str, Label | None]) -> KnownNames:
        """With further names; None takes a name away."""
        if not names:
            return self
        own: dict[str, Label | None] = dict(names)
        below: KnownNames | None = self
        while below is not None and len(below._own) <= len(own):
            own, below = {**below._own, **own}, below._below
        return KnownNames(own, below)

    def __getitem__(self, name: str) -> Label:
        for layer in self._layers():
            if name in layer._own:
                label = layer._own[name]
                if label is None:
                    break
                return label
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        names: dict[str, Label | None] = {}
        for layer in reversed(list(self._layers())):
            names.update(layer._own)
        return (name for name, label in names.items() if label is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KnownNames):
            return NotImplemented
        _, names = self._apart(other)
        return all(self.get(name) == other.get(name) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def joined(self, other: KnownNames) -> KnownNames:
        """Where two points meet: every name that either knows, as bad as the worse of the two."""
        common, names = self._apart(other)
        met: dict[str, Label | None] = {}
        for name in names:
            labels = [label for label in (self.get(name), other.get(name)) if label is not None]
            met[name] = join_labels(labels) if labels else None
        return KnownNames(met) if common is None else common.adding(met)

    def _layers(self) -> Iterator[KnownNames]:
        layer: KnownNames | None = self
        while layer is not None:
            yield layer
            layer = layer._below

    def _apart(self, other: KnownNames) -> tuple[KnownNames | None, dict[str, None]]:
        """The layer that both stand on, and the names that one of them has above it."""
        mine = {id(layer): layer for layer in self._layers()}
        common = next((layer for layer in other._layers() if id(layer) in mine), None)
        names: dict[str, None] = {}
        for one in (self, other):
            for layer in one._layers():
                if layer is common:
                    break
                names.update(dict.fromkeys(layer._own))
        return common, names
