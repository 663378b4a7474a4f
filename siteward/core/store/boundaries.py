"""The named places where a crash would matter. They do nothing, except in the crash tests, which kill the process at each of them."""

from __future__ import annotations

from typing import Protocol


class Boundaries(Protocol):
    """Told of each boundary that is reached; called from the writer's thread as well as from the loop's."""

    def reach(self, name: str) -> None:
        """`name` is a stable name such as `commit.before` or `act.after`."""
        ...


class NoBoundaries:
    """What a host runs with."""

    def reach(self, name: str) -> None:
        """Nothing happens."""
