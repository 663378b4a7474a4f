"""The YAML tree of a workflow file: values with the span of text that each stands in.

Nodes are shared where the file uses aliases; an alias is a copy of its anchor's node with the alias' own span, so the
tree costs what the text costs, and `size` says what it would cost written out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from .document import Path, Place, Scalar, Value


class NodeKind(StrEnum):
    """The three kinds of YAML node."""

    SCALAR = "scalar"
    LIST = "list"
    MAP = "map"


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the text: character offsets [start, end) and the place of its start."""

    start: int
    end: int
    place: Place


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping with its value."""

    key: str
    span: Span
    value: Node


@dataclass(frozen=True, slots=True)
class Node:
    """One node. `quoted` and `flow` say how it is written; `alias` is true where the text has `*name` here. `opaque` has a tag that
    nobody knows, so nothing is said of its value. `size` counts the nodes
    below and including it and `height` its levels, aliases written out."""

    kind: NodeKind
    span: Span
    value: Scalar = None
    items: tuple[Node, ...] = ()
    entries: tuple[Entry, ...] = ()
    quoted: bool = False
    flow: bool = False
    alias: bool = False
    opaque: bool = False
    anchor: bool = False
    size: int = 1
    height: int = 1

    def get(self, key: str) -> Node | None:
        """The value under `key` of a mapping."""
        return next((entry.value for entry in self.entries if entry.key == key), None)

    def entry(self, key: str) -> Entry | None:
        """The entry with `key` of a mapping."""
        return next((entry for entry in self.entries if entry.key == key), None)


def plain(node: Node) -> Value:
    """The node as an immutable plain value."""
    match node.kind:
        case NodeKind.SCALAR:
            return node.value
        case NodeKind.LIST:
            return tuple(map(plain, node.items))
        case NodeKind.MAP:
            return MappingProxyType({entry.key: plain(entry.value) for entry in node.entries})


def child(node: Node, step: str | int) -> Node | None:
    """The node under a key or an index."""
    if isinstance(step, int):
        return node.items[step] if node.kind is NodeKind.LIST and 0 <= step < len(node.items) else None
    return node.get(step) if node.kind is NodeKind.MAP else None


@dataclass(frozen=True, slots=True)
class At:
    """A node in its context: the path that leads to it and, under a mapping, its key."""

    node: Node
    path: Path = ()
    entry: Entry | None = None

    @property
    def place(self) -> Place:
        """Where a problem with this value is shown: its key, or itself in a list."""
        return (self.entry.span if self.entry else self.node.span).place

    def entries(self) -> Iterator[At]:
        """The values of a mapping, in the order of the file."""
        for one in self.node.entries:
            yield At(one.value, (*self.path, one.key), one)

    def items(self) -> Iterator[At]:
        """The items of a list."""
        for index, item in enumerate(self.node.items):
            yield At(item, (*self.path, index))

    def get(self, key: str) -> At | None:
        """The value under `key` of a mapping."""
        one = self.node.entry(key)
        return At(one.value, (*self.path, key), one) if one else None

    @property
    def key(self) -> str:
        """The key that this value stands under, or its index as text."""
        return str(self.path[-1]) if self.path else ""

    @property
    def is_map(self) -> bool:
        """A mapping."""
        return self.node.kind is NodeKind.MAP

    @property
    def is_list(self) -> bool:
        """A sequence."""
        return self.node.kind is NodeKind.LIST

    @property
    def text(self) -> str | None:
        """The value where it is text, else None."""
        return self.node.value if isinstance(self.node.value, str) else None

    @property
    def value(self) -> Value:
        """The plain value."""
        return plain(self.node)


def walk(node: Node, path: Path = ()) -> Iterator[tuple[Path, Node, Entry | None]]:
    """Every node with its path and, under a mapping, its entry; parents first, aliases written out."""
    todo: list[tuple[Path, Node, Entry | None]] = [(path, node, None)]
    while todo:
        here, found, entry = todo.pop()
        yield here, found, entry
        todo.extend((*((*here, index), item, None),) for index, item in reversed(list(enumerate(found.items))))
        todo.extend(((*here, one.key), one.value, one) for one in reversed(found.entries))
