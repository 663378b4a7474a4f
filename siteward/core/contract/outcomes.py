"""The outcomes that an author names: decisions, replies, and what may come of a call."""

from __future__ import annotations

from collections.abc import Iterable

from .fixes import as_list, as_text, remove
from .names import Names
from .notes import shown
from .reading import Reading, say_type
from .texts import check_text
from .tree import At

ALWAYS_RESERVED = frozenset({"unsure", "no_answer"})


def listed_outcomes(at: At | None) -> tuple[str, ...]:
    """The outcomes as far as they can be read, without a word on what is wrong."""
    if at is None or not at.is_list:
        return ()
    return tuple(dict.fromkeys(item.text for item in at.items() if item.text))


def check_outcomes(at: At, reserved: Iterable[str], names: Names, reading: Reading) -> None:
    """Notes what is wrong with a list of decisions, replies or outcomes."""
    if not at.is_list:
        reading.notes.error("shape.wrong_type", f"`{at.key}` takes a list, not {say_type(at)}.", at, fixes=as_list(at))
        return
    if not at.node.items:
        reading.notes.error("shape.empty_list", f"`{at.key}` is empty. Name one outcome at least.", at)
    taken = frozenset(reserved)
    seen: set[str] = set()
    for item in at.items():
        _check_outcome(at, item, taken, seen, names, reading)


def _check_outcome(at: At, item: At, taken: frozenset[str], seen: set[str], names: Names, reading: Reading) -> None:
    text = item.text
    if text is None:
        reading.notes.error(
            "shape.wrong_type", f"An outcome in `{at.key}` is text, not {say_type(item)}.", item, fixes=as_text(item)
        )
        return
    if not text.strip() or len(text) > 100:
        reading.notes.error("shape.bad_value", f"{shown(text)} is no name for an outcome. Write a short text.", item)
        return
    if text in seen:
        reading.notes.error(
            "outcome.duplicate", f"{shown(text)} is listed twice in `{at.key}`. Keep one.", item, fixes=(remove(item),)
        )
    elif text in ALWAYS_RESERVED or text in taken:
        _reserved(at, item, text, reading)
    else:
        check_text(item, names, reading)
    seen.add(text)


def _reserved(at: At, item: At, text: str, reading: Reading) -> None:
    if text in ALWAYS_RESERVED:
        told = f"{shown(text)} is always an outcome by itself where it can happen; take it off `{at.key}`."
        fixes = (remove(item, f"Take {text} off the list"),) if len(at.node.items) > 1 else ()
    else:
        told = f"{shown(text)} is a setting of this step, so it cannot be an outcome. Choose another word."
        fixes = ()
    reading.notes.error("outcome.reserved_name", told, item, fixes=fixes)
