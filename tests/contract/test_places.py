"""From bytes to a tree: places as editors count them, limits before composing, an amount of work that the length bounds."""

from __future__ import annotations

import pytest

from siteward.core.contract import validate
from siteward.core.contract.document import Place, Value
from siteward.core.contract.manifest_data import shipped_registry
from siteward.core.contract.notes import Notes
from siteward.core.contract.places import (
    BLUEPRINT_BYTES,
    MOST_LEVELS,
    MOST_NODES,
    WORKFLOW_BYTES,
    Source,
    read_tree,
)
from siteward.core.contract.tree import At, plain

REGISTRY = shipped_registry()


def read(given: str | bytes, **options: object) -> tuple[Source, list[tuple[str, Place]]]:
    notes = Notes()
    source = read_tree(given, notes, **options)  # type: ignore[arg-type]
    return source, [(problem.code, problem.place) for problem in notes.sorted()]


@pytest.mark.parametrize(
    ("given", "code", "place"),
    [
        (b"name: \xff\n", "shape.encoding", Place(1, 7)),
        (b"a: 1\nb: \xc3\x28", "shape.encoding", Place(2, 4)),
        ("name: x".encode("utf-16"), "shape.encoding", Place(1, 1)),
        (b"a: 1\r\nb: x\x00", "shape.encoding", Place(2, 5)),
        (b"a: \x07", "shape.encoding", Place(1, 4)),
        ("a: \ud800", "shape.encoding", Place(1, 4)),
        ('a: "\\uD83D"', "shape.encoding", Place(1, 4)),
        ("a: 1\n---\nb: 2\n", "shape.several_documents", Place(2, 1)),
        ("a:\n  b: 1\n  c: 2\n  b: 3\n", "shape.duplicate_key", Place(4, 3)),
        ("a: &x { b: 1 }\nc:\n  <<: *x\n", "shape.merge_key", Place(3, 3)),
        ("a: !secret x", "shape.unknown_tag", Place(1, 4)),
        ("a: !!set { b }", "shape.unknown_tag", Place(1, 4)),
        ("a: !!timestamp 2026-01-01", "shape.unknown_tag", Place(1, 4)),
        ("a: *nobody", "shape.yaml", Place(1, 4)),
        ("a: [1, 2", "shape.yaml", Place(1, 9)),
        ("a: 'x", "shape.yaml", Place(1, 6)),
        ("a: b: c", "shape.yaml", Place(1, 5)),
        ('a: "\\UFFFFFFFF"', "shape.yaml", Place(1, 7)),
        ("? [a]\n: b\n", "shape.wrong_type", Place(1, 3)),
        ("a: 99999999999999999999", "shape.bad_value", Place(1, 4)),
        ("a: .inf", "shape.bad_value", Place(1, 4)),
        ("a: &x [ *x ]", "shape.too_large", Place(1, 9)),
    ],
)
def test_each_fault_of_the_text_has_its_code_and_place(given: str | bytes, code: str, place: Place) -> None:
    _, problems = read(given)
    assert problems == [(code, place)]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_end_as_editors_end_them(newline: str) -> None:
    _, problems = read(newline.join(["# one", "a: 1", "b: !x 2", ""]))
    assert problems == [("shape.unknown_tag", Place(3, 4))]


def test_a_byte_order_mark_takes_no_column_and_stays_in_the_text() -> None:
    source, problems = read("\ufeffa: !x 1".encode())
    assert problems == [("shape.unknown_tag", Place(1, 4))]
    assert source.text.startswith("\ufeff")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("{ ask: Let it in?, to: guard }", {"ask": "Let it in?", "to": "guard"}),
        ("[ a?b, ?c, who ? x, x? ]", ("a?b", "?c", "who ? x", "x?")),
        ("{ at: 22:00, url: a:b }", {"at": "22:00", "url": "a:b"}),
        ("{ a: one\n  two?\n  three }", {"a": "one two? three"}),
    ],
)
def test_question_marks_inside_braces_are_text_as_in_yaml_1_2(written: str, value: object) -> None:
    source, problems = read(f"key: {written}\n")
    assert problems == []
    assert source.tree is not None
    assert plain(source.tree) == {"key": value}


@pytest.mark.parametrize("character", ["\x85", "\u2028", "\u2029"])
def test_a_break_that_only_some_readers_see_is_refused(character: str) -> None:
    assert read(f"# note{character}then: x\n")[1] == [("shape.encoding", Place(1, 7))]


def test_core_tags_and_anchors_are_read() -> None:
    source, problems = read('a: !!str 5\nb: &x [1, 2]\nc: *x\nd: !!int 7\ne: ! 5\nf: "<<"\n"<<": 1\n')
    assert problems == []
    assert source.tree is not None
    assert plain(source.tree) == {"a": "5", "b": (1, 2), "c": (1, 2), "d": 7, "e": "5", "f": "<<", "<<": 1}


