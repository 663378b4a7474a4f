"""Roles: the names that workflow files use, and the cameras, gates, zones and other things of this site that they stand for.

Read from memory (every event asks), written to the database; what the configuration maps is written anew at each start, what people mapped on
the pages stays.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from sqlalchemy import select

from siteward.core.store.schema import roles
from siteward.core.store.store import Store

from .configuration import SiteConfiguration
from .rows import delete, insert

KINDS: Final = ("camera", "person", "list", "zone", "line", "gate", "siren", "destination", "entity")
_FROM_CONFIGURATION: Final = json.dumps({"by": "configuration.yaml"})


class Roles:
    """Which targets stand behind each role of each kind."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._targets: Mapping[str, Mapping[str, frozenset[str]]] = {}
        self._camera_roles: Mapping[str, frozenset[str]] = {}

    async def apply(self, configuration: SiteConfiguration) -> None:
        """Write the configuration's roles in place of the last start's, and read everything back."""
        wanted = sorted(set(_configured(configuration)))
        kept = {
            (row["kind"], row["role"], row["target"])
            for row in await self._store.read(select(roles).where(roles.c.settings != _FROM_CONFIGURATION))
        }
        await self._store.submit(
            delete(roles, {"settings": _FROM_CONFIGURATION}),
            *(
                insert(roles, {"kind": kind, "role": role, "target": target, "settings": _FROM_CONFIGURATION})
                for kind, role, target in wanted
                if (kind, role, target) not in kept
            ),
        )
        await self.refresh()

    async def refresh(self) -> None:
        """Read the table anew."""
        rows = await self._store.read(select(roles.c.kind, roles.c.role, roles.c.target))
        self._hold((row["kind"], row["role"], row["target"]) for row in rows)

    async def look(self, configuration: SiteConfiguration) -> None:
        """What `apply` would leave, with nothing written: for a command beside a running host, whose rows are not the command's to change."""
        mapped = select(roles.c.kind, roles.c.role, roles.c.target).where(roles.c.settings != _FROM_CONFIGURATION)
        rows = [(row["kind"], row["role"], row["target"]) for row in await self._store.read(mapped)]
        self._hold((*rows, *_configured(configuration)))

    def _hold(self, rows: Iterable[tuple[str, str, str]]) -> None:
        found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        behind: dict[str, set[str]] = defaultdict(set)
        for kind, role, target in rows:
            found[kind][role].add(target)
            if kind == "camera":
                behind[target].add(role)
        self._targets = {kind: {r: frozenset(t) for r, t in entries.items()} for kind, entries in found.items()}
        self._camera_roles = {camera: frozenset(names) for camera, names in behind.items()}

    def names(self, kind: str) -> frozenset[str]:
        """The roles of a kind that are mapped."""
        return frozenset(self._targets.get(kind, {}))

    def targets(self, kind: str, role: str) -> frozenset[str]:
        """What stands behind a role; empty where it is not mapped."""
        return self._targets.get(kind, {}).get(role, frozenset())

    def of_camera(self, camera: str | None) -> frozenset[str]:
        """The camera roles of a camera id."""
        return self._camera_roles.get(camera or "", frozenset())


def _configured(configuration: SiteConfiguration) -> list[tuple[str, str, str]]:
    found = [("camera", role, camera.id) for camera in configuration.cameras for role in camera.roles]
    found += [("gate", role, role) for role in configuration.gates]
    found += [("list", name, name) for name in configuration.lists]
    found += [("destination", name, name) for name in configuration.destinations]
    found += [("person", group, group) for group in configuration.groups]
    for kind, entries in configuration.roles.items():
        found += [(kind, role, target) for role, targets in entries.items() for target in targets]
    return found
