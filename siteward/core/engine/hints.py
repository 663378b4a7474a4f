"""What this process remembers of its own runs, so that the usual event is decided without a read.

A hint is never trusted alone: the write that rests on it is conditional on the rows, and who loses that race decides again from the
rows. Where several engines share a database the others' runs are not known here, and nothing is remembered.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, TypeVar

from siteward.core.engine.limits import Presence, scope_of

KEPT: Final = 20_000
"""Keys that are remembered; the oldest go first, and cost a read when they come again."""

_T = TypeVar("_T")
Key = tuple[str, str]
"""A workflow's id and its one-at-a-time key."""


@dataclass(frozen=True, slots=True)
class Alive:
    """The run that holds a key, and who or what stands there."""

    run_id: str
    presence: Presence


@dataclass(frozen=True, slots=True)
class Cooling:
    """Until when a key cools down (seconds since 1970), and for whom; None: for everybody."""

    until: float
    whose: Presence | None


class Hints:
    """Who holds each key, what cools down, and which workflow has used its hour."""

    def __init__(self, alone: bool) -> None:
        self._alone = alone
        self._alive: OrderedDict[Key, Alive] = OrderedDict()
        self._cooling: OrderedDict[Key, Cooling] = OrderedDict()
        self._capped: dict[str, str] = {}
        self._free: dict[str, str] = {}

    @property
    def useful(self) -> bool:
        """Whether this engine alone makes runs. Else each decision reads."""
        return self._alone

    def alive(self, key: Key) -> Alive | None:
        """Who is believed to hold the key."""
        return self._alive.get(key)

    def cooling(self, key: Key) -> Cooling | None:
        """The cooldown that is believed to hold."""
        return self._cooling.get(key)

    def is_capped(self, scope: str, hour: str) -> bool:
        """Whether the workflow (or its version in Test beside it) is believed to have used its runs of this hour."""
        return self._capped.get(scope) == hour

    def is_free(self, scope: str, hour: str) -> bool:
        """Whether it is known that nothing says of the workflow that its hour is used."""
        return self._free.get(scope) == hour

    def started(self, key: Key, alive: Alive, cooling: Cooling | None, hour: str) -> None:
        """A run that holds the key is committed, and its cooldown with it."""
        if not self._alone:
            return
        _keep(self._alive, key, alive)
        if cooling is not None:
            _keep(self._cooling, key, cooling)
        scope = scope_of(*key)
        if self._capped.get(scope) != hour:
            self._free[scope] = hour

    def found(self, key: Key, alive: Alive | None, cooling: Cooling | None) -> None:
        """What the rows say."""
        if not self._alone:
            return
        _keep(self._alive, key, alive)
        _keep(self._cooling, key, cooling)

    def capped(self, scope: str, hour: str) -> None:
        """The workflow has used its runs of this hour."""
        self._capped[scope] = hour
        self._free.pop(scope, None)

    def ended(self, key: Key, run_id: str) -> None:
        """A run has ended; its key is free, unless another one took it."""
        held = self._alive.get(key)
        if held is not None and held.run_id == run_id:
            del self._alive[key]


def _keep(kept: OrderedDict[Key, _T], key: Key, value: _T | None) -> None:
    if value is None:
        kept.pop(key, None)
        return
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > KEPT:
        kept.popitem(last=False)
