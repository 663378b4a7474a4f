"""`manifest.yaml`: what an integration is, needs and provides, read and checked before any of its code runs.

Top level: `domain, name, version` (required), `siteward` (the host versions that it works with), `description, documentation, codeowners,
iot_class, requirements` (`siteward[vision]` names an extra), `dependencies, after_dependencies, config_flow` (it works only when
configured), `single_instance`, `replicas` (of several engine processes `one` sets it up, by a lease, where nothing is said; `each` does where its
source gives every message to one of them), `scopes, egress, icon`, `provides`, and in the host's own manifests `skills`: the vocabulary that integrations
provide with `{name: gate.open, skill: true}`. The entries are described in `manifest_entries`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import voluptuous as vol
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from siteward.core.contract.document import Path, Place
from siteward.core.contract.manifest_data import thawed
from siteward.core.contract.nearest import nearest
from siteward.core.contract.notes import Notes
from siteward.core.contract.places import read_tree
from siteward.core.contract.tree import Node, child
from siteward.core.errors import ConfigurationInvalid

from .manifest_entries import PROVIDES, SCOPES, known_keys, matching, one_of, text, texts

IOT_CLASSES: Final = ("local_push", "local_polling", "cloud_push", "cloud_polling", "calculated", "assumed_state")
_NAMED_AFTER_DOMAIN: Final = ("triggers", "conditions", "actions", "step_kinds", "models", "cameras", "lines")


class Replicas(StrEnum):
    """Which of the engine processes of a site set an integration up."""

    ONE = "one"
    EACH = "each"


@dataclass(frozen=True, slots=True)
class Manifest:
    """A checked manifest: what loading asks of it. `data` is the whole file as plain data, for `registry_from_manifests`."""

    domain: str
    name: str
    version: str
    siteward: str
    requirements: tuple[str, ...]
    dependencies: tuple[str, ...]
    after_dependencies: tuple[str, ...]
    config_flow: bool
    replicas: Replicas
    data: Mapping[str, Any]

    def provided(self, kind: str) -> tuple[Mapping[str, Any], ...]:
        """What it provides of one kind (`actions`)."""
        return tuple(self.data.get("provides", {}).get(kind, ()))


@dataclass(frozen=True, slots=True)
class ManifestProblem:
    """One thing that is wrong with a manifest, and its place."""

    sentence: str
    path: Path
    place: Place


class ManifestInvalid(ConfigurationInvalid):
    """A manifest that cannot be used. `problems` are all of them, by place; the sentence has one line each."""

    code = "manifest.invalid"

    def __init__(self, file: str, problems: tuple[ManifestProblem, ...]) -> None:
        lines = [f"{file}:{one.place.line}:{one.place.column}: {one.sentence}" for one in problems]
        first = problems[0].place
        super().__init__("\n".join(lines), where=f"{file}:{first.line}")
        self.problems = problems


def read_manifest(
    given: bytes | str, file: str = "manifest.yaml", *, domain: str | None = None, host: bool = False
) -> Manifest:
    """Check a manifest. `domain` is what its folder or entry point is called; `host` is true for the host's own, which alone have a vocabulary
    and plain names. Raises `ManifestInvalid` with every problem."""
    notes = Notes()
    tree = read_tree(given, notes).tree
    if notes.has_errors:
        raise ManifestInvalid(file, tuple(ManifestProblem(p.message, p.path, p.place) for p in notes.sorted()))
    if tree is None:
        raise ManifestInvalid(
            file, (ManifestProblem("The manifest is empty; it begins with `domain:`.", (), Place(1, 1)),)
        )
    data = thawed(tree)
    try:
        _SCHEMA(data)
    except vol.MultipleInvalid as error:
        problems = [_problem(one, tree) for one in error.errors]
        raise ManifestInvalid(file, tuple(sorted(problems, key=_by_place))) from error
    if strange := [*_foreign_domain(data, domain), *([] if host else _foreign_names(data))]:
        problems = [ManifestProblem(sentence, path, _place(tree, path)) for sentence, path in strange]
        raise ManifestInvalid(file, tuple(sorted(problems, key=_by_place)))
    return _manifest(data)


def _manifest(data: Mapping[str, Any]) -> Manifest:
    return Manifest(
        domain=data["domain"],
        name=data["name"],
        version=data["version"],
        siteward=data.get("siteward", ""),
        requirements=tuple(data.get("requirements", ())),
        dependencies=tuple(data.get("dependencies", ())),
        after_dependencies=tuple(data.get("after_dependencies", ())),
        config_flow=data.get("config_flow", False),
        replicas=Replicas(data.get("replicas", Replicas.ONE)),
        data=data,
    )


def _foreign_domain(data: Mapping[str, Any], domain: str | None) -> Iterator[tuple[str, Path]]:
    if domain is not None and data["domain"] != domain:
        yield (
            f"The domain is {data['domain']}, and the folder or entry point is called {domain}; give both the same name.",
            ("domain",),
        )


def _foreign_names(data: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    """An integration names its own things after itself, so that a file shows where they come from and no two can clash."""
    domain = data["domain"]
    if "skills" in data:
        yield "Only the host has a vocabulary: define this under `provides`.", ("skills",)
    for kind in _NAMED_AFTER_DOMAIN:
        for index, entry in enumerate(data.get("provides", {}).get(kind, ())):
            if not entry.get("skill") and not entry["name"].startswith(f"{domain}."):
                yield (
                    f"`{entry['name']}` is none of {domain}'s names: write {domain}.{entry['name'].rpartition('.')[2]}, or provide the "
                    "skill with `skill: true`.",
                    ("provides", kind, index, "name"),
                )
    # A gate's driver is looked up by its integration, and an integration answers for its own alerts only.
    for kind, own in (("gates", domain), ("alert_sources", f"app:{domain}")):
        for index, entry in enumerate(data.get("provides", {}).get(kind, ())):
            if entry["name"] != own:
                yield f"`{entry['name']}` is none of {domain}'s names: write {own}.", ("provides", kind, index, "name")


def _problem(error: vol.Invalid, tree: Node) -> ManifestProblem:
    path: Path = tuple(part if isinstance(part, int) else str(part) for part in error.path)
    return ManifestProblem(_sentence(error, path), path, _place(tree, path))


def _sentence(error: vol.Invalid, path: Path) -> str:
    key = str(path[-1]) if path else "the file"
    if isinstance(error, vol.RequiredFieldInvalid):
        return f"`{key}` is missing; write it here."
    if error.msg == "extra keys not allowed":
        near = nearest(key, known_keys(path, _TOP))
        return f"`{key}` is not known here." + (f" Did you mean `{near}`?" if near else " Take it out.")
    return f"`{key}`: {error.msg}."


def _place(tree: Node, path: Path) -> Place:
    """Where a path stands: the key of its last part, or of the nearest part that is there."""
    node, place = tree, tree.span.place
    for part in path:
        entry = node.entry(part) if isinstance(part, str) else None
        found = child(node, part)
        if found is None:
            break
        node, place = found, (entry.span if entry else found.span).place
    return place


def _by_place(problem: ManifestProblem) -> tuple[int, int]:
    return problem.place.line, problem.place.column


def _version(value: Any) -> str:
    try:
        return str(Version(value))
    except (InvalidVersion, TypeError) as error:
        raise vol.Invalid('a version is a text such as "1.2.0"') from error


def _range(value: Any) -> str:
    try:
        return str(SpecifierSet(value))
    except (InvalidSpecifier, TypeError, AttributeError) as error:
        raise vol.Invalid('a range of versions is a text such as ">=0.1,<1"') from error


def _requirement(value: Any) -> str:
    try:
        return str(Requirement(value))
    except (InvalidRequirement, TypeError) as error:
        raise vol.Invalid("a requirement is a package with an optional range, such as onnxruntime>=1.17") from error


DOMAIN: Final = matching(r"[a-z][a-z0-9_]{0,62}", "a domain is small letters, digits and _, and begins with a letter")

_TOP: Final[dict[Any, Any]] = {
    vol.Required("domain"): DOMAIN,
    vol.Required("name"): text,
    vol.Required("version"): _version,
    vol.Optional("siteward"): _range,
    vol.Optional("description"): text,
    vol.Optional("documentation"): matching(r"https://\S+", "documentation is an https address"),
    vol.Optional("codeowners"): [matching(r"@[A-Za-z0-9_/-]+", "a code owner is written as @name")],
    vol.Optional("iot_class"): one_of(*IOT_CLASSES),
    vol.Optional("requirements"): [_requirement],
    vol.Optional("dependencies"): [DOMAIN],
    vol.Optional("after_dependencies"): [DOMAIN],
    vol.Optional("config_flow"): bool,
    vol.Optional("single_instance"): bool,
    vol.Optional("replicas"): one_of(*Replicas),
    vol.Optional("scopes"): [one_of(*SCOPES)],
    vol.Optional("egress"): texts,
    vol.Optional("icon"): text,
    vol.Optional("provides"): PROVIDES,
    vol.Optional("skills"): PROVIDES,
}
_SCHEMA: Final = vol.Schema(_TOP)
