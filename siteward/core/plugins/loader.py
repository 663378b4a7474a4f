"""From places that hold integrations to what a host can use: each one alone, its manifest before its code, each failure a record.

An order of checks that never changes: manifest, domain, host version, packages, other integrations, configuration, code, equality of code and
manifest, names. One that fails any of them leaves a record and harms no other one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

import pluggy
from packaging.specifiers import SpecifierSet

import siteward
from siteward.core.contract.manifest_data import ManifestConflict
from siteward.core.errors import SitewardError

from .discovery import CUSTOM, Found, Source, find_shipped
from .drivers import drives_gates
from .guard import Hung, Raised, Worked, attempt, attempt_in_thread
from .manifest import Manifest, read_manifest
from .order import in_order
from .registered import Registered, differences, register
from .registry import FAULT, Integration, Loaded, LoadRecord, LoadState, assemble
from .requirements import missing_requirements

LOAD_SECONDS: Final = 20.0
"""How long the import and the collecting hooks of one integration may take together."""

_UNSHARED: Final = ("models", "cameras", "gates", "lines", "ai_modes", "tools", "step_kinds")


@dataclass(frozen=True, slots=True)
class Candidate:
    """An integration whose manifest is right."""

    found: Found
    manifest: Manifest

    def bring(self) -> Registered:
        """Import the code and collect what it registers."""
        return register(self.found.load(), self.manifest.domain)


def load_shipped() -> Loaded:
    """Everything that ships, as if it were configured. For commands without a site, and for tests; nothing is set up."""
    loading = Loading(None)
    for candidate in loading.candidates(find_shipped()):
        loading.settle(candidate, attempt(candidate.bring))
    return loading.loaded()


async def load(
    places: Iterable[Found], configured: Mapping[str, Mapping[str, Any]], *, seconds: float = LOAD_SECONDS
) -> Loaded:
    """Load what is found, one after the other. `configured` has the settings of the domains that this site configured: one with
    `config_flow` that is not among them stays discovered. Nothing is set up yet (`setup.SetUp` does that)."""
    loading = Loading(frozenset(configured))
    candidates = loading.candidates(places)
    # Reading the manifests takes a while, also on a site that is at work: not on the loop.
    while (candidate := await asyncio.to_thread(next, candidates, None)) is not None:
        loading.settle(candidate, await attempt_in_thread(candidate.bring, seconds))
    loading.note_unknown()
    return loading.loaded()


class Loading:
    """One pass over what was found. `configured` None: every integration counts as configured."""

    def __init__(self, configured: frozenset[str] | None) -> None:
        self._configured = configured
        self._integrations: dict[str, Integration] = {}
        self._records: dict[str, LoadRecord] = {}
        self._refused: list[LoadRecord] = []

    def candidates(self, places: Iterable[Found]) -> Iterator[Candidate]:
        """Those whose code may run now, each after the ones that it depends on. The caller settles each before it asks for the next."""
        read = [one for found in places if (one := self._read(found)) is not None]
        ordered, in_circle = in_order({one.manifest.domain: one.manifest for one in read})
        by_domain = {one.manifest.domain: one for one in read}
        for domain in in_circle:
            found = by_domain[domain].found
            self._note(
                found, LoadState.FAILED, f"{domain} and what it depends on wait for each other; break the circle."
            )
        for domain in ordered:
            if self._may_run(by_domain[domain]):
                yield by_domain[domain]

    def settle(self, candidate: Candidate, outcome: Worked[Registered] | Raised | Hung) -> None:
        """Take what the code registered, or note why not."""
        match outcome:
            case Worked(value=registered):
                self._admit(candidate, registered)
            case Hung(seconds=seconds):
                sentence = (
                    f"{candidate.manifest.name} did not load within {seconds:g} seconds and was left out. {FAULT}"
                )
                self._note(candidate.found, LoadState.FAILED, sentence)
            case Raised() as failure:
                self._note_raised(candidate, failure)

    def note_unknown(self) -> None:
        """Note every configured domain that was not found: a slip in a name is said, not passed over."""
        known = sorted(self._records)
        for domain in sorted((self._configured or frozenset()) - self._records.keys()):
            near = get_close_matches(domain, known, 1)
            meant = f"; did you mean {near[0]}?" if near else "."
            sentence = (
                f"There is no integration {domain}, which stands under `integrations` in configuration.yaml{meant} Correct the name, "
                f"install the package that brings it, or put it into {CUSTOM}/{domain}."
            )
            self._records[domain] = LoadRecord(domain, Source.CONFIGURED, LoadState.NEEDS_ATTENTION, sentence)

    def loaded(self) -> Loaded:
        """What is there now."""
        return assemble(tuple(self._integrations.values()), (*self._records.values(), *self._refused))

    def _read(self, found: Found) -> Candidate | None:
        if found.domain in self._records:
            first = self._records[found.domain].source
            sentence = f"There is a {first} integration {found.domain} already; rename the {found.source} one."
            self._refused.append(LoadRecord(found.domain, found.source, LoadState.FAILED, sentence))
            return None
        self._records[found.domain] = LoadRecord(found.domain, found.source, LoadState.DISCOVERED)
        host = found.source is Source.HOST
        try:
            return Candidate(found, read_manifest(found.read(), found.where, domain=found.domain, host=host))
        except SitewardError as error:
            self._note(found, LoadState.FAILED, error.sentence, where=error.where)
        except OSError as error:
            self._note(
                found,
                LoadState.FAILED,
                f"{found.where} cannot be read: {error.strerror}. Check that the host may read it.",
                where=found.where,
            )
        return None

    def _may_run(self, candidate: Candidate) -> bool:
        manifest, found = candidate.manifest, candidate.found
        if not SpecifierSet(manifest.siteward).contains(siteward.__version__, prereleases=True):
            sentence = f"{manifest.name} {manifest.version} works with Siteward {manifest.siteward}; this is {siteward.__version__}. Install a version of it that fits."
            self._note(found, LoadState.FAILED, sentence)
            return False
        if self._configured is not None and manifest.config_flow and manifest.domain not in self._configured:
            return False
        if missing := missing_requirements(manifest.requirements):
            sentence = f"{manifest.name} needs packages that are not installed: install {', '.join(missing)}."
            self._note(found, LoadState.NEEDS_ATTENTION, sentence)
            return False
        if absent := [one for one in manifest.dependencies if one not in self._integrations]:
            sentence = f"{manifest.name} needs {', '.join(absent)}, and that is not loaded; see there."
            self._note(found, LoadState.NEEDS_ATTENTION, sentence)
            return False
        return True

    def _admit(self, candidate: Candidate, registered: Registered) -> None:
        manifest = candidate.manifest
        integration = Integration(manifest, candidate.found.source, registered)
        try:
            together = assemble((*self._integrations.values(), integration))
            self._check_names(manifest)
        except ManifestConflict as conflict:
            self._note(candidate.found, LoadState.FAILED, conflict.sentence)
            return
        if found := differences(manifest, registered, together.registry.actions):
            sentence = f"{manifest.name} registers something else than {candidate.found.where} declares: {'; '.join(found)}. {FAULT}"
            self._note(candidate.found, LoadState.FAILED, sentence, where=candidate.found.where)
            return
        self._integrations[manifest.domain] = integration
        self._note(candidate.found, LoadState.LOADED, "")

    def _check_names(self, manifest: Manifest) -> None:
        """Names that cannot be shared: kinds that are opened by name, and skills that act and have nothing on the site to choose
        between their providers. Raises `ManifestConflict`."""
        for other in self._integrations.values():
            for kind in (*_UNSHARED, "actions"):
                taken = {entry["name"] for entry in other.manifest.provided(kind)}
                for entry in manifest.provided(kind):
                    if entry["name"] in taken and not (kind == "actions" and self._drives_gates(entry["name"])):
                        sentence = f"{entry['name']} ({kind}) is provided by {other.manifest.domain} already; enable one of the two."
                        raise ManifestConflict(manifest.domain, kind, entry["name"], sentence)

    def _drives_gates(self, name: str) -> bool:
        spec = assemble(tuple(self._integrations.values())).registry.actions.get(name)
        return spec is not None and drives_gates(spec)

    def _note_raised(self, candidate: Candidate, failure: Raised) -> None:
        name, state = candidate.manifest.name, LoadState.FAILED
        match failure.error:
            case ImportError():
                state = LoadState.NEEDS_ATTENTION
                sentence = f"{name} cannot be imported: {failure.error}. Install what is missing."
            case pluggy.PluginValidationError():
                sentence = f"{name} has a hook that this host does not know, or one with other arguments: {failure.error}. {FAULT}"
            case SitewardError(sentence=said):
                sentence = said
            case _:
                sentence = f"{name} failed while it was loaded: {failure.last_line}. {FAULT}"
        self._note(candidate.found, state, sentence, last_line=failure.last_line, where=failure.where)

    def _note(
        self, found: Found, state: LoadState, sentence: str, *, last_line: str | None = None, where: str | None = None
    ) -> None:
        record = LoadRecord(found.domain, found.source, state, sentence, last_line, where)
        self._records[found.domain] = record


def without(loaded: Loaded, failed: LoadRecord) -> Loaded:
    """What is left when a loaded integration turns out not to work. Those that depend on it go with it."""
    gone = {failed.domain}
    records = {failed.domain: failed}
    for domain, integration in loaded.integrations.items():
        if gone.intersection(integration.manifest.dependencies):
            gone.add(domain)
            sentence = f"{integration.manifest.name} needs {failed.domain}, and that does not work; see there."
            records[domain] = LoadRecord(domain, integration.source, LoadState.NEEDS_ATTENTION, sentence)
    left = tuple(one for domain, one in loaded.integrations.items() if domain not in gone)
    known = tuple(records.get(one.domain, one) if one.state is LoadState.LOADED else one for one in loaded.records)
    return assemble(left, known)
