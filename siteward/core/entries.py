"""Which integrations this process sets up: a host of its own all of them, the web process none. Of several engines each sets up what shares its
source, and what only one may run is set up by the one that holds its lease: it brings events, or owns a line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from siteward.core.engine.engine import Engine
from siteward.core.held_skills import HeldSkills
from siteward.core.plugins.manifest import Replicas
from siteward.core.plugins.setup import SetUp

_LEASE: Final = "entry:"


class Entries:
    """The set-up integrations of a process of a site, as its leases come and go."""

    def __init__(
        self,
        engine: Engine,
        skills: HeldSkills,
        set_up: SetUp,
        settings: Mapping[str, Mapping[str, Any]],
        *,
        drives: bool,
    ) -> None:
        self._engine = engine
        self._skills = skills
        self._set_up = set_up
        self._settings = settings
        self._drives = drives
        self._changed = asyncio.Event()
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Set up what needs no lease, and from here on what this process holds one for. Raises nothing for an integration that fails: its record
        says why."""
        leases = self._engine.leases
        if leases is None:
            await self._begin(None)
        elif self._drives:
            await self.share()
            leases.want((_LEASE + domain for domain in self._domains(Replicas.ONE)), self._changed.set)
            self._changed.set()
            self._following = asyncio.create_task(self._follow(), name="siteward-entries")

    async def share(self) -> None:
        """Set up what each engine does."""
        await self._begin(frozenset(self._domains(Replicas.EACH)))

    async def stop(self) -> None:
        """Let go of all of them."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait((self._following,))
        await self._set_up.stop()

    def _domains(self, replicas: Replicas) -> list[str]:
        found = self._skills.now.integrations.items()
        return [
            domain
            for domain, integration in found
            if integration.manifest.replicas is replicas and integration.registered.implements("siteward_setup")
        ]

    async def _begin(self, domains: frozenset[str] | None) -> None:
        self._skills.now = await self._set_up.start(self._skills.now, self._settings, domains=domains)

    async def _follow(self) -> None:
        leases = self._engine.leases
        assert leases is not None
        while True:
            await self._changed.wait()
            self._changed.clear()
            for domain in self._domains(Replicas.ONE):
                held, there = leases.holds(_LEASE + domain), self._set_up.entry(domain) is not None
                if there and not held:
                    await self._set_up.let_go(domain)
                elif held and not there:
                    await self._begin(frozenset((domain,)))
                    await self._engine.refresh()
