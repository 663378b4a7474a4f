"""Where integrations are found: shipped ones and the host's own folders, installed packages, the site's `custom_integrations`.

Finding reads no code. `Found.read` gives the manifest's bytes and `Found.load` imports the module, which the loader does only after
the manifest was checked.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import ModuleType
from typing import Final

from siteward.core.errors import NotFound

ENTRY_POINTS: Final = "siteward"
MANIFEST: Final = "manifest.yaml"
CUSTOM: Final = "custom_integrations"
_HOST_FOLDERS: Final = (("siteward", "siteward.steps"), ("siteward_tools", "siteward.tools"))


class Source(StrEnum):
    """Where an integration comes from."""

    HOST = "host"
    SHIPPED = "shipped"
    PACKAGE = "package"
    CUSTOM = "custom"
    CONFIGURED = "configured"
    """It stands in the configuration and was found nowhere."""


@dataclass(frozen=True, slots=True)
class Found:
    """A place that holds an integration. `where` names its manifest in sentences."""

    domain: str
    source: Source
    where: str
    read: Callable[[], bytes]
    load: Callable[[], ModuleType]


def find_shipped() -> tuple[Found, ...]:
    """The host's own steps and tools, then the integrations that ship with it, by name."""
    root = files("siteward")
    found = [
        _in_package(domain, Source.HOST, module, root / module.rpartition(".")[2]) for domain, module in _HOST_FOLDERS
    ]
    for folder in sorted((root / "integrations").iterdir(), key=lambda one: one.name):
        if (folder / MANIFEST).is_file():
            module = f"siteward.integrations.{folder.name}"
            found.append(_in_package(folder.name, Source.SHIPPED, module, folder))
    return tuple(found)


def _in_package(domain: str, source: Source, module: str, folder: Traversable) -> Found:
    path = folder / MANIFEST
    where = "/".join((*module.split("."), MANIFEST))
    return Found(domain, source, where, path.read_bytes, lambda: importlib.import_module(module))


def find_packages() -> tuple[Found, ...]:
    """Installed packages that name an entry point in the group `siteward`: the domain, and the module that has the hooks."""
    points = sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name)
    return tuple(Found(one.name, Source.PACKAGE, one.value, _reader(one), _importer(one.module)) for one in points)


def _reader(point: EntryPoint) -> Callable[[], bytes]:
    return lambda: _package_manifest(point).read_bytes()


def _importer(module: str) -> Callable[[], ModuleType]:
    return lambda: importlib.import_module(module)


def _package_manifest(point: EntryPoint) -> Path:
    """The manifest beside a module that is not imported: from the files of its distribution, or of its top-level package."""
    parts = point.module.split(".")
    for folder in _package_folders(point, parts):
        if (folder / MANIFEST).is_file():
            return folder / MANIFEST
    raise NotFound(
        f"The package of {point.name} holds no {MANIFEST} beside {point.module}; its author must add it to the package data.",
        where=point.value,
    )


def _package_folders(point: EntryPoint, parts: list[str]) -> Iterator[Path]:
    if point.dist is not None:
        yield Path(str(point.dist.locate_file("/".join(parts))))
    # An installation for development lies elsewhere; looking up a top-level name imports nothing.
    spec = importlib.util.find_spec(parts[0])
    for location in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(location).joinpath(*parts[1:])


def find_custom(config_dir: Path) -> tuple[Found, ...]:
    """The site's own integrations, by name: each folder of `custom_integrations` that has a manifest."""
    root = config_dir / CUSTOM
    if not root.is_dir():
        return ()
    folders = sorted(folder for folder in root.iterdir() if (folder / MANIFEST).is_file())
    return tuple(
        Found(
            folder.name,
            Source.CUSTOM,
            f"{CUSTOM}/{folder.name}/{MANIFEST}",
            (folder / MANIFEST).read_bytes,
            _custom_importer(folder),
        )
        for folder in folders
    )


def _custom_importer(folder: Path) -> Callable[[], ModuleType]:
    def load() -> ModuleType:
        name = f"{CUSTOM}.{folder.name}"
        spec = importlib.util.spec_from_file_location(
            name, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        if spec is None or spec.loader is None or not (folder / "__init__.py").is_file():
            raise NotFound(f"{CUSTOM}/{folder.name} has no __init__.py; it holds the hooks.", where=folder.name)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module

    return load
