"""Edits change what they mean and nothing else: comments, order, quoting and line ends stay the author's."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siteward.core.contract import Edit, EditKind, EditRefused, apply_edits
from siteward.core.contract.document import Path, Value
from siteward.core.contract.notes import Notes
from siteward.core.contract.places import read_tree
from siteward.core.contract.text_edits import edited, same, value_at
from siteward.core.contract.tree import NodeKind, plain, walk
from tests.contract.expected import files

TEXT = """\
# The night shift wrote this.
name: Round   # short
limits: { cooldown: 2m, per_hour: 20 }
when:
  button: { name: "round" }
then:
  # first
  - log: one   # a
  - notify:
      who: role:guard
      message: |
        Two
        lines
  # last
  - log: three
"""


def change(kind: EditKind, path: Path, value: Value = None, text: str = TEXT) -> str:
    return apply_edits(text, [Edit(kind, path, value)])


@pytest.mark.parametrize(
    ("kind", "path", "value", "before", "after"),
    [
        (EditKind.SET, ("name",), "Night", "Round   # short", "Night   # short"),
        (EditKind.SET, ("limits", "per_hour"), 5, "per_hour: 20", "per_hour: 5"),
        (EditKind.SET, ("then", 0, "log"), "a: b", "log: one", 'log: "a: b"'),
        (EditKind.SET, ("when", "button", "name"), "x", '"round"', "x"),
        (EditKind.RENAME, ("limits", "cooldown"), "cool", "cooldown:", "cool:"),
        (EditKind.REMOVE, ("limits", "cooldown"), None, "cooldown: 2m, ", ""),
        (EditKind.REMOVE, ("limits", "per_hour"), None, ", per_hour: 20", ""),
        (EditKind.REMOVE, ("then", 0), None, "  - log: one   # a\n", ""),
        (EditKind.REMOVE, ("then", 2), None, "  - log: three\n", ""),
        (EditKind.REMOVE, ("name",), None, "name: Round   # short\n", ""),
        (EditKind.INSERT, ("limits", "ai_per_hour"), 3, "20 }", "20, ai_per_hour: 3 }"),
        (EditKind.INSERT, ("then", 0), {"log": "new"}, "  - log: one", "  - { log: new }\n  - log: one"),
        (EditKind.INSERT, ("then", 3), {"wait": "5s"}, "three\n", "three\n  - { wait: 5s }\n"),
        (
            EditKind.INSERT,
            ("then", 1, "notify", "severity"),
            "low",
            "        lines\n",
            "        lines\n      severity: low\n",
        ),
        (EditKind.INSERT, ("always",), ({"log": "end"},), "three\n", "three\nalways: [{ log: end }]\n"),
        (EditKind.SET, ("state",), "on", "three\n", "three\nstate: on\n"),
    ],
)
def test_the_smallest_change_is_made(kind: EditKind, path: Path, value: Value, before: str, after: str) -> None:
    assert change(kind, path, value) == TEXT.replace(before, after)


def test_the_first_key_of_a_step_makes_room_for_the_next() -> None:
    text = "then:\n  - id: a   # why\n    log: x\n"
    assert change(EditKind.REMOVE, ("then", 0, "id"), text=text) == "then:\n  - log: x\n"


def test_windows_line_ends_and_a_missing_last_one_are_kept() -> None:
    assert change(EditKind.INSERT, ("b",), 2, "a: 1\r\n") == "a: 1\r\nb: 2\r\n"
    assert change(EditKind.INSERT, ("b",), 2, "a: 1") == "a: 1\nb: 2\n"


def test_an_empty_value_is_filled() -> None:
    assert change(EditKind.SET, ("a",), 1, "a:\nb: 2\n") == "a: 1\nb: 2\n"
    assert change(EditKind.INSERT, ("a", "c"), 1, "a:\nb: 2\n") == "a: { c: 1 }\nb: 2\n"


def test_an_edit_behind_an_alias_leaves_the_anchor_alone() -> None:
    text = "a: &x { n: 1 }\nb: *x\n"
    assert change(EditKind.SET, ("b", "n"), 2, text) == "a: &x { n: 1 }\nb: { n: 2 }\n"


def test_an_edit_of_an_anchored_value_keeps_its_anchor() -> None:
    text = "a: &x one\nb: *x\n"
    assert change(EditKind.SET, ("a",), "two", text) == "a: &x two\nb: *x\n"


@pytest.mark.parametrize(
    ("kind", "path"),
    [(EditKind.REMOVE, ("no",)), (EditKind.RENAME, ("then", 0)), (EditKind.REMOVE, ("then", 9)), (EditKind.REMOVE, ()),
     (EditKind.SET, ("name", "deeper", "still"))],
)  # fmt: skip
def test_an_edit_that_leads_nowhere_is_refused(kind: EditKind, path: Path) -> None:
    with pytest.raises(EditRefused):
        change(kind, path, "x")


def test_a_broken_text_is_not_edited() -> None:
    with pytest.raises(EditRefused):
        change(EditKind.SET, ("a",), 1, "a: [")


TEXTS = [file.text for file in files("accepted") if file.text is not None and len(file.data) < 4000]
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
VALUES: st.SearchStrategy[Value] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(st.text("abc é", max_size=4), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@settings(max_examples=150, deadline=None, database=None)
@given(st.data())
def test_any_edit_of_any_file_reads_back_as_it_means_or_is_refused(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    tree = read_tree(text, Notes()).tree
    assert tree is not None
    path, node, entry = data.draw(st.sampled_from(list(walk(tree))[1:]))
    kinds = [EditKind.SET, EditKind.REMOVE, *([EditKind.RENAME] if entry else [])]
    kind = data.draw(st.sampled_from([*kinds, *([EditKind.INSERT] if node.kind is not NodeKind.SCALAR else [])]))
    value: Value = data.draw(st.text("abc :", min_size=1, max_size=5) if kind is EditKind.RENAME else VALUES)
    if kind is EditKind.INSERT:
        index = st.integers(0, len(node.items))
        step: str | int = data.draw(index) if node.kind is NodeKind.LIST else data.draw(st.text("xyz-", min_size=1))
        path = (*path, step)
    edit = Edit(kind, path, value)
    try:
        wanted = edited(plain(tree), edit)
    except EditRefused:
        return
    try:
        after = read_tree(apply_edits(text, [edit]), Notes()).tree
    except EditRefused:
        assert kind is not EditKind.SET or node.anchor or len(path) == 1
        return
    assert after is not None
    place = path if kind is EditKind.SET else path[:-1]
    assert same(value_at(plain(after), place), value_at(wanted, place))


def test_a_block_whose_only_key_cannot_be_read_is_not_edited_in_place() -> None:
    with pytest.raises(EditRefused):
        change(EditKind.INSERT, ("a", "c"), 3, "a:\n  ? { b: 1 }\n  : 2\n")
