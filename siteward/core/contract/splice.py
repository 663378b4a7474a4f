"""One edit as a change of characters, by the spans of the nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .document import Path, Value
from .problems import Edit, EditKind
from .scalars import write_scalar
from .tree import Entry, Node, NodeKind, child

_PROPERTIES: Final = re.compile(r"&\S+\s+")


class SpliceRefused(ValueError):
    """The layout here is not one that this edit knows."""


class Splice:
    """Edits of one read text."""

    def __init__(self, text: str, tree: Node) -> None:
        self._text = text
        self._tree = tree
        self._newline = "\r\n" if "\r\n" in text else "\n"

    def apply(self, edit: Edit) -> str:
        """The text after the edit. Raises `SpliceRefused`; whether it reads as meant is the caller's to check."""
        chain = self._chain(edit.path[:-1])
        if any(node.alias for node in chain):
            raise SpliceRefused("inside an alias")
        parent = chain[-1]
        if not edit.path:
            return self._set(self._tree, edit.value)
        target = child(parent, edit.path[-1])
        match edit.kind:
            case EditKind.SET if target is not None:
                return self._set(target, edit.value)
            case EditKind.SET | EditKind.INSERT:
                return self._insert(parent, edit.path[-1], edit.value)
            case EditKind.RENAME:
                return self._rename(parent, str(edit.path[-1]), str(edit.value))
            case EditKind.REMOVE:
                return self._remove(parent, edit.path[-1])

    def _chain(self, path: Path) -> list[Node]:
        nodes = [self._tree]
        for step in path:
            found = child(nodes[-1], step)
            if found is None:
                raise SpliceRefused("no such path")
            nodes.append(found)
        return nodes

    def _replace(self, start: int, end: int, new: str) -> str:
        return self._text[:start] + new + self._text[end:]

    def _set(self, node: Node, value: Value) -> str:
        start, end = node.span.start, node.span.end
        if node.anchor:
            properties = _PROPERTIES.match(self._text, start)
            if properties is None:
                raise SpliceRefused("an anchor without a value")
            start = properties.end()
        new = write_flow(value)
        touches = start > 0 and self._text[start - 1] in ":-?"
        return self._replace(start, end, " " + new if touches else new)

    def _rename(self, parent: Node, key: str, new: str) -> str:
        entry = _entry(parent, key)
        return self._replace(entry.span.start, entry.span.end, write_scalar(new))

    # Removing

    def _remove(self, parent: Node, step: str | int) -> str:
        parts = _parts(parent)
        index = _index(parent, step)
        if len(parts) == 1:
            raise SpliceRefused("nothing would be left")
        if parent.flow:
            return self._remove_flow(parts, index)
        return self._remove_block(parent, parts, index)

    def _remove_flow(self, parts: list[tuple[int, int]], index: int) -> str:
        if index + 1 < len(parts):
            return self._replace(parts[index][0], parts[index + 1][0], "")
        return self._replace(parts[index - 1][1], parts[index][1], "")

    def _remove_block(self, parent: Node, parts: list[tuple[int, int]], index: int) -> str:
        start, end = parts[index]
        if parent.kind is NodeKind.LIST:
            start = self._dash(start)
        line = self._line_start(start)
        if self._text[line:start].strip():
            if index + 1 == len(parts):
                raise SpliceRefused("the last of a line that others share")
            following = parts[index + 1][0]
            if parent.kind is NodeKind.LIST:
                following = self._dash(following)
            return self._replace(start, following, "")
        return self._replace(line, self._line_end(end), "")

    def _dash(self, start: int) -> int:
        before = self._text[:start].rstrip()
        if not before.endswith("-"):
            raise SpliceRefused("something stands between the dash and its item")
        return len(before) - 1

    # Inserting

    def _insert(self, parent: Node, step: str | int, value: Value) -> str:
        if parent.kind is NodeKind.SCALAR:
            raise SpliceRefused("no collection")
        if (parent.kind is NodeKind.LIST) != isinstance(step, int):
            raise SpliceRefused("a key for a list, or an index for a mapping")
        new = write_flow(value) if isinstance(step, int) else f"{write_scalar(step)}: {write_flow(value)}"
        if parent.flow:
            return self._insert_flow(parent, step, new)
        return self._insert_block(parent, step, new)

    def _insert_flow(self, parent: Node, step: str | int, new: str) -> str:
        parts = _parts(parent)
        closing = self._text[parent.span.end - 1]
        if closing not in "]}":
            raise SpliceRefused("a pair without braces")
        if not parts:
            return self._replace(parent.span.end - 1, parent.span.end - 1, new)
        if isinstance(step, int) and step < len(parts):
            return self._replace(parts[step][0], parts[step][0], new + ", ")
        at = parts[-1][1]
        return self._replace(at, at, ", " + new)

    def _insert_block(self, parent: Node, step: str | int, new: str) -> str:
        parts = _parts(parent)
        if not parts:
            raise SpliceRefused("a block without an entry that can be read")
        first = self._dash(parts[0][0]) if parent.kind is NodeKind.LIST else parts[0][0]
        indent = " " * (first - self._line_start(first))
        if isinstance(step, int):
            new = "- " + new
            if step < len(parts):
                dash = self._dash(parts[step][0])
                line = self._line_start(dash)
                if self._text[line:dash].strip():
                    raise SpliceRefused("an item that shares its line")
                return self._replace(line, line, indent + new + self._newline)
        at = self._line_end(parts[-1][1])
        before = "" if self._text[:at].endswith(("\n", "\r")) else self._newline
        return self._replace(at, at, before + indent + new + self._newline)

    def _line_start(self, at: int) -> int:
        start = max(self._text.rfind("\n", 0, at), self._text.rfind("\r", 0, at)) + 1
        return start + 1 if start == 0 and self._text.startswith("\ufeff") else start

    def _line_end(self, at: int) -> int:
        """After the end of the line, its newline included."""
        found = self._text.find("\n", at)
        return len(self._text) if found < 0 else found + 1


def _entry(parent: Node, key: str) -> Entry:
    entry = parent.entry(key)
    if entry is None:
        raise SpliceRefused("no such key")
    return entry


def _index(parent: Node, step: str | int) -> int:
    if isinstance(step, int):
        return step
    return next((at for at, entry in enumerate(parent.entries) if entry.key == step), -1)


def _parts(parent: Node) -> list[tuple[int, int]]:
    """Where each item or entry begins and ends."""
    if parent.kind is NodeKind.LIST:
        return [(item.span.start, item.span.end) for item in parent.items]
    return [(entry.span.start, max(entry.span.end, entry.value.span.end)) for entry in parent.entries]


def write_flow(value: Value) -> str:
    """`value` on one line."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{write_scalar(key)}: {write_flow(one)}" for key, one in value.items())
        return "{ " + inner + " }" if inner else "{}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(write_flow, value)) + "]"
    return write_scalar(value)
