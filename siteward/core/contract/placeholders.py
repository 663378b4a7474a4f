"""Placeholders in texts: `{plate}`, `{look.reason}`, and `{{` `}}` for literal braces. One grammar for validator and engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from .document import Value

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Reference:
    """A placeholder: the name inside the braces and where its `{` stands in the text (from 0)."""

    name: str
    at: int


Template: TypeAlias = tuple["str | Reference", ...]
"""A text taken apart: literal pieces (braces already single) and references, in order. The empty text is the empty tuple."""


class BadPlaceholder(ValueError):
    """Braces that are neither a placeholder nor doubled. `at` is where, from 0."""

    def __init__(self, sentence: str, at: int) -> None:
        super().__init__(sentence)
        self.at = at


@lru_cache(maxsize=4096)
def parse_template(text: str) -> Template:
    """Take a text apart. Raises `BadPlaceholder`."""
    parts: list[str | Reference] = []
    literal: list[str] = []
    at = 0
    while at < len(text):
        mark = text[at]
        if mark not in "{}":
            end = _next_brace(text, at)
            literal.append(text[at:end])
            at = end
        elif text[at : at + 2] in ("{{", "}}"):
            literal.append(mark)
            at += 2
        else:
            reference, at = _reference(text, at)
            if literal:
                parts.append("".join(literal))
                literal.clear()
            parts.append(reference)
    if literal:
        parts.append("".join(literal))
    return tuple(parts)


def _next_brace(text: str, start: int) -> int:
    found = [at for at in (text.find("{", start), text.find("}", start)) if at >= 0]
    return min(found, default=len(text))


def _reference(text: str, at: int) -> tuple[Reference, int]:
    if text[at] == "}":
        raise BadPlaceholder("a single } is not a placeholder; write }} for a brace", at)
    end = text.find("}", at)
    if end < 0:
        raise BadPlaceholder("this { is never closed; write {{ for a brace", at)
    name = text[at + 1 : end]
    if not _NAME.fullmatch(name):
        raise BadPlaceholder(
            f"{{{name}}} is not a placeholder; write {{name}} or {{step_id.name}}, or {{{{ for a brace", at
        )
    return Reference(name, at), end + 1


def escape(text: str) -> str:
    """The text whose braces are all literal: `parse_template(escape(t))` is `t` itself."""
    return text.replace("{", "{{").replace("}", "}}")


def names_in(value: Value) -> tuple[str, ...]:
    """Every name that a value reads (a text, or texts inside lists and mappings, keys left alone), in order, each once.

    Raises `BadPlaceholder`.
    """
    if isinstance(value, str) and "{" not in value and "}" not in value:
        return ()
    return tuple(dict.fromkeys(_names(value)))


def _names(value: Value) -> Iterator[str]:
    if isinstance(value, str):
        yield from (part.name for part in parse_template(value) if isinstance(part, Reference))
    elif isinstance(value, tuple):
        for item in value:
            yield from _names(item)
    elif not isinstance(value, int | float | bool | None):
        for item in value.values():
            yield from _names(item)
