"""The garbage collector of a process that runs for months: what was loaded at the start is not looked through again with every few hundred runs."""

from __future__ import annotations

import gc
from typing import Final

YOUNG: Final = 20_000
"""New objects before the youngest are looked through: some dozens of runs, and nothing beside what a loaded host holds."""
OLDER: Final = (20, 50)


def settle_collector() -> None:
    """Call once everything is loaded. Collects, then leaves what is there alone for good: code, manifests and models stay anyway."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, *OLDER)