def test_a_tag_that_its_value_contradicts_is_a_wrong_type() -> None:
    assert read("a: !!int x")[1] == [("shape.wrong_type", Place(1, 4))]


@pytest.mark.parametrize(
    ("limit", "options"), [(WORKFLOW_BYTES, {}), (BLUEPRINT_BYTES, {"most_bytes": BLUEPRINT_BYTES})]
)
def test_bytes_are_counted_before_anything_is_read(limit: int, options: dict[str, int]) -> None:
    fits, over = b"#" * limit, b"#" * (limit + 1)
    assert read(fits, **options)[1] == []
    source, problems = read(over, **options)
    assert problems == [("shape.too_large", Place(1, 1))]
    assert source.work == 0


def test_bytes_of_a_text_are_its_utf_8_bytes() -> None:
    assert read("#" + "é" * (WORKFLOW_BYTES // 2))[1] == [("shape.too_large", Place(1, 1))]


def test_sixty_four_levels_are_read_and_one_more_is_refused() -> None:
    fits = "[" * MOST_LEVELS + "]" * MOST_LEVELS
    assert read(fits)[1] == []
    assert read("[" + fits + "]")[1] == [("shape.too_large", Place(1, MOST_LEVELS + 1))]


def test_levels_are_counted_with_the_aliases_written_out() -> None:
    half = "[" * 40 + "x" + "]" * 40
    assert read(f"a: &a {half}\nb: {'[' * 20}*a{']' * 20}")[1] == []
    assert read(f"a: &a {half}\nb: {'[' * 30}*a{']' * 30}")[1][0][0] == "shape.too_large"


def laughs(levels: int, width: int) -> str:
    lines = ["a0: &a0 [" + ", ".join(["ha"] * width) + "]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [" + ", ".join([f"*a{level - 1}"] * width) + "]")
    return "\n".join(lines)


@pytest.mark.parametrize("text", [laughs(9, 10), laughs(60, 2), laughs(30, 400)])
def test_a_billion_laughs_are_refused_after_work_that_the_length_bounds(text: str) -> None:
    source, problems = read(text)
    assert [code for code, _ in problems] == ["shape.too_large"]
    assert source.tree is None
    assert source.work <= 3 * len(text)


def test_aliases_may_expand_up_to_the_bound() -> None:
    row = ", ".join(["x"] * 999)
    fits = f"a: &a [{row}]\n" + "".join(f"b{i}: *a\n" for i in range(MOST_NODES // 1000 - 2))
    assert read(fits)[1] == []
    assert read(fits + "c: *a\nd: *a\n")[1][0][0] == "shape.too_large"


@pytest.mark.parametrize("opening", ["[", "{", "- ", "? ", "[\n", "{a: ", "- - "])
def test_unclosed_depth_stops_at_the_limit(opening: str) -> None:
    text = (opening * WORKFLOW_BYTES)[:WORKFLOW_BYTES]
    source, problems = read(text)
    assert problems[-1][0] in ("shape.too_large", "shape.yaml")
    assert source.work <= 8 * MOST_LEVELS


@pytest.mark.parametrize("given", ["", "\n\n", "# only a comment\n", "---\n", "~", b"\xef\xbb\xbf"])
def test_an_empty_file_says_so(given: str | bytes) -> None:
    report = validate(given, REGISTRY)
    assert not report.ok
    assert report.document is None
    assert [problem.code for problem in report.problems] in (["shape.missing_key"], ["shape.wrong_type"])


def test_an_alias_is_shown_where_it_stands_and_its_inside_where_it_is_written() -> None:
    source, _ = read("a: &x { b: 1 }\nc: *x\n")
    assert source.tree is not None
    at = At(source.tree).get("c")
    assert at is not None
    inside = at.get("b")
    assert inside is not None
    assert (at.node.span.place, inside.place) == (Place(2, 4), Place(1, 9))


def test_an_input_of_a_blueprint_reads_as_its_value_where_it_stands() -> None:
    text = "name: R\nwhen:\n  doorbell: { cameras: !input where }\nthen:\n  - log: !input said\n"
    values: dict[str, Value] = {"where": ("porch",), "said": "at {plate}"}
    nothing: dict[str, Value] = {}
    report = validate(text, REGISTRY, resolve=values.__getitem__)
    assert [(p.code, p.place) for p in report.problems] == [("shape.unknown_placeholder", Place(5, 5))]
    assert [p.code for p in validate(text, REGISTRY).problems] == ["shape.unknown_tag", "shape.unknown_tag"]
    missing = validate(text, REGISTRY, resolve=nothing.__getitem__)
    assert missing.problems[0].code == "shape.missing_key"
