"""Edits of the text: as little of it changes as can, so comments, order and quoting stay the author's.

Each edit finds the span of its node, changes those characters, and is read again and compared with what the edit means.
Where the smallest change does not read back as meant (an alias, an odd layout), the next larger value is written anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from .document import Path, Value
from .notes import Notes
from .places import BLUEPRINT_BYTES, read_tree
from .problems import Edit, EditKind
from .splice import Splice, SpliceRefused
from .tree import Node, child, plain


class EditRefused(ValueError):
    """The text cannot be edited so: it does not read as YAML, or the path leads nowhere."""


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with the edits applied in order. Raises `EditRefused`."""
    for edit in edits:
        text = _apply(text, edit)
    return text


def _apply(text: str, edit: Edit) -> str:
    notes = Notes()
    tree = read_tree(text, notes, most_bytes=BLUEPRINT_BYTES).tree
    if tree is None:
        raise EditRefused("The text does not read as one YAML document; correct that first.")
    wanted = edited(plain(tree), edit)
    done = _attempt(text, tree, edit, wanted)
    while done is None:
        parent = edit.path[:-1]
        if not parent or notes.has_errors:  # a part that cannot be read would be lost with its parent
            raise EditRefused(f"The text at {list(edit.path)} cannot be edited in place.")
        edit = Edit(EditKind.SET, parent, value_at(wanted, parent))
        done = _attempt(text, tree, edit, wanted)
    return done


def _attempt(text: str, tree: Node, edit: Edit, wanted: Value) -> str | None:
    """The text after the edit, where it then reads as wanted."""
    try:
        done = Splice(text, tree).apply(edit)
    except SpliceRefused:
        return None
    return done if _reads_as(done, wanted, tree, edit.path) else None


def _reads_as(text: str, wanted: Value, before: Node, path: Path) -> bool:
    after = read_tree(text, Notes(), most_bytes=BLUEPRINT_BYTES).tree
    if after is None:
        return False
    if same(plain(after), wanted):
        return True
    # An edit inside an anchored value shows at its aliases as well; that is what sharing means.
    return _edits_an_anchor(before, path) and same(value_at(plain(after), path), value_at(wanted, path))


def _edits_an_anchor(tree: Node, path: Path) -> bool:
    node: Node | None = tree
    for step in path:
        node = child(node, step) if node is not None else None
        if node is not None and node.anchor:
            return True
    return False


def same(one: Value, other: Value) -> bool:
    """Equal values of equal types (`1` is not `1.0`, nor `true`)."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return type(one) is type(other) and one == other


def value_at(value: Value, path: Path) -> Value:
    """The value under a path; None where there is none."""
    for step in path:
        if isinstance(value, Mapping) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, tuple) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def edited(value: Value, edit: Edit) -> Value:
    """What an edit means, on plain values. Raises `EditRefused` where its path leads nowhere."""
    if not edit.path:
        if edit.kind is EditKind.SET:
            return frozen_value(edit.value)
        raise EditRefused("Only `set` edits the whole document.")
    return _edited(value, edit.path, edit)


def _edited(value: Value, path: Path, edit: Edit) -> Value:
    step, rest = path[0], path[1:]
    if isinstance(value, Mapping) and isinstance(step, str):
        return _edited_mapping(value, step, rest, edit)
    if isinstance(value, tuple) and isinstance(step, int):
        return _edited_list(value, step, rest, edit)
    if value is None and isinstance(step, str) and not rest and edit.kind in (EditKind.INSERT, EditKind.SET):
        return MappingProxyType({step: frozen_value(edit.value)})
    raise EditRefused(f"There is nothing at {list(edit.path)} to edit.")


def _edited_mapping(value: Mapping[str, Value], key: str, rest: Path, edit: Edit) -> Value:
    if rest:
        if key not in value:
            raise EditRefused(f"There is nothing at {list(edit.path)} to edit.")
        return MappingProxyType({**value, key: _edited(value[key], rest, edit)})
    if edit.kind in (EditKind.SET, EditKind.INSERT):
        return MappingProxyType({**value, key: frozen_value(edit.value)})
    if key not in value:
        raise EditRefused(f"There is nothing at {list(edit.path)} to edit.")
    if edit.kind is EditKind.REMOVE:
        return MappingProxyType({k: v for k, v in value.items() if k != key})
    new = str(edit.value)
    if new in value and new != key:
        raise EditRefused(f"The key {new} is there already.")
    return MappingProxyType({(new if k == key else k): v for k, v in value.items()})


def _edited_list(value: tuple[Value, ...], index: int, rest: Path, edit: Edit) -> Value:
    last = len(value) if edit.kind is EditKind.INSERT and not rest else len(value) - 1
    if not 0 <= index <= last:
        raise EditRefused(f"There is nothing at {list(edit.path)} to edit.")
    if rest:
        return (*value[:index], _edited(value[index], rest, edit), *value[index + 1 :])
    match edit.kind:
        case EditKind.SET:
            return (*value[:index], frozen_value(edit.value), *value[index + 1 :])
        case EditKind.INSERT:
            return (*value[:index], frozen_value(edit.value), *value[index:])
        case EditKind.REMOVE:
            return (*value[:index], *value[index + 1 :])
        case EditKind.RENAME:
            raise EditRefused("Only a key can be renamed.")


def frozen_value(value: object) -> Value:
    """Any plain value (lists and dicts of the JSON form as well) as an immutable one."""
    if isinstance(value, Mapping):
        return MappingProxyType({str(key): frozen_value(one) for key, one in value.items()})
    if isinstance(value, list | tuple):
        return tuple(frozen_value(one) for one in value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise EditRefused(f"{type(value).__name__} is no value of a workflow file.")
