"""The trace: one row per model call, per tool call and per bound that was hit, the refused and the timed-out ones included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any

RESULT_CAP = 8_000
"""Characters of a result that a row keeps."""


class RowKind(StrEnum):
    """What a row is about. `limit`: a bound ended something."""

    LLM = "llm"
    TOOL = "tool"
    LIMIT = "limit"


class RowStatus(StrEnum):
    """What became of the call."""

    OK = "ok"
    FAILED = "failed"
    REFUSED = "refused"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One row. `args_asked` is what was asked for and `args_run` what ran (they differ where the host corrected or filled an argument);
    `result` is capped; `started_at` is seconds since 1970, `ms` how long it took, `wait_ms` how long of that it stood in a queue or waited for
    a person. `fault` is an `UnsureReason` where the call failed; `scores` are those of perception; `evidence`: the decision rests on it."""

    id: str
    kind: RowKind
    name: str
    status: RowStatus
    started_at: float
    ms: int
    args_asked: Mapping[str, Any] | None = None
    args_run: Mapping[str, Any] | None = None
    result: str = ""
    mode: str | None = None
    wait_ms: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str | None = None
    seed: int | None = None
    evidence: bool = False
    fault: str | None = None
    scores: Mapping[str, float] | None = None

    def as_row(self) -> dict[str, Any]:
        """The row as plain JSON."""
        return asdict(self)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> TraceRow:
        """A stored row again. Keys that this version does not know are left out; raises `ValueError` where one it needs is missing."""
        known = {f.name for f in fields(cls)}
        values = {key: value for key, value in row.items() if key in known}
        try:
            return cls(**{**values, "kind": RowKind(values["kind"]), "status": RowStatus(values["status"])})
        except (KeyError, TypeError) as error:
            raise ValueError(f"Not a trace row: {error}.") from error

    def cited(self) -> TraceRow:
        """The same row, as evidence of the decision."""
        return replace(self, evidence=True)


def capped(result: str) -> str:
    """`result` as a row keeps it, with a visible mark where it was cut."""
    clean = result.encode("utf-8", "replace").decode("utf-8")
    return clean if len(clean) <= RESULT_CAP else clean[: RESULT_CAP - 1] + "…"
