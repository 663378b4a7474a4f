"""What the engine asks the site. `core/site` implements it; the engine never reads the site's tables by itself.

Answers that every event needs (roles, state of a gate) are plain calls on what the site holds in memory; answers that must be as
fresh as the last commit (lists, mode) are awaited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from siteward.core.contract.registry import SiteView

JSON = Any


class SiteServices(Protocol):
    """The site as a run sees it."""

    @property
    def zone(self) -> str:
        """The site's IANA time zone (`Europe/Berlin`)."""
        ...

    @property
    def owner(self) -> str:
        """Who gets the engine's own alerts, as `role:…`, `group:…` or `user:…`."""
        ...

    def cameras_of(self, role: str) -> frozenset[str]:
        """The camera ids behind a camera role (none where it is not mapped)."""
        ...

    def roles_of(self, camera: str | None) -> frozenset[str]:
        """The camera roles of a camera id."""
        ...

    def fresh_for(self, target: str) -> float:
        """How long an authority for `target` (`gate:north`, `site_mode`) stays good, in seconds (5 to 600, 60 by default)."""
        ...

    def tells(self) -> frozenset[str]:
        """Targets an admin approved as ones that only tell (`destination:ticketing`)."""
        ...

    def authority_lists(self) -> Mapping[str, frozenset[str]]:
        """The lists that may authorise each target (`gate:north`)."""
        ...

    def restored_at(self) -> datetime | None:
        """When the database was last restored from a backup; what was allowed until then moves nothing."""
        ...

    def view(self, saver: str | None) -> SiteView:
        """The site as the validator sees it for who saves the file (None: the host itself)."""
        ...

    def revisions(self) -> Mapping[str, JSON]:
        """What a run records about the site: revision of facts and of the tool policy, digests of models."""
        ...

    def facts(self) -> Mapping[str, JSON]:
        """The site facts that an AI step reads."""
        ...

    def people(self, who: Sequence[str]) -> frozenset[str]:
        """The user names behind `role:…`, `group:…` and `user:…`."""
        ...

    async def site_mode(self) -> str:
        """The mode now (`armed_home`, `disarmed`, …)."""
        ...

    async def in_list(self, name: str, value: str, *, confirmed_only: bool) -> bool:
        """Whether a row of the list matches `value`, normalised as its column says; only rows that a person stands for, if asked."""
        ...

    async def list_rows(self, name: str, *, confirmed_only: bool) -> Sequence[Mapping[str, JSON]]:
        """The rows of a list, each with its columns."""
        ...

    async def may_answer(self, person: str, who: Sequence[str], camera: str | None) -> bool:
        """Whether a person may reply to a question: addressed (or admin), allowed to approve, and may see the camera."""
        ...
