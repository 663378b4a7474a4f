"""The audit: who did what, when and from where, with what was there before and after, written in the transaction of the act itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from siteward.core.clock import Clock
from siteward.core.store.schema import audit
from siteward.core.store.writer import Op

from .rows import insert

NewId = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, and the address that the request came from (None: the host itself)."""

    who: str
    address: str | None = None


HOST = Actor("host")


class Audit:
    """Makes audit rows; the caller submits them together with its own."""

    def __init__(self, clock: Clock, new_id: NewId) -> None:
        self._clock = clock
        self._new_id = new_id

    def row(
        self,
        actor: Actor,
        what: str,
        target: str | None = None,
        *,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
    ) -> Op:
        """The row that says `actor` did `what` (`user.create`, `site.mode`) to `target`. Never a password, a token or a secret."""
        return insert(
            audit,
            {
                "id": self._new_id(),
                "at": self._clock.now().timestamp(),
                "who": actor.who,
                "from_address": actor.address,
                "what": what,
                "target": target,
                "before": None if before is None else json.dumps(before, default=str),
                "after": None if after is None else json.dumps(after, default=str),
            },
        )
