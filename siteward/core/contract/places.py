"""From bytes to a tree with places, in one pass over parser events that counts its work and stops at the limits.

Nothing is composed before its event is counted and an alias costs one step whatever it stands for, so a hostile file is
refused after an amount of work that its length bounds. Limits: bytes, nesting levels, and nodes with the aliases
written out. (Facts on YAML 1.2: https://yaml.org/spec/1.2.2/, chapters 7 and 10.3.)
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field, replace
from typing import Final

import yaml

from .document import Place, Scalar, Value
from .notes import Notes
from .resolve import Resolve, node_of_value
from .scalars import NumberOutOfRange, resolve_plain
from .scanner import EventLoader
from .tree import Entry, Node, NodeKind, Span

WORKFLOW_BYTES: Final = 128 * 1024
BLUEPRINT_BYTES: Final = 512 * 1024
MOST_LEVELS: Final = 64
MOST_NODES: Final = 50_000
"""Values with the aliases written out: 2,000 steps of 25 values each."""

_LINE_BREAK: Final = re.compile("\r\n|\n|\r")
_FORBIDDEN: Final = re.compile("[^\t\n\r -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAG: Final = "tag:yaml.org,2002:"
_CORE_TAGS: Final = {
    NodeKind.SCALAR: frozenset({"str", "int", "float", "bool", "null"}),
    NodeKind.LIST: frozenset({"seq"}),
    NodeKind.MAP: frozenset({"map"}),
}
_SCALAR_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}


@dataclass(frozen=True, slots=True)
class Source:
    """A read file: its text, and its tree where one could be made. `work` counts events and nodes, for the bound that tests hold."""

    text: str
    tree: Node | None
    work: int


class _Stop(Exception):
    """Reading cannot go on; the problem has been noted."""


def read_tree(
    given: str | bytes, notes: Notes, *, most_bytes: int = WORKFLOW_BYTES, resolve: Resolve | None = None
) -> Source:
    """Reads a file. What is wrong is noted; there is no tree where the text cannot be read as one document."""
    try:
        text = _decode(given, notes, most_bytes)
    except _Stop:
        return Source("", None, 0)
    composer = _Composer(text, notes, resolve)
    try:
        tree = composer.document()
    except _Stop:
        tree = None
    return Source(text, tree, composer.work)


def _decode(given: str | bytes, notes: Notes, most_bytes: int) -> str:
    size = (
        len(given)
        if isinstance(given, bytes) or len(given) > most_bytes
        else len(given.encode("utf-8", "surrogatepass"))
    )
    if size > most_bytes:
        notes.error(
            "shape.too_large",
            f"The file has {size:,} bytes; at most {most_bytes:,} are read. Split it into several workflows.",
            place=Place(1, 1),
        )
        raise _Stop
    if isinstance(given, str):
        text = given
    else:
        try:
            text = given.decode("utf-8")
        except UnicodeDecodeError as error:
            _encoding(notes, given[: error.start].decode("utf-8"), "The file is not UTF-8 text. Save it as UTF-8.")
    forbidden = _FORBIDDEN.search(text)
    if forbidden is not None:
        named = f"U+{ord(forbidden.group()):04X}"
        _encoding(notes, text[: forbidden.start()], f"The character {named} may not stand in a YAML file. Remove it.")
    return text


def _encoding(notes: Notes, before: str, message: str) -> None:
    notes.error("shape.encoding", message, place=Lines(before).place(len(before)))
    raise _Stop


class Lines:
    """Offsets to places: lines end as editors end them, and a byte order mark takes no column."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in _LINE_BREAK.finditer(text))]
        self._mark = 1 if text.startswith("\ufeff") else 0

    def place(self, offset: int) -> Place:
        line = bisect.bisect_right(self._starts, offset)
        column = offset - self._starts[line - 1] + 1
        return Place(line, column - (self._mark if line == 1 and column > 1 else 0))


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come yet."""

    kind: NodeKind
    event: yaml.CollectionStartEvent
    opaque: bool = False
    items: list[Node] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    key: tuple[str | None, Span] | None = None
    size: int = 1
    height: int = 1


class _Composer:
    """Events to nodes, iteratively. `work` counts."""

    def __init__(self, text: str, notes: Notes, resolve: Resolve | None) -> None:
        self._text = text
        self._notes = notes
        self._resolve = resolve
        self._lines = Lines(text)
        self._loader = EventLoader(text)
        self._anchors: dict[str, Node] = {}
        self._opened: list[_Open] = []
        self._root: Node | None = None
        self._expanded = 0
        self.work = 0

    def document(self) -> Node | None:
        """The one document of the file."""
        documents = 0
        while True:
            event = self._next()
            match event:
                case yaml.StreamEndEvent():
                    return self._root
                case yaml.DocumentStartEvent():
                    documents += 1
                    if documents > 1:
                        self._stop(
                            "shape.several_documents",
                            "A second document begins here; a file holds one workflow.",
                            event,
                        )
                case yaml.MappingStartEvent():
                    self._open(NodeKind.MAP, event)
                case yaml.SequenceStartEvent():
                    self._open(NodeKind.LIST, event)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    self._close(event)
                case yaml.ScalarEvent():
                    self._place(self._scalar(event), event)
                case yaml.AliasEvent():
                    self._place(self._alias(event), event)
                case _:
                    pass  # stream start and document end carry nothing

    def _next(self) -> yaml.Event:
        self.work += 1
        try:
            event = self._loader.next_event()
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            told = (error.problem or error.context or "it cannot be read").rstrip(".")
            self._notes.error(
                "shape.yaml",
                f"This is not well-formed YAML: {told}. Check quotes, brackets and indentation here.",
                place=self._lines.place(mark.index) if mark else Place(1, 1),
            )
            raise _Stop from error
        except (ValueError, OverflowError) as error:  # an escape or a directive with an impossible number
            place = self._lines.place(self._loader.position())
            self._notes.error(
                "shape.yaml", "This is not well-formed YAML: an impossible escape or number.", place=place
            )
            raise _Stop from error
        return event

    def _span(self, event: yaml.Event, end: yaml.Event | None = None) -> Span:
        first, last = event.start_mark, (end or event).end_mark
        assert first is not None and last is not None  # the parser marks every event
        return Span(first.index, last.index, self._lines.place(first.index))

    def _stop(self, code: str, message: str, event: yaml.Event) -> None:
        self._notes.error(code, message, place=self._span(event).place)
        raise _Stop

    def _open(self, kind: NodeKind, event: yaml.CollectionStartEvent) -> None:
        if len(self._opened) >= MOST_LEVELS:
            self._stop("shape.too_large", f"Over {MOST_LEVELS} levels deep. Flatten the file.", event)
        self._opened.append(_Open(kind, event, opaque=not self._has_known_tag(kind, event)))

    def _close(self, event: yaml.Event) -> None:
        closed = self._opened.pop()
        node = Node(
            closed.kind,
            self._collection_span(closed, event),
            items=tuple(closed.items),
            entries=tuple(closed.entries),
            flow=bool(closed.event.flow_style),
            anchor=closed.event.anchor is not None,
            opaque=closed.opaque,
            size=closed.size,
            height=closed.height,
        )
        self._place(node, closed.event)

    def _collection_span(self, closed: _Open, end: yaml.Event) -> Span:
        """A flow collection ends with its bracket, a block collection with its last child (comments after it are not its own)."""
        span = self._span(closed.event, end)
        last = closed.items[-1] if closed.items else closed.entries[-1].value if closed.entries else None
        if closed.event.flow_style or last is None:
            return span
        return replace(span, end=max(last.span.end, closed.entries[-1].span.end if closed.entries else 0))

    def _trimmed(self, span: Span) -> Span:
        """Without the blank lines that a block takes in at its end."""
        return replace(span, end=span.start + len(self._text[span.start : span.end].rstrip()))

    def _scalar(self, event: yaml.ScalarEvent) -> Node:
        span = self._trimmed(self._span(event)) if event.style in ("|", ">") else self._span(event)
        quoted = event.style is not None
        text: str = event.value
        if any("\ud800" <= character <= "\udfff" for character in text):
            self._stop("shape.encoding", "An escape here names half a character. Write the character itself.", event)
        if event.tag is not None and event.tag == "!input" and self._resolve is not None:
            return self._input(text, span)
        opaque = not self._has_known_tag(NodeKind.SCALAR, event)
        value: Scalar = text
        if not quoted and event.tag is None:
            try:
                value = resolve_plain(text)
            except NumberOutOfRange:
                self._notes.error(
                    "shape.bad_value",
                    f"The number {text[:40]} is too large to be read exactly. Write it in quotes if it is a name.",
                    place=span.place,
                )
        elif event.tag is not None and event.tag.startswith(_TAG):
            value = self._tagged(text, event.tag.removeprefix(_TAG), span)
        return Node(NodeKind.SCALAR, span, value=value, quoted=quoted, anchor=event.anchor is not None, opaque=opaque)

    def _tagged(self, text: str, tag: str, span: Span) -> Scalar:
        if tag not in _SCALAR_TYPES:
            return text
        try:
            value = resolve_plain(text)
        except NumberOutOfRange:
            value = text
        fits = isinstance(value, _SCALAR_TYPES[tag]) and (tag == "bool" or not isinstance(value, bool))
        if not fits:
            self._notes.error("shape.wrong_type", f"{text[:40]!r} is not a {tag}, as its tag says.", place=span.place)
        return value

    def _input(self, name: str, span: Span) -> Node:
        assert self._resolve is not None
        try:
            value: Value = self._resolve(name)
        except KeyError:
            self._notes.error(
                "shape.missing_key", f"The input {name[:60]!r} has no value. Give it one.", place=span.place
            )
            return Node(NodeKind.SCALAR, span, opaque=True)
        return node_of_value(value, span)

    def _has_known_tag(self, kind: NodeKind, event: yaml.NodeEvent) -> bool:
        """Whether the tag is none or one of YAML's own; another is noted."""
        tag: str | None = getattr(event, "tag", None)
        if tag is None or tag == "!":
            return True
        if tag.startswith(_TAG) and tag.removeprefix(_TAG) in _CORE_TAGS[kind]:
            return True
        shown = "!!" + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag
        self._notes.error(
            "shape.unknown_tag",
            f"The tag {shown[:60]} is not known in workflow.v1. Remove it.",
            place=self._span(event).place,
        )
        return False

    def _alias(self, event: yaml.AliasEvent) -> Node:
        anchor = event.anchor or ""
        target = self._anchors.get(anchor)
        if target is None:
            is_open = any(one.event.anchor == anchor for one in self._opened)
            told = "stands inside its own anchor and would never end" if is_open else "has no anchor before it"
            self._stop("shape.too_large" if is_open else "shape.yaml", f"The alias *{anchor[:40]} {told}.", event)
        assert target is not None
        return replace(target, span=self._span(event), alias=True, anchor=False)

    def _place(self, node: Node, event: yaml.NodeEvent) -> None:
        """Puts a finished node where it belongs."""
        self.work += 1
        self._expanded += node.size if node.alias else 1
        is_large = self._expanded > MOST_NODES
        if is_large or len(self._opened) + node.height > MOST_LEVELS + 1:
            told = f"over {MOST_NODES:,} values" if is_large else f"over {MOST_LEVELS} levels deep"
            self._stop("shape.too_large", f"With its aliases written out the file is {told}. Repeat less.", event)
        if event.anchor is not None and not node.alias:
            self._anchors[event.anchor] = node
        if not self._opened:
            self._root = node
            return
        parent = self._opened[-1]
        parent.size += node.size
        parent.height = max(parent.height, node.height + 1)
        if parent.kind is NodeKind.LIST:
            parent.items.append(node)
        elif parent.key is None:
            parent.key = (self._key(node, event, parent), node.span)
        else:
            key, span = parent.key
            parent.key = None
            if key is not None:
                parent.entries.append(Entry(key, span, node))

    def _key(self, node: Node, event: yaml.NodeEvent, parent: _Open) -> str | None:
        """The text of a key as written; None (noted) where it is no key."""
        if node.kind is not NodeKind.SCALAR:
            self._notes.error("shape.wrong_type", "A key is a name, not a list or a mapping.", place=node.span.place)
            return None
        key = event.value if isinstance(event, yaml.ScalarEvent) else str(node.value)
        if key == "<<" and not node.quoted:
            self._notes.error(
                "shape.merge_key",
                "Merge keys (<<) are not part of workflow.v1. Write the keys out, or use an alias for the whole value.",
                place=node.span.place,
            )
            return None
        if key in parent.seen:
            self._notes.duplicate_key(key, node.span.place)
            return None
        parent.seen.add(key)
        return key
