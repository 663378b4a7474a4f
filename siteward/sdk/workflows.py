"""Workflow files for authors and outside tools: the same code that the engine and the builder run.

    from siteward.sdk.workflows import default_registry, validate

    report = validate(text, default_registry())
    for problem in report.problems:
        print(problem.place.line, problem.code, problem.message)

Needs no host, no site and no network; it runs under WebAssembly as well.
"""

from siteward.core.contract import (
    Edit,
    EditKind,
    EditRefused,
    Explanation,
    Fix,
    Problem,
    Report,
    Severity,
    apply_edits,
    explain,
    load,
    to_json_schema,
    validate,
    write_back,
)
from siteward.core.contract.manifest_data import registry_from_manifests, shipped_registry
from siteward.core.contract.registry import Registry, SiteView


def default_registry() -> Registry:
    """The whole vocabulary of the shipped manifests with the default tool modes: what a file is checked against without a site."""
    return shipped_registry()


__all__ = [
    "Edit",
    "EditKind",
    "EditRefused",
    "Explanation",
    "Fix",
    "Problem",
    "Registry",
    "Report",
    "Severity",
    "SiteView",
    "apply_edits",
    "default_registry",
    "explain",
    "load",
    "registry_from_manifests",
    "to_json_schema",
    "validate",
    "write_back",
]
