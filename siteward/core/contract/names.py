"""Which placeholders are known at a point of the flow.

A name is known where every path that leads there fills it: what the trigger gives, the nearest AI step before on the
path (without its id), what steps with an id gave, and the item of the loops around.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final

AI_NAMES: Final = frozenset({"reason", "decision", "confidence"})
"""What every AI step gives beside its fields."""
COMMON_NAMES: Final = frozenset({"time", "event_id"})
"""What every trigger gives."""
NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Names:
    """`plain` are names of triggers and loop items, `ai` those of the nearest AI step, `under` those with an id (`look.reason`).
    `any_plain` (an open payload, a fragment) and `any_under` (rows of a list, of an id) cannot be listed."""

    plain: frozenset[str] = NONE
    ai: frozenset[str] = NONE
    under: frozenset[str] = NONE
    any_plain: bool = False
    any_under: frozenset[str] = NONE

    def knows(self, name: str) -> bool:
        """Whether `{name}` is filled here."""
        if name in self.plain or name in self.ai or name in self.under:
            return True
        head, dot, _ = name.partition(".")
        return head in self.any_under if dot else self.any_plain

    def all(self) -> frozenset[str]:
        """Every name that can be listed."""
        return self.plain | self.ai | self.under

    def with_ai(self, names: Iterable[str]) -> Names:
        """After an AI step: its names hide those of the one before."""
        return replace(self, ai=frozenset(names))

    def with_plain(self, name: str) -> Names:
        """Inside a loop: the item."""
        return replace(self, plain=self.plain | {name})

    def with_under(self, step_id: str | None, names: Iterable[str], *, open_names: bool = False) -> Names:
        """After a step with an id."""
        if step_id is None:
            return self
        under = self.under | {f"{step_id}.{name}" for name in names}
        return replace(self, under=under, any_under=self.any_under | {step_id} if open_names else self.any_under)


def meet(several: Iterable[Names | None]) -> Names | None:
    """The names known on every path that goes on; None where none does."""
    going_on = [one for one in several if one is not None]
    return reduce(_meet, going_on) if going_on else None


def _meet(one: Names, other: Names) -> Names:
    if one is other:
        return one
    plain = one.plain & other.plain
    if one.any_plain:
        plain |= other.plain
    if other.any_plain:
        plain |= one.plain
    return Names(
        plain,
        one.ai & other.ai,
        one.under & other.under,
        one.any_plain and other.any_plain,
        one.any_under & other.any_under,
    )
