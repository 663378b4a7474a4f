"""The severity cap: what AI leads to is raised as medium until its trust is earned, and never as critical."""

from __future__ import annotations

from typing import Final

from .document import Document, Path
from .flow import Flow, Visit, analyse
from .flow_conditions import names_read
from .problems import Edit, EditKind, Fix, Problem, Severity
from .registry import Registry, SiteView
from .safety_guards import lifts_cap

CAP: Final = "medium"
UNCAPPED: Final = ("low", "medium")


def check(
    document: Document, registry: Registry, site: SiteView | None = None, *, flow: Flow | None = None
) -> list[Problem]:
    """Alerts above medium that AI leads to: a warning for high, an error for critical or for a severity that AI fills."""
    flow = flow if flow is not None else analyse(document, registry, site)
    found: dict[Path, Problem] = {}
    for visit in flow.visits:
        if visit.step.kind == "alert" and not lifts_cap(visit.point):
            problem = _capped(document, visit)
            if problem is not None:
                found.setdefault(problem.path, problem)
    return list(found.values())


def _capped(document: Document, visit: Visit) -> Problem | None:
    severity = visit.step.settings.get("severity", CAP)
    if severity in UNCAPPED:
        return None
    path: Path = (*visit.step.path, "alert", "severity")
    fix = Fix("Raise it as medium", (Edit(EditKind.SET, path, CAP),))
    if severity == "critical" or names_read(severity):
        message = (
            "AI leads to this alert, and critical always needs a person's reply after the AI or an If on the trigger's identity. "
            "Ask a person first, or write `severity: medium`."
        )
        return Problem("severity.critical", Severity.ERROR, message, path, document.place_of(path), (fix,))
    message = (
        f"AI leads to this alert, so it is raised as medium until this lane has earned {severity} by marked runs. "
        "A person's reply after the AI lifts the cap."
    )
    return Problem("severity.capped", Severity.WARNING, message, path, document.place_of(path), (fix,))
