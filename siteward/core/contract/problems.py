"""What the validator says: problems with their places and one-click fixes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .codes import CODES
from .document import Document, Path, Place, Value


class Severity(StrEnum):
    """Errors refuse the file; warnings and infos do not."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class EditKind(StrEnum):
    """The edits that a fix is made of."""

    SET = "set"
    REMOVE = "remove"
    RENAME = "rename"
    INSERT = "insert"


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of the document: `set` the value at `path`; `remove` it; `rename` the key at `path` to `value`;
    `insert` `value` before index `path[-1]` of the list `path[:-1]` (or as a new key of a mapping)."""

    kind: EditKind
    path: Path
    value: Value = None


@dataclass(frozen=True, slots=True)
class Fix:
    """A named list of edits that the builder applies in one click. Applying it must not bring the same problem again."""

    title: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: a stable code, a sentence for a person, and its place."""

    code: str
    severity: Severity
    message: str
    path: Path
    place: Place
    fixes: tuple[Fix, ...] = ()

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"unknown problem code {self.code}")

    def as_dict(self) -> dict[str, Any]:
        """The JSON form of `siteward validate --json`."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "path": list(self.path),
            "line": self.place.line,
            "column": self.place.column,
            "fixes": [
                {
                    "title": fix.title,
                    "edits": [
                        {"kind": e.kind.value, "path": list(e.path), "value": _as_json(e.value)} for e in fix.edits
                    ],
                }
                for fix in self.fixes
            ],
        }


def _as_json(value: Value) -> Any:
    """A value of an edit as JSON takes it."""
    if isinstance(value, Mapping):
        return {key: _as_json(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_as_json(one) for one in value]
    return value


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a validation: the document where one could be made, and all problems sorted by place."""

    document: Document | None
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """True where nothing is an error."""
        return self.document is not None and not any(p.severity is Severity.ERROR for p in self.problems)
