"""Scalars as workflow.v1 reads and writes them.

YAML 1.2 core, narrowed so that a person, Python and a browser read the same thing: only `true` and `false` are booleans,
and what looks like a number but has a leading zero, an underscore or a colon (`010`, `1_000`, `22:00`) is text.
"""

from __future__ import annotations

import math
import re
from typing import Final

from .document import Scalar

_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_WORDS: Final = frozenset({"null", "true", "false"})
"""What other readers of YAML take for no text, in capitals too."""
_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_OCTAL: Final = re.compile(r"0o[0-7]+")
_HEX: Final = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_PLAIN: Final = re.compile(r"(?:\d+[smhd])+|[^\W\d][\w./-]*(?::[\w./-]+)*(?: [\w./-]+(?::[\w./-]+)*)*")
LARGEST_INTEGER: Final = 2**53 - 1
"""The largest integer that a browser reads exactly."""
_LONGEST_NUMBER: Final = 64


class NumberOutOfRange(ValueError):
    """A plain scalar that is written as a number which Python and a browser would read differently (or not at all)."""


def resolve_plain(text: str) -> Scalar:
    """The value of an unquoted scalar. Raises `NumberOutOfRange` for integers over 2**53 - 1, infinities and not-a-number."""
    if text in _NULL:
        return None
    if text == "true":
        return True
    if text == "false":
        return False
    if text[0] not in "+-.0123456789":
        return text
    return _number(text)


def _number(text: str) -> Scalar:
    if _NOT_FINITE.fullmatch(text):
        raise NumberOutOfRange(text)
    for pattern, radix in ((_INT, 10), (_OCTAL, 8), (_HEX, 16)):
        if pattern.fullmatch(text):
            return _bounded_integer(text, radix)
    if not _FLOAT.fullmatch(text):
        return text
    if len(text) > _LONGEST_NUMBER:
        raise NumberOutOfRange(text)
    number = float(text)
    if not math.isfinite(number):
        raise NumberOutOfRange(text)
    return number


def _bounded_integer(text: str, radix: int) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise NumberOutOfRange(text)
    digits = text if radix == 10 else text[2:]
    number = int(digits, radix)
    if abs(number) > LARGEST_INTEGER:
        raise NumberOutOfRange(text)
    return number


def write_scalar(value: Scalar) -> str:
    """`value` as YAML text that reads back as the same value, alone, in a flow list or as a key; quoted only where it must be."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _write_number(value)
    if _PLAIN.fullmatch(value) and value.isascii() and value.lower() not in _WORDS:
        return value
    return quote(value)


def quote(text: str) -> str:
    """`text` as a double-quoted YAML scalar on one line."""
    return '"' + "".join(map(_quoted, text)) + '"'


def _quoted(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character == "\n":
        return "\\n"
    if character.isprintable():
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _write_number(value: int | float) -> str:
    written = repr(value)
    mantissa, mark, exponent = written.partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else written
