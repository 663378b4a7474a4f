"""Every order in which things that happen at the same time may happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .reference import Reference
from .things import Move

Deed = Callable[[Reference], object]
"""Something that happens to a site."""
MANY = 600
"""States after which a situation counts as too large to be looked through."""


class TooMany(Exception):
    """There are more orders than anybody wants to look through."""


def every_end(before: Reference, deeds: Sequence[Deed]) -> list[Reference]:
    """All sites that may come of `deeds` at once, once nothing is left to do. Raises `TooMany`."""
    if len(deeds) <= 1 and not any(workflow.program.starts_at for workflow in before.workflows):
        # Runs that start no others do not meet: any order comes to the same.
        end = before.clone()
        for deed in deeds:
            deed(end)
        end.settle()
        return [end]
    return [site for site, left in _reached(before, deeds, _that_matter) if not left and not site.moves()]


def every_moment(before: Reference, deeds: Sequence[Deed]) -> list[Reference]:
    """All sites on the way, the one before the first deed included. Raises `TooMany`."""
    return [site for site, _ in _reached(before, deeds, Reference.moves)]


def _that_matter(site: Reference) -> list[Move]:
    """The moves whose order matters to what comes of all. Once no sighting and no deed is left, a run of a sighting meets no other until it raises
    an alert: its steps may as well come first."""
    moves = site.moves()
    if not any(event.severity is None for event in site.unmatched):
        for move in moves:
            if move.kind in ("step", "wake", "fire") and site.keeps_to_itself(move):
                return [move]
    return moves


def _reached(
    before: Reference, deeds: Sequence[Deed], moves: Callable[[Reference], list[Move]]
) -> list[tuple[Reference, tuple[int, ...]]]:
    start = (before.clone(), tuple(range(len(deeds))))
    seen = {(start[0].fingerprint(), start[1])}
    found = [start]
    for site, left in found:
        for then, still in _onward(site, left, deeds, moves if not left else Reference.moves):
            mark = (then.fingerprint(), still)
            if mark not in seen:
                seen.add(mark)
                found.append((then, still))
        if len(found) > MANY:
            raise TooMany
    return found


def _onward(
    site: Reference, left: tuple[int, ...], deeds: Sequence[Deed], moves: Callable[[Reference], list[Move]]
) -> list[tuple[Reference, tuple[int, ...]]]:
    onward = []
    for number in left:
        then = site.clone()
        deeds[number](then)
        onward.append((then, tuple(one for one in left if one != number)))
    for move in moves(site):
        then = site.clone()
        then.make(move)
        onward.append((then, left))
    return onward
