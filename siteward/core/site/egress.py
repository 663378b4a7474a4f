"""The one gate for bytes that leave: this machine itself, and destinations that the site lists, each for a purpose and classes of data.

A name is resolved once, every answer is classified, and the connection goes to a pinned address. Redirects are not followed, proxies of
the environment are ignored, nothing is sent twice.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from siteward.core.errors import EgressRefused, Unreachable

from .addresses import HTTP, Address, Target, is_refused, parse_target, unwrapped
from .connect_guard import ConnectGuard

MAXIMUM_BYTES: Final = 8 * 1024 * 1024
DNS_SECONDS: Final = 5.0
_TEXT: Final = frozenset({"text"})
_CLASSES_BY_CONTENT: Final = {"image": "picture", "video": "picture", "audio": "audio"}

Resolve = Callable[[str, int], Awaitable[tuple[Address, ...]]]


@dataclass(frozen=True, slots=True)
class Destination:
    """A listed destination. `url` is a prefix: scheme, host and port equal, the path by whole segments."""

    name: str
    url: str
    purpose: str
    data_classes: frozenset[str] = frozenset({"text"})
    tells: bool = False

    def covers(self, target: Target) -> bool:
        """Whether `target` lies under this destination."""
        own = parse_target(self.url)
        same = (own.scheme, own.host, own.port) == (target.scheme, target.host, target.port)
        prefix = own.path.rstrip("/")
        return same and (target.path == own.path or target.path.startswith(prefix + "/"))


@dataclass(frozen=True, slots=True)
class Sent:
    """What left: told to whoever listens, for the page that shows what went where."""

    purpose: str
    host: str
    destination: str | None
    data_classes: frozenset[str]
    size: int
    allowed: bool


class Egress:
    """Sends HTTP requests that the site allows."""

    def __init__(
        self,
        destinations: Callable[[], Iterable[Destination]],
        guard: ConnectGuard,
        *,
        resolve: Resolve | None = None,
        told: Callable[[Sent], None] | None = None,
    ) -> None:
        self._destinations = destinations
        self._guard = guard
        self._resolve = resolve or resolve_with_system
        self._told = told or (lambda _sent: None)

    async def request(
        self,
        method: str,
        url: str,
        *,
        purpose: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
        data_classes: frozenset[str] = frozenset(),
    ) -> tuple[int, bytes]:
        """One request, sent at most once; returns status and body, a redirect as it came.

        Raises `EgressRefused` (nothing was sent) or `Unreachable` (no answer; it may have been received).
        """
        target = parse_target(url, HTTP)
        classes = data_classes | _classes(headers or {})
        destination = self._allowed(target, purpose, classes, len(body or b""))
        addresses = await self._addresses(target)
        with self._guard.pinned(addresses, target.port):
            return await _send(method, target, addresses, body, headers or {}, timeout, destination)

    @asynccontextmanager
    async def reached(self, url: str, *, purpose: str) -> AsyncIterator[tuple[str, ...]]:
        """While the block runs, this process may connect to the addresses that it gives: for a protocol that is not HTTP. Raises
        `EgressRefused` or `Unreachable`."""
        target = parse_target(url)
        self._allowed(target, purpose, _TEXT, 0)
        addresses = await self._addresses(target)
        with self._guard.pinned(addresses, target.port):
            yield tuple(map(str, addresses))

    def _allowed(self, target: Target, purpose: str, classes: frozenset[str], size: int) -> str | None:
        """The name of the destination, None for this machine. Raises `EgressRefused`."""
        if target.is_loopback:
            self._told(Sent(purpose, target.host, None, classes, size, True))
            return None
        covering = [entry for entry in self._destinations() if entry.covers(target)]
        for entry in covering:
            if entry.purpose == purpose and classes <= entry.data_classes:
                self._told(Sent(purpose, target.host, entry.name, classes, size, True))
                return entry.name
        self._told(Sent(purpose, target.host, None, classes, size, False))
        if covering:
            raise EgressRefused(
                f"The destination {covering[0].name} is not approved for {purpose} with {', '.join(sorted(classes))}. "
                "An admin can approve that under destinations.",
                where=covering[0].name,
            )
        raise EgressRefused(
            f"{target.host}:{target.port} is not a listed destination. An admin can list it under destinations in the configuration.",
            where=target.host,
        )

    async def _addresses(self, target: Target) -> tuple[Address, ...]:
        literal = target.literal
        if literal is not None:
            found: tuple[Address, ...] = (literal,)
        else:
            try:
                async with asyncio.timeout(DNS_SECONDS):
                    found = await self._resolve(target.host, target.port)
            except (OSError, TimeoutError) as error:
                raise Unreachable(f"The name {target.host} does not resolve.", where=target.host) from error
        if target.is_loopback:
            bad = [address for address in found if not unwrapped(address).is_loopback]
        else:
            bad = [address for address in found if is_refused(address)]
        if bad or not found:
            raise EgressRefused(
                f"{target.host} leads to {', '.join(map(str, bad)) or 'no address'}, which is not reached from here."
            )
        return found


def _classes(headers: Mapping[str, str]) -> frozenset[str]:
    content = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
    return frozenset({_CLASSES_BY_CONTENT.get(content.split("/", 1)[0].strip().lower(), "text")})


async def resolve_with_system(host: str, port: int) -> tuple[Address, ...]:
    """All addresses of a name, by the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(ipaddress.ip_address(str(entry[4][0]).split("%")[0]) for entry in found))


class _Pinned(AbstractResolver):
    """Answers with the addresses that were classified, whatever is asked, and never looks anything up."""

    def __init__(self, addresses: Iterable[Address]) -> None:
        self._addresses = tuple(addresses)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        """Nothing is held."""


class _Once:
    """Client middleware that lets a request out once: aiohttp sends a dropped GET again by itself."""

    def __init__(self) -> None:
        self._sent = False

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        if self._sent:
            raise aiohttp.ServerDisconnectedError("the connection dropped; nothing is sent twice")
        self._sent = True
        return await handler(request)


async def _send(
    method: str,
    target: Target,
    addresses: tuple[Address, ...],
    body: bytes | None,
    headers: Mapping[str, str],
    timeout: float,
    destination: str | None,
) -> tuple[int, bytes]:
    connector = aiohttp.TCPConnector(resolver=_Pinned(addresses), use_dns_cache=False, force_close=True)
    session = aiohttp.ClientSession(
        connector=connector,
        trust_env=False,
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=timeout),
        middlewares=(_Once(),),
        cookie_jar=aiohttp.DummyCookieJar(),
    )
    where = destination or f"{target.host}:{target.port}"
    async with session:
        try:
            async with session.request(
                method, target.url, data=body, headers={"Accept-Encoding": "identity", **headers}, allow_redirects=False
            ) as response:
                return response.status, await _bounded(response, where)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise Unreachable(
                f"{where} did not answer ({type(error).__name__}). Is it on, and is the address right?", where=where
            ) from error


async def _bounded(response: aiohttp.ClientResponse, where: str) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_chunked(65536):
        size += len(part)
        if size > MAXIMUM_BYTES:
            raise Unreachable(f"{where} answered with more than {MAXIMUM_BYTES // 1024 // 1024} MiB.", where=where)
        parts.append(part)
    return b"".join(parts)
