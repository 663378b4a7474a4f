"""What is worked out once for each piece of a document. Documents are never changed, and hold mappings, so they are known by identity."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Final, TypeVar

_A = TypeVar("_A")
_R = TypeVar("_R")

MOST: Final = 10_000
"""Pieces that one function remembers; then it begins anew."""


def remembered(work: Callable[[_A], _R]) -> Callable[[_A], _R]:
    """`work`, a function of one immutable object and nothing else, done once for each."""
    # The object is held beside the answer, so that its identity is not given to another one.
    kept: dict[int, tuple[_A, _R]] = {}

    @wraps(work)
    def once(of: _A) -> _R:
        found = kept.get(id(of))
        if found is not None:
            return found[1]
        if len(kept) >= MOST:
            kept.clear()
        answer = work(of)
        kept[id(of)] = (of, answer)
        return answer

    return once
