"""Texts with placeholders: whether they are well formed, and whether something fills each name at this point."""

from __future__ import annotations

from .fixes import double_braces, set_to
from .names import Names
from .notes import listed, shown
from .placeholders import BadPlaceholder, Reference, parse_template
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
        reading.notes.error("shape.bad_placeholder", sentence[0].upper() + sentence[1:] + ".", at, fixes=double_braces(at))
        return
    for part in template:
        if isinstance(part, Reference) and not names.knows(part.name):
            _unknown(at, text, part, names, reading)


def _unknown(at: At, text: str, part: Reference, names: Names, reading: Reading) -> None:
    known = names.all()
    near = reading.notes.nearest(part.name, known)
    hint = f" Did you mean {{{near}}}?" if near else ""
    told = f" Known here: {listed(known)}." if known else " Nothing is known here."
    braces = "{" + part.name + "}"
    end = part.at + len(braces)
    fixes: tuple[Fix, ...] = ()
    if near:
        fixes = (set_to(at, text[: part.at] + "{" + near + "}" + text[end:], f"Write {{{near}}}"),)
    elif text.count(braces) == 1:
        fixes = (set_to(at, text[: part.at] + "{" + braces + "}" + text[end:], "Make it literal braces"),)
    reading.notes.error(
        "shape.unknown_placeholder", f"Nothing fills {shown(braces)} at this point.{hint}{told}", at, fixes=fixes
    )


def check_texts(at: At, names: Names, reading: Reading) -> None:
    """Notes what is wrong with the placeholders of every text in a value, keys left alone."""
    for path, node, entry in walk(at.node, at.path):
        here = At(node, path, entry if path != at.path else at.entry)
        if here.text is not None:
            check_text(here, names, reading)


def has_placeholder(text: str) -> bool:
    """Whether a text reads anything (a malformed text reads nothing)."""
    try:
        return any(isinstance(part, Reference) for part in parse_template(text))
    except BadPlaceholder:
        return False
