"""Putting inputs into the text of a blueprint, and finding the way back from the made text to the places it came from.

Only the spans of the `!input` nodes change, and the head goes; every other character stays, comments and order included. Values
are written on one line as YAML flow, in scalars that every YAML 1.2 reader reads alike.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from .document import Place, Value
from .places import Lines
from .scalars import write_scalar
from .tree import Node, NodeKind

_LINE_BREAK: Final = re.compile("\r\n|\n|\r")
_REST_OF_LINE: Final = re.compile(r"[ \t]*(?:#[^\n\r]*)?(?:\r\n|\n|\r|\Z)")
_COMMENT_LINE: Final = re.compile(r"([ \t]+)#[^\n\r]*(?:\r\n|\n|\r|\Z)")


@dataclass(frozen=True, slots=True)
class Splice:
    """Characters [start, end) of the blueprint give way to `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Woven:
    """A made text with its splices in order, and where each one's text begins in it."""

    text: str
    splices: tuple[Splice, ...]
    starts: tuple[int, ...]

    def offset_before(self, offset: int) -> int:
        """Where a character of the made text stood in the blueprint; of a spliced text, where that was put."""
        index = bisect.bisect_right(self.starts, offset) - 1
        if index < 0:
            return offset
        splice, start = self.splices[index], self.starts[index]
        past = offset - start - len(splice.text)
        return splice.end + past if past >= 0 else splice.start


class WayBack:
    """From places of a made text to places of the blueprint that it was made from."""

    def __init__(self, woven: Woven, blueprint: str) -> None:
        self._woven = woven
        self._starts = [0, *(found.end() for found in _LINE_BREAK.finditer(woven.text))]
        self._lines = Lines(blueprint)

    def place(self, made: Place) -> Place:
        """Where that stands in the blueprint."""
        return self._lines.place(self._woven.offset_before(self._offset(made)))

    def _offset(self, place: Place) -> int:
        text = self._woven.text
        line = min(max(place.line, 1), len(self._starts))
        mark = 1 if line == 1 and place.column > 1 and text.startswith("\ufeff") else 0
        return min(self._starts[line - 1] + place.column - 1 + mark, len(text))


def weave(text: str, splices: Iterable[Splice]) -> Woven:
    """`text` with its splices, which do not overlap, put in."""
    ordered = sorted(splices, key=lambda one: (one.start, one.end))
    pieces: list[str] = []
    starts: list[int] = []
    done = length = 0
    for splice in ordered:
        pieces += (text[done : splice.start], splice.text)
        starts.append(length + splice.start - done)
        length = starts[-1] + len(splice.text)
        done = splice.end
    pieces.append(text[done:])
    return Woven("".join(pieces), tuple(ordered), tuple(starts))


def write_value(value: Value) -> str:
    """A value as YAML flow on one line, which reads back as the same value wherever it stands."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{write_scalar(key)}: {write_value(one)}" for key, one in value.items())
        return "{" + inner + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(write_value, value)) + "]"
    return write_scalar(value)


def last_offset(node: Node) -> int:
    """Where the last character of a node stands (the end of a block collection, as a parser tells it, is the next token's start)."""
    while not node.alias and not node.flow and (node.items or node.entries):
        node = node.items[-1] if node.kind is NodeKind.LIST else node.entries[-1].value
    return node.span.end


def whole_lines(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The lines that hold [start, end), the rest of the last line if it is a comment, and comments below that are indented deeper; None
    where something else stands on the first line before it."""
    first = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    if text[first:start].strip(" \ufeff"):
        return None
    first += 1 if text.startswith("\ufeff", first) else 0
    end = start + len(text[start:end].rstrip())
    rest = _REST_OF_LINE.match(text, end)
    end = rest.end() if rest else end
    while (comment := _COMMENT_LINE.match(text, end)) is not None and len(comment[1]) > start - first:
        end = comment.end()
    return first, end


def line_break(text: str) -> str:
    """How the lines of a text end."""
    found = _LINE_BREAK.search(text)
    return found.group() if found else "\n"
