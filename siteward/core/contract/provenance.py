"""Which of two provenances is trusted less: the one order that validator and engine share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .registry import Provenance

ORDER: Final = (
    Provenance.LITERAL,
    Provenance.LIST,
    Provenance.PERSON,
    Provenance.SENSOR,
    Provenance.APP,
    Provenance.AI,
)
"""From what the author wrote to what a model said."""
_RANK: Final = {provenance: rank for rank, provenance in enumerate(ORDER)}


def least_trusted(of: Iterable[Provenance]) -> Provenance:
    """The least trusted of some provenances; of none, a literal's (nothing was read)."""
    return max(of, key=_RANK.__getitem__, default=Provenance.LITERAL)


def less_trusted(one: Provenance, other: Provenance) -> Provenance:
    """The less trusted of two."""
    return one if _RANK[one] >= _RANK[other] else other
