"""What is known at one point of the flow: labels of names, authorities in force, what AI said before, who stayed silent.

Two points that join keep the worse of both: the least trusted label, no authority that one of them lacks, every silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from .document import Path
from .provenance import least_trusted
from .registry import Provenance


@dataclass(frozen=True, slots=True)
class Label:
    """Where a value comes from. `authorises`: an identity that the trigger gave. `texts` are the values that it can have, where the file
    itself lists them. `row`: a row of a list that AI chose (only that row's own door may move)."""

    provenance: Provenance
    authorises: bool = False
    texts: tuple[str, ...] | None = None
    row: bool = False


LOST: Final = Label(Provenance.AI)
"""The label of a name that nobody gives: AI's."""


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
    """A silence on the path. `path` is the ask or call; `joined`: it lies in a lane that has ended since."""

    silence: Silence
    path: Path
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the flow, just before a step. `dead`: no path leads here."""

    names: Mapping[str, Label]
    ai: bool = False
    grants: tuple[Grant, ...] = ()
    quiet: tuple[Quiet, ...] = ()
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
        grants = tuple(
            replace(grant, shown=frozenset(seen for seen in grant.shown if not _renamed(seen, heads))) for grant in self.grants
        )
        return replace(self, names=MappingProxyType({**self.names, **names}), grants=grants)

    def granted(self, grant: Grant) -> Point:
        """Inside a lane that carries an authority. A person's answer ends an earlier silence, in this lane."""
        quiet = () if grant.kind in PERSONS else self.quiet
        return replace(self, grants=(*self.grants, grant), quiet=quiet)

    def silent(self, silence: Silence, path: Path) -> Point:
        """Where nobody answered, or an answer was not confirmed."""
        return replace(self, quiet=(*self.quiet, Quiet(silence, path)))

    def left(self, inner: Point) -> Point:
        """After a lane that ended at `inner`: its authorities end; what AI said and who was silent in it stay."""
        kept = inner.grants[: len(self.grants)]
        grants = tuple(_worse(grant, now) for grant, now in zip(self.grants, kept, strict=True))
        joined = (replace(quiet, joined=True) for quiet in inner.quiet if quiet not in self.quiet)
        return replace(
            inner, grants=grants, quiet=tuple(dict.fromkeys((*self.quiet, *joined))), ai=self.ai or inner.ai
        )


def _renamed(seen: str, names: set[str]) -> bool:
    parts = seen.split(".")
    return any(".".join(parts[:end]) in names for end in range(1, len(parts) + 1))


def join_labels(labels: Sequence[Label]) -> Label:
    """The worse of several labels for the same name."""
    first = labels[0]
    if all(label == first for label in labels):
        return first
    texts = [label.texts for label in labels]
    known = [text for text in texts if text is not None]
    return Label(
        least_trusted(label.provenance for label in labels),
        all(label.authorises for label in labels),
        tuple(dict.fromkeys(text for part in known for text in part)) if len(known) == len(texts) else None,
        any(label.row for label in labels),
    )


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
    names = {
        name: join_labels([point.names[name] for point in (one, other) if name in point.names])
        for name in (*one.names, *(name for name in other.names if name not in one.names))
    }
    return Point(
        MappingProxyType(names),
        one.ai or other.ai,
        tuple(_worse(grant, theirs) for grant, theirs in zip(one.grants, other.grants, strict=True)),
        tuple(dict.fromkeys((*one.quiet, *other.quiet))),
        one.in_always,
        one.dead and other.dead,
    )
