"""Evaluation: models over labelled cases, with figures that say how little they know."""

from .calibrate import file_of, read_tables, tables_of, write_tables
from .cases import Case, CaseSet, held_out, load_cases
from .command import cli_eval, shipped_cases
from .report import confusion, print_report, to_json
from .run import Answer, CaseResult, Evaluation, group, run_eval

__all__ = [
    "Answer",
    "Case",
    "CaseResult",
    "CaseSet",
    "Evaluation",
    "cli_eval",
    "confusion",
    "file_of",
    "group",
    "held_out",
    "load_cases",
    "print_report",
    "read_tables",
    "run_eval",
    "shipped_cases",
    "tables_of",
    "to_json",
    "write_tables",
]
