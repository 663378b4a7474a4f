"""Slows down who guesses: log-in failures counted per address, so that one address that fails a thousand times stops nobody elsewhere."""

from __future__ import annotations

import ipaddress
from collections import OrderedDict

from siteward.core.clock import Clock
from siteward.core.errors import SitewardError

FREE_FAILURES = 8
WINDOW_SECONDS = 300.0
ADDRESSES = 4096


class TooManyAttempts(SitewardError):
    """This address failed too often; `retry_after` seconds are left."""

    code = "login.throttled"

    def __init__(self, retry_after: float) -> None:
        super().__init__("Too many failed attempts from this address. Wait a few minutes and try again.")
        self.retry_after = retry_after


class Throttle:
    """Failures by address (a whole /64 of IPv6 counts as one), within a window; bounded in memory, oldest address forgotten first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def begin(self, address: str | None) -> None:
        """An attempt begins, and counts as failed until it has succeeded: of a thousand at once no more get through than of a thousand one
        after the other. Raises `TooManyAttempts` where the address has to wait."""
        count, since = self._failures.get(_place(address), (0, 0.0))
        left = since + WINDOW_SECONDS - self._clock.since_boot()
        if count >= FREE_FAILURES and left > 0:
            raise TooManyAttempts(left)
        self._count(address)

    def _count(self, address: str | None) -> None:
        place, now = _place(address), self._clock.since_boot()
        count, since = self._failures.pop(place, (0, now))
        if now - since > WINDOW_SECONDS:
            count, since = 0, now
        self._failures[place] = (count + 1, since)
        while len(self._failures) > ADDRESSES:
            self._failures.popitem(last=False)

    def succeeded(self, address: str | None) -> None:
        """Forget the failures of an address that got in."""
        self._failures.pop(_place(address), None)


def _place(address: str | None) -> str:
    try:
        parsed = ipaddress.ip_address(address or "")
    except ValueError:
        return "unknown"
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
