"""The backstop behind the egress gate: Python's own audit event at `connect` refuses addresses that the gate did not pin.

It holds every socket that Python code of this process opens (libraries included); native libraries that open sockets by themselves are not
seen and get addresses from the gate in workers of their own. An audit hook can never be removed, so there is one per process and it asks
the guards that are armed.
"""

from __future__ import annotations

import ipaddress
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from siteward.core.errors import EgressRefused

from .addresses import Address, unwrapped

_EVENTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_armed: list[ConnectGuard] = []
_hooked: list[bool] = []


class ConnectGuard:
    """Which addresses may be connected to right now: this machine, the pinned ones, and those that are `standing` (a database)."""

    def __init__(self, standing: Iterable[tuple[str, int]] = ()) -> None:
        self._pins: Counter[tuple[str, int]] = Counter(standing)

    @contextmanager
    def pinned(self, addresses: Iterable[Address], port: int) -> Iterator[None]:
        """Allow `addresses` while the block runs."""
        pins = [(str(unwrapped(address)), port) for address in addresses]
        self._pins.update(pins)
        try:
            yield
        finally:
            self._pins.subtract(pins)
            for pin in pins:
                if self._pins[pin] <= 0:
                    del self._pins[pin]

    @contextmanager
    def armed(self) -> Iterator[None]:
        """Refuse every other address while the block runs."""
        if not _hooked:
            sys.addaudithook(_hook)
            _hooked.append(True)
        _armed.append(self)
        try:
            yield
        finally:
            _armed.remove(self)

    def allows(self, host: str, port: int) -> bool:
        """Whether a socket may go to `host` (an address; a name that Python would look up by itself is not one)."""
        try:
            address = unwrapped(ipaddress.ip_address(host.split("%")[0]))
        except ValueError:
            return host == "localhost"
        return address.is_loopback or self._pins.get((str(address), port), 0) > 0


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _armed or event not in _EVENTS:
        return
    address = arguments[1]
    if not isinstance(address, tuple) or len(address) < 2:  # unix sockets, or a datagram on a connected socket
        return
    host, port = str(address[0]), int(address[1])
    if not all(guard.allows(host, port) for guard in _armed):
        raise EgressRefused(
            f"A connection to {host}:{port} was refused: it does not go through the site's egress gate."
        )
