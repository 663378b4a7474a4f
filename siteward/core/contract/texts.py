"""Texts with placeholders: whether they are well formed, and whether something fills each name at this point."""

from __future__ import annotations

from .fixes import double_braces, set_to
from .names import Names
from .notes import listed, shown
from .placeholders import BadPlaceholder, Reference, escape, parse_template
from .problems import Fix
from .reading import Reading
from .tree import At, walk


def check_text(at: At, names: Names, reading: Reading) -> None:
    """Notes what is wrong with the placeholders of a text."""
    text = at.text
    if text is None or ("{" not in text and "}" not in text):
        return
    try:
        template = parse_template(text)
    except BadPlaceholder as error:
        sentence = str(error)
        reading.notes.error(
            "shape.bad_placeholder", sentence[0].upper() + sentence[1:] + ".", at, fixes=double_braces(at)
        )
        return
    unknown = {p.name: p for p in template if isinstance(p, Reference) and not names.knows(p.name)}
    for part in unknown.values():
        _unknown(at, text, part, names, reading)


def _unknown(at: At, text: str, part: Reference, names: Names, reading: Reading) -> None:
    known = names.all()
    near = reading.notes.nearest(part.name, known)
    hint = f" Did you mean {{{near}}}?" if near else ""
    told = f" Known here: {listed(known)}." if known else " Nothing is known here."
    braces = "{" + part.name + "}"
    fixes = _rewritten(at, text, part.name, near) if reading.notes.hints_left else ()
    reading.notes.error(
        "shape.unknown_placeholder", f"Nothing fills {shown(braces)} at this point.{hint}{told}", at, fixes=fixes
    )


def _rewritten(at: At, text: str, name: str, near: str | None) -> tuple[Fix, ...]:
    """The text with the nearest name in place of the unknown one, or with its braces literal."""
    new = "{" + near + "}" if near else escape("{" + name + "}")
    written = "".join(_written(part, name, new) for part in parse_template(text))
    return (set_to(at, written, f"Write {new}" if near else "Make the braces literal"),)


def _written(part: str | Reference, name: str, new: str) -> str:
    if isinstance(part, str):
        return escape(part)
    return new if part.name == name else "{" + part.name + "}"


def check_texts(at: At, names: Names, reading: Reading) -> None:
    """Notes what is wrong with the placeholders of every text in a value, keys left alone."""
    for path, node, entry in walk(at.node, at.path):
        here = At(node, path, entry if path != at.path else at.entry)
        if here.text is not None:
            check_text(here, names, reading)
