"""Ids that sort by the time they were made: 48 bits of milliseconds and 80 random bits in Crockford's base 32 (the ULID
layout, https://github.com/ulid/spec). Clock and random source are injected, so a test's ids are always the same."""

from __future__ import annotations

from random import Random
from typing import Protocol

from siteward.core.clock import Clock

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS = 80
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_SHIFTS = range(120, -1, -10)
"""26 characters are 13 pairs of 10 bits each."""


class Ids(Protocol):
    """Gives new ids."""

    def new(self) -> str:
        """An id that was never given before and sorts after those of earlier milliseconds."""
        ...


class TimedIds:
    """Ids from a clock and a random source. Within one millisecond they go on counting, so they sort in the order they were given."""

    def __init__(self, clock: Clock, random: Random) -> None:
        self._clock = clock
        self._random = random
        self._last = 0

    def new(self) -> str:
        """A 26-character id."""
        millis = int(self._clock.now().timestamp() * 1000)
        number = millis << _RANDOM_BITS | self._random.getrandbits(_RANDOM_BITS)
        if number >> _RANDOM_BITS == self._last >> _RANDOM_BITS:
            number = self._last + 1 + self._random.getrandbits(16)
        self._last = number
        return encode(number)


def encode(number: int) -> str:
    """`number` (below 2**130) as 26 characters, most significant first."""
    return "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


def first_at(seconds: float) -> str:
    """An id before every one that is made from this time on (seconds since 1970), and after every earlier one."""
    return encode(max(0, int(seconds * 1000)) << _RANDOM_BITS)
