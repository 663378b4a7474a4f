"""What is known at one point of the flow: labels of names, authorities in force, what AI said before, who stayed silent.

Two points that join keep the worse of both: the least trusted label, no authority that one of them lacks, every silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Final

from .document import Path
from .flow_labels import LOST, KnownNames, Label, join_labels
from .registry import Provenance


class GrantKind(StrEnum):
    """What may allow a move. The values are those of `Authority.kind` in a run."""

    REPLY = "reply"
    CALL = "call"
    AUTHORISING = "authorising"
    RULE = "rule"


PERSONS: Final = frozenset({GrantKind.REPLY, GrantKind.CALL})


@dataclass(frozen=True, slots=True)
class Grant:
    """An authority that holds in a lane. `path` is the step that gives it (the top-level `if` is `("if",)`), `plan_path` its name in runs.

    `overruled`: AI had its say after the person. `shown` are the names that the person saw and that still mean what was seen.
    `ways` are the ways in which an authorising condition finds the identity (each the lists that it reads). `row`: the id of
    a call whose callee AI looked up in a list; it allows only what that row names.
    """

    kind: GrantKind
    path: Path
    plan_path: str
    lane: str
    overruled: bool = False
    shown: frozenset[str] = frozenset()
    ways: tuple[frozenset[str], ...] = ()
    row: str | None = None


class Silence(StrEnum):
    """Why a path goes on though no person said so."""

    NO_ANSWER = "no_answer"
    DEFAULT = "default"
    UNCONFIRMED = "unconfirmed"


@dataclass(frozen=True, slots=True)
class Quiet:
    """A silence on the path. `path` is the ask or call."""

    silence: Silence
    path: Path


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the flow, just before a step. `dead`: no path leads here.

    `quiet` is the last silence in whose lane this stands; `past_quiet` the first one whose lane has ended. Of several one is enough to refuse
    a move.
    """

    names: KnownNames
    ai: bool = False
    grants: tuple[Grant, ...] = ()
    quiet: Quiet | None = None
    past_quiet: Quiet | None = None
    in_always: bool = False
    dead: bool = False

    @property
    def provenance(self) -> Provenance:
        """The provenance of the lane: AI where AI came before."""
        return Provenance.AI if self.ai else Provenance.LITERAL

    def label(self, name: str) -> Label:
        """The label of a name. A dotted name (`item.zone`) may be a field of a value or what a step with that id gave; where both are known it is
        as bad as the worse."""
        found = []
        if name in self.names:
            found.append(self.names[name])
        head = name
        while "." in head:
            head = head.rpartition(".")[0]
            if head in self.names:
                whole = self.names[head]
                found.append(Label(whole.provenance, row=whole.row))
        return join_labels(found) if found else LOST

    def ai_names(self, names: Iterable[str]) -> frozenset[str]:
        """Those of the names whose value is AI's."""
        return frozenset(name for name in names if self.label(name).provenance is Provenance.AI)

    def ai_spoke(self, read: Iterable[str] = ()) -> Point:
        """After AI had its say: an AI step ran, or a rule or a loop read the AI values `read`. A person who was shown all of them stands."""
        names = frozenset(read)
        grants = tuple(
            grant if names and names <= grant.shown else replace(grant, overruled=True) for grant in self.grants
        )
        return replace(self, ai=True, grants=grants)

    def knowing(self, names: Mapping[str, Label]) -> Point:
        """With further names. What a person saw under a name that now means something else was not shown."""
        heads = {*names, *(name.rpartition(".")[0] for name in names)}
        grants = tuple(_unseen(grant, heads) for grant in self.grants)
        return replace(self, names=self.names.adding(names), grants=grants)

    def granted(self, grant: Grant) -> Point:
        """Inside a lane that carries an authority. A person's answer ends an earlier silence, in this lane."""
        grants = (*self.grants, grant)
        if grant.kind in PERSONS:
            return replace(self, grants=grants, quiet=None, past_quiet=None)
        return replace(self, grants=grants)

    def silent(self, silence: Silence, path: Path) -> Point:
        """Where nobody answered, or an answer was not confirmed."""
        return replace(self, quiet=Quiet(silence, path))

    def left(self, inner: Point) -> Point:
        """After a lane that ended at `inner`: its authorities end; what AI said and who was silent in it stay."""
        kept = inner.grants[: len(self.grants)]
        grants = tuple(_worse(grant, now) for grant, now in zip(self.grants, kept, strict=True))
        inside = inner.quiet if inner.quiet != self.quiet else None
        past = self.past_quiet or inside or inner.past_quiet
        return replace(inner, grants=grants, quiet=self.quiet, past_quiet=past, ai=self.ai or inner.ai)


@lru_cache(maxsize=256)
def _parts_of(shown: frozenset[str]) -> frozenset[str]:
    """The names shown and every name that they lie within."""
    return frozenset(
        ".".join(parts[:end]) for parts in (name.split(".") for name in shown) for end in range(1, len(parts) + 1)
    )


def _unseen(grant: Grant, heads: set[str]) -> Grant:
    if _parts_of(grant.shown).isdisjoint(heads):
        return grant
    return replace(grant, shown=frozenset(seen for seen in grant.shown if not _renamed(seen, heads)))


def _renamed(seen: str, names: set[str]) -> bool:
    parts = seen.split(".")
    return any(".".join(parts[:end]) in names for end in range(1, len(parts) + 1))


def _worse(grant: Grant, other: Grant) -> Grant:
    if grant == other:
        return grant
    return replace(grant, overruled=grant.overruled or other.overruled, shown=grant.shown & other.shown)


def join(points: Sequence[Point]) -> Point:
    """Where several lanes meet, each already left (`Point.left`). Lanes that ended their path do not count, unless all did."""
    going_on = [point for point in points if not point.dead] or list(points)
    first, *others = going_on
    for other in others:
        first = _join(first, other)
    return first


def _join(one: Point, other: Point) -> Point:
    if one == other:
        return one
    return Point(
        one.names.joined(other.names),
        one.ai or other.ai,
        tuple(_worse(grant, theirs) for grant, theirs in zip(one.grants, other.grants, strict=True)),
        one.quiet or other.quiet,
        one.past_quiet or other.past_quiet,
        one.in_always,
        one.dead and other.dead,
    )
