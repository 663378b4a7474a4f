"""Rows that belong to an act and stand or fall with it, such as its audit; the engine commits them and does not read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from siteward.core.store.writer import Op

Also = Callable[[str], Sequence[Op]]
"""Makes the rows for the id of what is acted on."""


def nothing_also(_target: str) -> Sequence[Op]:
    """No further rows."""
    return ()
