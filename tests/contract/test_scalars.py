"""Scalars: one reading for people, Python and a browser."""

from __future__ import annotations

import math

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from siteward.core.contract.notes import Notes
from siteward.core.contract.places import read_tree
from siteward.core.contract.scalars import LARGEST_INTEGER, NumberOutOfRange, resolve_plain, write_scalar
from siteward.core.contract.tree import plain


@pytest.mark.parametrize(
    "text",
    ["Yes", "No", "yes", "no", "on", "off", "On", "OFF", "True", "FALSE", "y", "n", "22:00", "1:30", "010", "-010", "007",
     "1_000", "2026-01-01", "2026-01-01T10:00:00Z", "0b11", "0o8", "0xZZ", "1.2.3", "1e", "e5", "+", "-", ".", "..", "12 ",
     "=", "30s", "1h30m", "~later", "nulls", "190:20:30", "+.5x"],
)  # fmt: skip
def test_what_only_looks_like_something_else_is_text(text: str) -> None:
    assert resolve_plain(text) == text
    assert isinstance(resolve_plain(text), str)


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("false", False), ("0", 0), ("-0", 0), ("7", 7), ("+7", 7), ("-7", -7), ("0o17", 15), ("0x1F", 31),
     ("1.5", 1.5), (".5", 0.5), ("-1.5e3", -1500.0), ("1e3", 1000.0), ("1.", 1.0), ("0.75", 0.75),
     ("", None), ("~", None), ("null", None), ("Null", None), ("NULL", None),
     (str(LARGEST_INTEGER), LARGEST_INTEGER)],
)  # fmt: skip
def test_core_scalars_have_their_values(text: str, value: object) -> None:
    assert resolve_plain(text) == value
    assert type(resolve_plain(text)) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        str(LARGEST_INTEGER + 1),
        "9" * 5000,
        "-" + "9" * 30,
        "0x" + "F" * 20,
        "1e999",
        ".inf",
        "-.INF",
        ".nan",
        "1." + "0" * 100,
    ],
)
def test_numbers_that_a_browser_reads_differently_are_refused(text: str) -> None:
    with pytest.raises(NumberOutOfRange):
        resolve_plain(text)


def read_one(written: str) -> object:
    notes = Notes()
    tree = read_tree(f"key: {written}\n", notes).tree
    assert tree is not None
    assert not notes.has_errors
    entry = tree.entry("key")
    assert entry is not None
    return plain(entry.value)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@settings(max_examples=200, deadline=None, database=None)
@given(
    TEXTS
    | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none()
)
def test_what_is_written_reads_back_as_the_same_value(value: str | int | float | bool | None) -> None:
    back = read_one(write_scalar(value))
    assert back == value
    assert type(back) is type(value)
    if isinstance(value, float):
        assert math.copysign(1, value) == math.copysign(1, float(str(back)))


@settings(max_examples=100, deadline=None, database=None)
@given(TEXTS)
def test_written_texts_mean_the_same_to_a_yaml_1_1_reader(value: str) -> None:
    assert yaml.safe_load(write_scalar(value)) == value or write_scalar(value) in {"y", "n", "Y", "N"} | YAML_1_1_WORDS


YAML_1_1_WORDS = {word for one in ("yes", "no", "on", "off") for word in (one, one.title(), one.upper())}


def test_keys_are_always_text() -> None:
    notes = Notes()
    tree = read_tree("{ Yes: 1, 22:00: 2, 010: 3, 1: 4, true: 5, ~: 6, 2026-01-01: 7 }", notes).tree
    assert tree is not None
    assert [entry.key for entry in tree.entries] == ["Yes", "22:00", "010", "1", "true", "~", "2026-01-01"]


@pytest.mark.parametrize("text", ["TRUE", "True", "FALSE", "False", "NULL", "Null"])
def test_a_word_that_another_reader_takes_for_a_boolean_is_written_in_quotes(text: str) -> None:
    assert write_scalar(text) == f'"{text}"'
    assert yaml.safe_load(write_scalar(text)) == text


def test_durations_are_written_bare_and_times_in_quotes() -> None:
    assert [write_scalar(text) for text in ("30s", "1h30m", "22:00", "010", "role:guard", "Let in", "true", "a: b")] == [
        "30s", "1h30m", '"22:00"', '"010"', "role:guard", "Let in", '"true"', '"a: b"',
    ]  # fmt: skip
