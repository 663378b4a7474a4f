"""The report of an evaluation: figures for the seen and the held-out half, as data, and as tables for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from siteward.core.agent import UNSURE

from .run import CaseResult, Evaluation, fact_is_right, group
from .statistics import Share, auroc, brier, majority, percentile, share_of

GROUPS = (("seen", False), ("held-out", True), ("all", None))


def to_json(evaluation: Evaluation) -> dict[str, Any]:
    """The whole report as plain JSON."""
    groups = {name: _figures(group(evaluation.results, held_out=held)) for name, held in GROUPS}
    return {
        "cases": evaluation.case_set.name,
        "model": evaluation.model,
        "model_digest": evaluation.model_digest,
        "repeats": evaluation.repeats,
        "groups": groups,
        "confusion": confusion(group(evaluation.results, held_out=True)),
        "results": [_result(one) for one in evaluation.results],
    }


def confusion(results: Sequence[CaseResult]) -> dict[str, dict[str, int]]:
    """Expected to said to how often."""
    table: dict[str, Counter[str]] = {}
    for one in results:
        table.setdefault(one.case.label, Counter())[one.said] += 1
    return {label: dict(sorted(row.items())) for label, row in sorted(table.items())}


def _figures(results: Sequence[CaseResult]) -> dict[str, Any]:
    answers = [answer for one in results for answer in one.answers]
    marked = [(answer.confidence, answer.right) for answer in answers if answer.confidence is not None]
    acted = [one for one in results if one.acted]
    times = [answer.ms for answer in answers]
    return {
        "cases": len(results),
        "accuracy": asdict(share_of(sum(one.right for one in results), len(results))),
        "majority_class": asdict(majority([one.case.label for one in results])),
        "right_when_it_acted": asdict(share_of(sum(one.right for one in acted), len(acted))),
        "unsure": asdict(share_of(sum(answer.acted == UNSURE for answer in answers), len(answers))),
        "steady": asdict(share_of(sum(len({a.said for a in one.answers}) == 1 for one in results), len(results))),
        "fields": _fields(results),
        "auroc": auroc(marked),
        "brier": brier(marked),
        "measured": len(marked),
        "ms_p50": percentile(times, 0.5),
        "ms_p95": percentile(times, 0.95),
    }


def _fields(results: Sequence[CaseResult]) -> dict[str, Any]:
    names = sorted({name for one in results for name in one.case.fields})
    figures: dict[str, Any] = {}
    for name in names:
        marks = [fact_is_right(one.case, name, answer.fields.get(name)) for one in results for answer in one.answers]
        figures[name] = asdict(share_of(sum(m is True for m in marks), sum(m is not None for m in marks)))
    return figures


def _result(one: CaseResult) -> dict[str, Any]:
    return {
        "id": one.case.id,
        "held_out": one.case.held_out,
        "hard": one.case.hard,
        "expected": one.case.label,
        "said": one.said,
        "right": one.right,
        "answers": [
            {
                "acted": answer.acted,
                "confidence": answer.confidence,
                "raw": answer.raw,
                "unsure_reason": answer.unsure_reason,
                "reason": answer.reason,
                "ms": round(answer.ms),
                "fields": dict(answer.fields),
            }
            for answer in one.answers
        ],
    }


def print_report(evaluation: Evaluation, console: Console) -> None:
    """The figures, the confusion table of the held-out half, and the cases that went wrong."""
    table = Table(title=f"{evaluation.case_set.name} with {evaluation.model} ({evaluation.model_digest[:12]})")
    for column in (
        "",
        "cases",
        "accuracy (95 %)",
        "majority class",
        "right when it acted",
        "unsure",
        "AUROC / Brier",
        "p50 / p95 ms",
    ):
        table.add_column(column)
    for name, held in GROUPS:
        figures = _figures(group(evaluation.results, held_out=held))
        table.add_row(
            name,
            str(figures["cases"]),
            _percent(figures["accuracy"]),
            _percent(figures["majority_class"], interval=False),
            _percent(figures["right_when_it_acted"]),
            _percent(figures["unsure"], interval=False),
            f"{_figure(figures['auroc'], 2)} / {_figure(figures['brier'], 2)}",
            f"{_figure(figures['ms_p50'], 0)} / {_figure(figures['ms_p95'], 0)}",
        )
    console.print(table)
    console.print(_confusion_table(group(evaluation.results, held_out=True)))
    wrong = Table(title="Wrong (said instead)")
    for column in ("case", "half", "hard", "expected", "said"):
        wrong.add_column(column)
    for one in evaluation.results:
        if not one.right:
            wrong.add_row(
                one.case.id, "held-out" if one.case.held_out else "seen", one.case.hard, one.case.label, one.said
            )
    console.print(wrong)


def _confusion_table(results: Sequence[CaseResult]) -> Table:
    rows = confusion(results)
    said = sorted({word for row in rows.values() for word in row})
    table = Table(title="Held-out: expected, across what was said")
    table.add_column("expected")
    for word in said:
        table.add_column(word, justify="right")
    for label, row in rows.items():
        table.add_row(label, *(str(row.get(word, "")) for word in said))
    return table


def _figure(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _percent(figure: dict[str, Any], *, interval: bool = True) -> str:
    share = Share(**figure)
    if share.share is None or share.low is None or share.high is None:
        return "-"
    text = f"{share.share:.0%} ({share.right} of {share.total})"
    return f"{text}, {share.low:.0%} to {share.high:.0%}" if interval else text
