"""Whether the packages that an integration needs are there. Nothing is installed here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement


def missing_requirements(requirements: Iterable[str]) -> tuple[str, ...]:
    """Those of `requirements` that are not met by what is installed, as written. An extra (`siteward[vision]`) is met when
    everything that it names is."""
    return tuple(one for one in requirements if not _met(Requirement(one)))


def _met(requirement: Requirement) -> bool:
    if requirement.marker is not None and not requirement.marker.evaluate():
        return True
    try:
        version = distribution(requirement.name).version
    except PackageNotFoundError:
        return False
    if not requirement.specifier.contains(version, prereleases=True):
        return False
    return all(_met(one) for one in _of_extras(requirement))


def _of_extras(requirement: Requirement) -> Iterator[Requirement]:
    for text in distribution(requirement.name).requires or ():
        one = Requirement(text)
        marker = one.marker
        if marker is None or marker.evaluate({"extra": ""}):
            continue
        if any(marker.evaluate({"extra": extra}) for extra in requirement.extras):
            yield Requirement(f"{one.name}{_extras(one)}{one.specifier}")


def _extras(requirement: Requirement) -> str:
    return f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
