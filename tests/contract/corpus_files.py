"""The corpus as the safety tests read it: text, and what its header expects."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from siteward.core.contract import load
from siteward.core.contract.document import Document
from siteward.core.contract.manifest_data import shipped_registry

CORPUS = Path(__file__).parent / "corpus"
_EXPECT = re.compile(r"^# (?:expect|warns): (\w+\.\w+) @ (\d+)", re.MULTILINE)
_MOVES = re.compile(r"^# moves: (\S+)", re.MULTILINE)
GROUPS = ("safety", "severity")
REGISTRY = shipped_registry()


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """One file: its name, its text, the problems of the safety and severity groups that it must get (code and line), the actions that it may move."""

    name: str
    text: str
    problems: frozenset[tuple[str, int]]
    moves: frozenset[str]
    fragment: bool

    def document(self) -> Document:
        """The file as the loader reads it, whatever the safety rules say of it."""
        return document_of(self.text, fragment=self.fragment)


def document_of(text: str, *, fragment: bool = False) -> Document:
    """The document of a text that has the right shape."""
    report = load(text, fragment=fragment, registry=REGISTRY)
    assert report.document is not None, [problem.message for problem in report.problems]
    return report.document


@cache
def corpus(folder: str) -> tuple[CorpusFile, ...]:
    """The files of a folder that a reader of text can read."""
    return tuple(found for path in sorted((CORPUS / folder).glob("*.yaml")) if (found := _read(path)) is not None)


def refused_by_safety() -> tuple[CorpusFile, ...]:
    """The refused files whose only errors are of the safety group."""
    return tuple(
        file
        for file in corpus("refused")
        if file.problems and all(code.startswith("safety.") for code, _ in file.problems)
    )


def _read(path: Path) -> CorpusFile | None:
    sidecar = path.with_suffix(".expect")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None
    header = sidecar.read_text(encoding="utf-8") if sidecar.exists() else text
    problems = frozenset((code, int(line)) for code, line in _EXPECT.findall(header) if code.split(".")[0] in GROUPS)
    return CorpusFile(path.stem, text, problems, frozenset(_MOVES.findall(header)), "options: fragment" in header)
