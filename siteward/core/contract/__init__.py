"""workflow.v1: loading, validating, explaining and writing back a workflow file.

Pure data and functions on PyYAML (and nothing else of the project): the same code runs in the engine, the builder, an
external tool and a browser.
"""

from .explain import Explanation, explain
from .json_schema import to_json_schema
from .problems import Edit, EditKind, Fix, Problem, Report, Severity
from .text_edits import EditRefused, apply_edits
from .validate import load, validate
from .write_back import write_back

__all__ = [
    "Edit",
    "EditKind",
    "EditRefused",
    "Explanation",
    "Fix",
    "Problem",
    "Report",
    "Severity",
    "apply_edits",
    "explain",
    "load",
    "to_json_schema",
    "validate",
    "write_back",
]
