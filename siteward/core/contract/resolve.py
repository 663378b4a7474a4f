"""The inputs of a blueprint: `!input name` reads as the value that the instance gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from .document import Value
from .tree import Entry, Node, NodeKind, Span

Resolve: TypeAlias = Callable[[str], Value]
"""Gives the value of an input by its name; raises KeyError where it has none."""


def node_of_value(value: Value, span: Span) -> Node:
    """`value` as a node that stands at `span` (where the file says `!input`)."""
    if isinstance(value, Mapping):
        entries = tuple(Entry(key, span, node_of_value(one, span)) for key, one in value.items())
        size, height = _measure(tuple(entry.value for entry in entries))
        return Node(NodeKind.MAP, span, entries=entries, alias=True, size=size, height=height)
    if isinstance(value, tuple | list):
        items = tuple(node_of_value(one, span) for one in value)
        size, height = _measure(items)
        return Node(NodeKind.LIST, span, items=items, alias=True, size=size, height=height)
    return Node(NodeKind.SCALAR, span, value=value, quoted=True, alias=True)


def _measure(nodes: tuple[Node, ...]) -> tuple[int, int]:
    return 1 + sum(node.size for node in nodes), 1 + max((node.height for node in nodes), default=0)
