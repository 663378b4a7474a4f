"""Which addresses exist for the egress gate: how a URL's host is read, and which classes of addresses are never reached by a name.

The refused classes are those of the IANA special-purpose registries (RFC 6890 and its updates) that a listed destination has no business in;
private networks are the normal case on a site and allowed where an admin listed the destination.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from siteward.core.errors import EgressRefused

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

REFUSED: Final = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "192.0.0.0/24",
        "192.88.99.0/24",
        "224.0.0.0/3",
        "::/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2001::/32",
        "2002::/16",
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
    )
)
PORTS: Final = {"http": 80, "https": 443, "mqtt": 1883, "mqtts": 8883, "nats": 4222, "tls": 4222}
"""The schemes that are reached, and where each listens if nothing else is said."""
HTTP: Final = ("http", "https")
_HOST: Final = re.compile(
    r"^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$"
)
_PATH: Final = re.compile(r"^[A-Za-z0-9/._~!$&'()*+,;=:@%-]*$")
_DOTS: Final = re.compile(r"(?:^|/)(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Target:
    """A URL taken apart: canonical host, explicit port, path as written."""

    scheme: str
    host: str
    port: int
    path: str
    url: str

    @property
    def literal(self) -> Address | None:
        """The address, where the host is one."""
        return _literal(self.host)

    @property
    def is_loopback(self) -> bool:
        """Whether the URL itself names this machine."""
        literal = self.literal
        return self.host == "localhost" or (literal is not None and unwrapped(literal).is_loopback)


def unwrapped(address: Address) -> Address:
    """An IPv4 address that hides in an IPv6 one, as itself."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def is_refused(address: Address) -> bool:
    """Whether no name may lead to this address."""
    plain = unwrapped(address)
    return any(plain.version == network.version and plain in network for network in REFUSED)


def parse_target(url: str, schemes: Collection[str] = tuple(PORTS)) -> Target:
    """Take a URL of one of these schemes apart. Raises `EgressRefused` for what could be read in two ways."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise EgressRefused(f"This is not an address: {error}.") from error
    if parts.scheme not in schemes or not parts.hostname:
        raise EgressRefused(f"Only {' and '.join(schemes)} addresses with a host are reached.")
    if parts.username is not None or parts.password is not None or "@" in parts.netloc or "\\" in url:
        raise EgressRefused("An address holds no user, password or backslash; put credentials into the settings.")
    path = parts.path or "/"
    if not _PATH.match(path) or _DOTS.search(path):
        raise EgressRefused("The path of the address holds dots or characters that could be read in two ways.")
    return Target(parts.scheme, _host(parts.hostname), port or PORTS[parts.scheme], path, url)


def _host(raw: str) -> str:
    host = raw.lower().rstrip(".")
    if _literal(host) is not None:
        return host
    try:
        host = host.encode("idna").decode()
    except UnicodeError as error:
        raise EgressRefused(f"{raw} is no host name.") from error
    last = host.rsplit(".", 1)[-1]
    # The system's resolver reads `0x7f.1` and `2130706433` as addresses; a name never ends in a number (WHATWG URL, host parsing).
    if not _HOST.match(host) or last.isdigit() or re.fullmatch(r"0x[0-9a-f]*", last):
        raise EgressRefused(f"{raw} is no host name and no plain address.")
    return host


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
