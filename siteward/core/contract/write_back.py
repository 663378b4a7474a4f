"""Writing a file back: every line of the author as it was, `contract` and `needs` lines added or brought up to date."""

from __future__ import annotations

from .document import Document, Path, Value
from .notes import Notes
from .places import BLUEPRINT_BYTES, read_tree
from .problems import Edit, EditKind
from .scalars import write_scalar
from .shape import CONTRACT
from .splice import write_flow
from .text_edits import apply_edits, frozen_value, same
from .tree import Node, plain


def write_back(document: Document) -> str:
    """The text of a document as it is exported."""
    text = document.text
    if not document.root:
        return text
    tree = _read(text)
    needs = frozen_value(document.needs)
    written = tree.entry("needs")
    if written is not None and not same(plain(written.value), needs):
        text = apply_edits(text, (_replace_needs(needs),))
        tree = _read(text)
    if tree.flow:
        return _into_flow(text, tree, needs)
    if written is None and needs:
        text = _before(text, tree, _needs_place(tree), _needs_lines(document))
    if tree.entry("contract") is None:
        text = _before(text, tree, tree.entries[0].key, [f"contract: {CONTRACT}"])
    return text


def _read(text: str) -> Node:
    tree = read_tree(text, Notes(), most_bytes=BLUEPRINT_BYTES).tree
    assert tree is not None  # a document was made of it
    return tree


def _replace_needs(needs: Value) -> Edit:
    path: Path = ("needs",)
    return Edit(EditKind.SET, path, needs) if needs else Edit(EditKind.REMOVE, path)


def _into_flow(text: str, tree: Node, needs: Value) -> str:
    edits = []
    if tree.entry("contract") is None:
        edits.append(Edit(EditKind.INSERT, ("contract",), CONTRACT))
    if tree.entry("needs") is None and needs:
        edits.append(Edit(EditKind.INSERT, ("needs",), needs))
    return apply_edits(text, edits)


def _needs_place(tree: Node) -> str:
    """The key that `needs` stands before."""
    keys = [entry.key for entry in tree.entries]
    return next((key for key in ("limits", "when", "if", "then") if key in keys), keys[0])


def _needs_lines(document: Document) -> list[str]:
    lines = ["needs:"]
    for key, names in document.needs.items():
        lines.append(f"  {write_scalar(key)}: {write_flow(names)}")
    return lines


def _before(text: str, tree: Node, key: str, lines: list[str]) -> str:
    entry = tree.entry(key)
    assert entry is not None
    start = entry.span.start - (entry.span.place.column - 1)
    indent = " " * (entry.span.place.column - 1)
    newline = "\r\n" if "\r\n" in text else "\n"
    added = "".join(indent + line + newline for line in lines)
    return text[:start] + added + text[start:]
