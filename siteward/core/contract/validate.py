"""`load` and `validate`: a file in, a Report out. Pure: no I/O, no clock, nothing of the host."""

from __future__ import annotations

from typing import Final

from . import flow, safety, severity
from .notes import Notes, sort_problems
from .places import BLUEPRINT_BYTES, WORKFLOW_BYTES, read_tree
from .problems import Report, Severity
from .reading import Reading
from .registry import Registry, SiteView
from .resolve import Resolve
from .shape import read_document

_FLOW_UNKNOWN: Final = frozenset(
    {
        "skill.unknown_trigger",
        "skill.unknown_step",
        "skill.unknown_condition",
        "shape.no_trigger",
        "shape.several_triggers",
        "shape.no_kind",
        "shape.two_kinds",
        "shape.duplicate_key",
        "shape.merge_key",
        "shape.too_large",
        "outcome.duplicate_lane",
    }
)
"""With one of these a part of the file was left out, and what may follow what is not known: judging safety would guess."""


def load(text: str | bytes, *, fragment: bool = False, registry: Registry) -> Report:
    """The document with its shape problems only: a file that was validated before is read again. Never raises for its text."""
    return _read(text, registry, site=None, resolve=None, fragment=fragment)


def validate(
    text: str | bytes,
    registry: Registry,
    site: SiteView | None = None,
    resolve: Resolve | None = None,
    fragment: bool = False,
) -> Report:
    """Every problem of a file, sorted by place, with the document where one could be made. Never raises for its text.

    `site` adds what only a site knows: mapping, visible cameras, caps, tool modes, impossible dates of a cron. `resolve` gives the
    inputs of a blueprint, which is then judged as instantiated. `fragment` reads a file that begins at `then:`.
    """
    report = _read(text, registry, site=site, resolve=resolve, fragment=fragment)
    document = report.document
    if document is None or any(problem.code in _FLOW_UNKNOWN for problem in report.problems):
        return report
    analysed = flow.analyse(document, registry, site)
    found = [
        *safety.check(document, registry, site, flow=analysed),
        *severity.check(document, registry, site, flow=analysed),
    ]
    refused = {problem.path for problem in report.problems if problem.severity is Severity.ERROR}
    judged = [problem for problem in found if problem.path not in refused]  # a refused value is not judged further
    return Report(document, tuple(sort_problems([*report.problems, *judged])))


def _read(
    text: str | bytes, registry: Registry, *, site: SiteView | None, resolve: Resolve | None, fragment: bool
) -> Report:
    notes = Notes()
    most = BLUEPRINT_BYTES if resolve is not None else WORKFLOW_BYTES
    source = read_tree(text, notes, most_bytes=most, resolve=resolve)
    reading = Reading(registry, notes, site)
    document = read_document(source.tree, source.text, reading, fragment=fragment, blueprint=resolve is not None)
    return Report(document, notes.sorted())
