"""Statements as the engine writes them (`:name`, one text for every database) into what a driver takes: marks by position, and values in order."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, NamedTuple

Params = Mapping[str, Any]
NO_PARAMS: Final[Params] = {}
STATEMENTS: Final = 1024
"""Texts that are kept translated: more than the engine has; what is made of a changing text falls out again."""
_TOKEN: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|::|:([A-Za-z_]\w*)")


IN_TURN: Final = "SELECT pg_advisory_xact_lock(7483921)"
"""Of several processes on a PostgreSQL one writes at a time, until it has committed. Taken by what changes rows that others change too, in no order
that all keep: without it they would block each other in circles, and the server takes a second to notice. A transaction with a rider that has it
at its beginning takes the lock before all else."""


class Op(NamedTuple):
    """One statement with named parameters (`:name`), that SQLite and PostgreSQL both understand. `expect` is the number of rows that it must
    touch, else its rider lost its race."""

    sql: str
    params: Params = NO_PARAMS
    expect: int | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A translated text. `values` puts a statement's parameters in the order of its marks; a missing one raises `KeyError`."""

    text: str
    names: tuple[str, ...]
    values: Callable[[Params], tuple[Any, ...]]


@lru_cache(STATEMENTS)
def question_marks(sql: str) -> Statement:
    """Marks as SQLite's driver takes them fastest: `?`, one for each place."""
    names: list[str] = []

    def mark(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        names.append(found[1])
        return "?"

    text = _TOKEN.sub(mark, sql)
    return Statement(text, tuple(names), _values_of(names))


@lru_cache(STATEMENTS)
def numbered_marks(sql: str) -> Statement:
    """PostgreSQL's own marks: `$1`, one for each name, so that a name has one type wherever it stands."""
    names: list[str] = []

    def mark(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        if found[1] not in names:
            names.append(found[1])
        return f"${names.index(found[1]) + 1}"

    text = _TOKEN.sub(mark, sql)
    return Statement(text, tuple(names), _values_of(names))


def _values_of(names: list[str]) -> Callable[[Params], tuple[Any, ...]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda params: tuple(params[name] for name in names)
