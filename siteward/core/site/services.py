"""The site as the engine asks for it (`engine.site_services.SiteServices`): every answer comes from one of the site's parts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from siteward.core.contract.registry import SiteView, ToolMode

from .approvals import may_answer
from .audit import HOST
from .permissions import Person, SiteRole
from .roles import KINDS
from .site import Site

OWNER = "role:admin"
"""The engine's own alerts go to the admins: every site has one."""


@dataclass(frozen=True, slots=True)
class ServicesOfSite:
    """Answers the engine. `vocabulary` is what the site's Look model can fill (None: anything); `models` are digests by model name."""

    site: Site
    vocabulary: frozenset[str] | None = None
    models: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def zone(self) -> str:
        return self.site.configuration.zone

    @property
    def owner(self) -> str:
        return OWNER

    def cameras_of(self, role: str) -> frozenset[str]:
        return self.site.roles.targets("camera", role)

    def roles_of(self, camera: str | None) -> frozenset[str]:
        return self.site.roles.of_camera(camera)

    def fresh_for(self, target: str) -> float:
        kind, _, role = target.partition(":")
        gate = self.site.configuration.gates.get(role) if kind == "gate" else None
        return gate.fresh_for if gate is not None else 60.0

    def tells(self) -> frozenset[str]:
        listed = self.site.configuration.destinations.values()
        return frozenset(f"destination:{entry.name}" for entry in listed if entry.tells)

    def authority_lists(self) -> Mapping[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for entry in self.site.configuration.lists.values():
            for target in entry.authority_for:
                found.setdefault(target, set()).add(entry.name)
        return {target: frozenset(names) for target, names in found.items()}

    def restored_at(self) -> datetime | None:
        return self.site.restored_at

    def view(self, saver: str | None) -> SiteView:
        is_host = saver is None or saver == HOST.who
        person = None if saver is None else self.site.people.known.get(saver.removeprefix("user:"))
        roles = {kind: self.site.roles.names(kind) for kind in KINDS} | {"person": self._addresses()}
        return SiteView(
            roles=roles,
            visible_cameras=self._visible(roles["camera"], is_host, person),
            authority_lists=self.authority_lists(),
            tells=self.tells(),
            tool_modes={name: ToolMode(mode) for name, mode in self.site.configuration.tools.items()},
            caps=self.site.configuration.caps,
            field_vocabulary=self.vocabulary,
        )

    def _addresses(self) -> frozenset[str]:
        """Everyone who can be asked or told, as files write it."""
        people = (person.addresses for person in self.site.people.known.values())
        groups = (f"{kind}:{group}" for group in self.site.roles.names("person") for kind in ("role", "group"))
        return frozenset(groups).union(*people, (f"role:{role.value}" for role in SiteRole))

    def _visible(self, camera_roles: frozenset[str], is_host: bool, person: Person | None) -> frozenset[str]:
        if is_host:
            return camera_roles
        if person is None:
            return frozenset()
        return frozenset(r for r in camera_roles if all(person.sees(c) for c in self.site.roles.targets("camera", r)))

    def revisions(self) -> Mapping[str, Any]:
        facts = hashlib.sha256(self.site.configuration.facts.encode()).hexdigest()[:16]
        policy = hashlib.sha256(repr(sorted(self.site.configuration.tools.items())).encode()).hexdigest()[:16]
        return {"facts": facts, "policy": policy, "models": dict(self.models)}

    def facts(self) -> Mapping[str, Any]:
        return {"site": self.site.configuration.name, "facts": self.site.configuration.facts}

    def people(self, who: Sequence[str]) -> frozenset[str]:
        wanted = tuple(who)
        return frozenset(p.name for p in self.site.people.known.values() if p.is_addressed(wanted))

    async def site_mode(self) -> str:
        return (await self.site.mode.read()).value

    async def in_list(self, name: str, value: str, *, confirmed_only: bool) -> bool:
        return await self.site.lists.matches(name, value, confirmed_only=confirmed_only)

    async def list_rows(self, name: str, *, confirmed_only: bool) -> Sequence[Mapping[str, Any]]:
        return await self.site.lists.rows(name, confirmed_only=confirmed_only)

    async def may_answer(self, person: str, who: Sequence[str], camera: str | None) -> bool:
        known = await self.site.people.named(person if ":" in person else f"user:{person}")
        return known is not None and may_answer(known, who, camera)
