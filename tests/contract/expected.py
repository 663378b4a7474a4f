"""The whole corpus as its headers describe it: bytes, and every problem that must be reported."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
_LINE = re.compile(r"^# (expect|warns): (\w+\.\w+) @ (\d+)\s*$", re.MULTILINE)
_WHY = re.compile(r"^# why: (.+)$", re.MULTILINE)
_MOVES = re.compile(r"^# moves: (\S+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Expected:
    """A corpus file: `errors` and `warnings` as sorted (line, code), the actions it may move."""

    name: str
    data: bytes
    why: str
    errors: tuple[tuple[int, str], ...]
    warnings: tuple[tuple[int, str], ...]
    moves: frozenset[str]
    fragment: bool

    @property
    def text(self) -> str | None:
        """The file as text, None where it is none."""
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError:
            return None


@cache
def files(folder: str) -> tuple[Expected, ...]:
    """The files of `refused` or `accepted`, in order."""
    return tuple(_read(path) for path in sorted((CORPUS / folder).glob("*.yaml")))


def _read(path: Path) -> Expected:
    data = path.read_bytes()
    sidecar = path.with_suffix(".expect")
    header = sidecar.read_text(encoding="utf-8") if sidecar.exists() else data.decode("utf-8")
    said = _LINE.findall(header)
    why = _WHY.search(header)
    return Expected(
        path.stem,
        data,
        why[1] if why else "",
        tuple(sorted((int(line), code) for kind, code, line in said if kind == "expect")),
        tuple(sorted((int(line), code) for kind, code, line in said if kind == "warns")),
        frozenset(_MOVES.findall(header)),
        "# options: fragment" in header,
    )
