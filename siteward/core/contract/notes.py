"""The problems found so far. All of them in one pass; hints cost work, so only the first hundred problems carry them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .document import Path, Place
from .nearest import nearest
from .problems import Fix, Problem, Severity
from .tree import At

_MOST_HINTS: Final = 100
_MOST_LISTED: Final = 24


class Notes:
    """Collects problems."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []
        self._hints_left = _MOST_HINTS

    def error(
        self, code: str, message: str, at: At | None = None, *, place: Place | None = None, fixes: Iterable[Fix] = ()
    ) -> None:
        """Notes an error at `at` (or at a bare `place`, before there is a tree)."""
        self.add(Severity.ERROR, code, message, at, place=place, fixes=fixes)

    def warning(self, code: str, message: str, at: At, *, fixes: Iterable[Fix] = ()) -> None:
        """Notes something that does not refuse the file."""
        self.add(Severity.WARNING, code, message, at, fixes=fixes)

    def info(self, code: str, message: str, at: At) -> None:
        """Notes a fact about the file."""
        self.add(Severity.INFO, code, message, at)

    def add(
        self,
        severity: Severity,
        code: str,
        message: str,
        at: At | None,
        *,
        place: Place | None = None,
        fixes: Iterable[Fix] = (),
    ) -> None:
        """Notes a problem."""
        if at is not None and at.node.opaque:
            return  # its tag has been noted, and what it stands for is not known
        path: Path = at.path if at else ()
        where = place or (at.place if at else Place(1, 1))
        self._problems.append(Problem(code, severity, message, path, where, tuple(fixes)))

    def duplicate_key(self, key: str, place: Place) -> None:
        """Notes a key that stands twice in its mapping."""
        self.error(
            "shape.duplicate_key", f"The key {shown(key)} stands twice in this mapping. Keep one of them.", place=place
        )

    def nearest(self, name: str, known: Iterable[str]) -> str | None:
        """The known name that was probably meant, while hints are left."""
        if self._hints_left <= 0:
            return None
        self._hints_left -= 1
        return nearest(name, known)

    @property
    def has_errors(self) -> bool:
        """True where an error has been noted."""
        return any(problem.severity is Severity.ERROR for problem in self._problems)

    @property
    def count(self) -> int:
        """How many problems have been noted."""
        return len(self._problems)

    @property
    def hints_left(self) -> bool:
        """Whether work on hints and costly fixes is still worth it."""
        return self._hints_left > 0

    def sorted(self) -> tuple[Problem, ...]:
        """All problems by place."""
        return tuple(sort_problems(self._problems))


def sort_problems(problems: Iterable[Problem]) -> list[Problem]:
    """Problems by place, then code; the same problem at the same path once."""
    unique = {(p.code, p.path, p.place, p.message): p for p in problems}
    return sorted(unique.values(), key=lambda p: (p.place.line, p.place.column, p.code, p.message))


def shown(name: object) -> str:
    """A name of the file in a sentence, shortened, its odd characters visible."""
    text = str(name)
    short = text if len(text) <= 60 else text[:57] + "…"
    if short.isascii() and short.isprintable():
        return f"`{short}`"
    marks = {f"U+{ord(c):04X}" for c in short if not (c.isascii() and c.isprintable())}
    printable = "".join(c if c.isprintable() else "�" for c in short)
    return f"`{printable}` (with {', '.join(sorted(marks)[:4])})"


def listed(names: Iterable[str]) -> str:
    """Names in a sentence: `a`, `b` and `c`."""
    ordered = sorted(set(names))
    more = len(ordered) - _MOST_LISTED
    quoted = [f"`{name}`" for name in ordered[:_MOST_LISTED]]
    if more > 0:
        quoted.append(f"{more} more")
    if len(quoted) <= 1:
        return "".join(quoted)
    return ", ".join(quoted[:-1]) + " and " + quoted[-1]
