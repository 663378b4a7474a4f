"""From trace rows to a decision: votes, confidence, floor. Pure, so that a recorded run can be read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .confidence import MAJORITY_DRAWS, Tables, fact_of, score_of, tally, unknown_citations
from .decision import UNSURE, ConfidenceSource, Decision, DecisionSpec, Reading, Uncalibrated, UnsureReason
from .fields import Malformed
from .trace import RowKind, TraceRow

CAP_BELOW_FLOOR = 0.01
"""How far below the floor a confidence is capped whose reason rests on nothing."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The decision, and the rows with those marked that it rests on."""

    decision: Decision
    rows: tuple[TraceRow, ...]


@dataclass(frozen=True, slots=True)
class _Measured:
    confidence: float | None
    source: ConfidenceSource
    raw: float | None
    calibrated: bool


def conclude(
    spec: DecisionSpec,
    rows: Sequence[TraceRow],
    tables: Tables,
    *,
    deterministic: bool,
    read: Mapping[str, Reading] | None = None,
) -> Conclusion:
    """What these rows decide. The vote is over the resulting decision (after rules); a draw without a usable answer counts against agreement.
    `read` are readings that the caller has already, by row; they are what reading the row again would give."""
    drawn = _draws(spec, rows, read or {})
    readings = [found for found in drawn.values() if found is not None]
    if not readings:
        return Conclusion(_nothing(rows), tuple(rows))
    votes = tally([found[1].decision if found else None for found in drawn.values()])
    if votes.winner is None:
        return Conclusion(_split(readings[0][1], votes.share, len(drawn)), tuple(rows))
    for_it = [(row, reading) for row, reading in readings if reading.decision == votes.winner]
    row, reading = for_it[0]
    cited = {one.id for one, _ in for_it}
    marked = tuple(one.cited() if one.id in cited else one for one in rows)
    measured = _measure(spec, reading, row, votes.share, len(drawn), tables, deterministic)
    return Conclusion(_decide(spec, reading, measured, marked), marked)


def _draws(
    spec: DecisionSpec, rows: Sequence[TraceRow], read: Mapping[str, Reading]
) -> dict[int, tuple[TraceRow, Reading] | None]:
    """Per draw the row that could be read, or None."""
    drawn: dict[int, tuple[TraceRow, Reading] | None] = {}
    for row in rows:
        if row.kind is not RowKind.LLM:
            continue
        number = _number(row.args_asked)
        drawn.setdefault(number, None)
        if row.fault is not None:
            continue
        try:
            drawn[number] = (row, read.get(row.id) or spec.read(row.result))
        except Malformed:
            continue
    return drawn


def _split(reading: Reading, share: float, draws: int) -> Decision:
    """The draws are tied: which one came first must not decide."""
    measured = draws >= MAJORITY_DRAWS
    return Decision(
        UNSURE,
        fields=reading.fields,
        reason=reading.reason,
        confidence=share if measured else None,
        confidence_source=ConfidenceSource.AGREEMENT if measured else ConfidenceSource.NOT_MEASURED,
        raw=share,
        unsure_reason=UnsureReason.BELOW_FLOOR,
    )


def _measure(
    spec: DecisionSpec, reading: Reading, row: TraceRow, share: float, draws: int, tables: Tables, deterministic: bool
) -> _Measured:
    table = tables.step
    if deterministic:
        raw = score_of(row.scores, reading.read)
        precision = table.precision(reading.decision, raw) if raw is not None else None
        if precision is None:
            asked = [name for name in reading.read if name in spec.fields]
            facts = {name: fact_of(spec.fields[name], reading.fields[name]) for name in asked}
            precision = tables.of_facts(facts, row.scores or {})
        return _Measured(precision, ConfidenceSource.SCORE, raw, precision is not None)
    if draws < MAJORITY_DRAWS:
        precision = table.precision(reading.decision, None)
        return _Measured(precision, ConfidenceSource.PRECISION, None, precision is not None)
    precision = table.precision(reading.decision, share)
    return _Measured(
        share if precision is None else precision, ConfidenceSource.AGREEMENT, share, precision is not None
    )


def _decide(spec: DecisionSpec, reading: Reading, measured: _Measured, rows: tuple[TraceRow, ...]) -> Decision:
    source = measured.source if measured.confidence is not None else ConfidenceSource.NOT_MEASURED
    decision = Decision(
        reading.decision,
        fields=reading.fields,
        reason=reading.reason,
        confidence=measured.confidence,
        confidence_source=source,
        raw=measured.raw,
        calibrated=measured.calibrated,
        self_reported=reading.self_reported,
        rule=reading.rule,
        evidence=tuple(row.id for row in rows if row.evidence),
    )
    if reading.decision == UNSURE:
        return _unsure(decision, UnsureReason.NO_RULE if reading.no_rule else None, None)
    if unknown_citations(reading.reason, (row.id for row in rows)):
        capped = (
            None if measured.confidence is None else min(measured.confidence, max(spec.floor - CAP_BELOW_FLOOR, 0.0))
        )
        weak = replace(decision, confidence=capped, confidence_source=ConfidenceSource.EVIDENCE)
        return _unsure(weak, UnsureReason.NO_EVIDENCE, reading.decision)
    reached = (
        spec.uncalibrated is Uncalibrated.RUN if measured.confidence is None else measured.confidence >= spec.floor
    )
    return decision if reached else _unsure(decision, UnsureReason.BELOW_FLOOR, reading.decision)


def _unsure(decision: Decision, reason: UnsureReason | None, proposed: str | None) -> Decision:
    return replace(decision, decision=UNSURE, unsure_reason=reason, proposed=proposed)


def _nothing(rows: Sequence[TraceRow]) -> Decision:
    """No usable answer at all: the last row that says why decides the reason."""
    last = next((row for row in reversed(rows) if row.fault is not None), None)
    if last is None or last.fault is None:
        return Decision(UNSURE, reason="The step has no row to decide on.", unsure_reason=UnsureReason.ERROR)
    fault = UnsureReason(last.fault)
    words = (
        "The model's answer could not be used."
        if fault is UnsureReason.INVALID_OUTPUT and last.kind is RowKind.LLM
        else last.result
    )
    return Decision(UNSURE, reason=words, unsure_reason=fault)


def _number(asked: Mapping[str, object] | None) -> int:
    draw = (asked or {}).get("draw", 0)
    return draw if isinstance(draw, int) else 0
