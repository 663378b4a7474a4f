"""Nothing leaves the site but to where an admin said, once, and to the address that was looked at."""

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from siteward.core.errors import EgressRefused, Unreachable
from siteward.core.site.addresses import Address, is_refused, parse_target
from siteward.core.site.connect_guard import ConnectGuard
from siteward.core.site.egress import Destination, Egress, Sent

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def answers(*texts: str) -> Callable[[str, int], Awaitable[tuple[Address, ...]]]:
    async def resolve(host: str, port: int) -> tuple[Address, ...]:
        return tuple(ipaddress.ip_address(text) for text in texts)

    return resolve


@asynccontextmanager
async def server(handler: Handler) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handler)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/",
        "http://user@desk.example/",
        "http://desk.example\\@evil.example/",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://127.1/",
        "http://desk.example/../x",
        "http://desk.example/%2e%2e/x",
        "http://desk.example:99999/",
        "http:///x",
        "http://a..b/",
        "//desk.example/",
        "",
    ],
)
def test_an_address_that_reads_two_ways_is_refused(url: str) -> None:
    with pytest.raises(EgressRefused):
        parse_target(url)


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1",
        "0.0.0.0",
        "169.254.169.254",
        "224.0.0.1",
        "::1",
        "::",
        "fe80::1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ],
)
def test_a_name_never_leads_to_a_special_address(text: str) -> None:
    assert is_refused(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", ["192.168.1.5", "10.1.2.3", "93.184.216.34", "fd00::1", "2606:2800::1"])
def test_private_and_public_addresses_can_be_listed(text: str) -> None:
    assert not is_refused(ipaddress.ip_address(text))


DESK = Destination("desk", "https://desk.example/in", "webhook")


@pytest.mark.parametrize(
    ("url", "covered"),
    [
        ("https://desk.example/in", True),
        ("https://desk.example:443/in/x", True),
        ("https://DESK.example./in", True),
        ("https://desk.example/inside", False),
        ("https://desk.example/", False),
        ("http://desk.example/in", False),
        ("https://desk.example:8443/in", False),
        ("https://desk.example.evil.example/in", False),
    ],
)
def test_a_destination_covers_whole_segments_of_its_own_host_and_port(url: str, covered: bool) -> None:
    assert DESK.covers(parse_target(url)) is covered


@pytest.mark.parametrize(
    ("url", "purpose", "headers"),
    [
        ("https://other.example/in", "webhook", {}),
        ("https://desk.example/in", "camera", {}),
        ("https://desk.example/in", "webhook", {"Content-Type": "image/jpeg"}),
    ],
)
async def test_what_is_not_listed_for_this_purpose_and_data_is_refused(
    url: str, purpose: str, headers: dict[str, str]
) -> None:
    told: list[Sent] = []
    egress = Egress(lambda: [DESK], ConnectGuard(), resolve=answers("93.184.216.34"), told=told.append)
    with pytest.raises(EgressRefused):
        await egress.request("POST", url, purpose=purpose, headers=headers)
    assert [sent.allowed for sent in told] == [False]


@pytest.mark.parametrize("found", [("127.0.0.1",), ("93.184.216.34", "169.254.169.254"), ("::ffff:127.0.0.1",), ()])
async def test_a_listed_name_that_leads_inside_is_refused(found: tuple[str, ...]) -> None:
    egress = Egress(lambda: [DESK], ConnectGuard(), resolve=answers(*found))
    with pytest.raises(EgressRefused):
        await egress.request("POST", "https://desk.example/in", purpose="webhook")


async def test_localhost_that_leads_outside_is_refused() -> None:
    egress = Egress(list, ConnectGuard(), resolve=answers("93.184.216.34"))
    with pytest.raises(EgressRefused):
        await egress.request("GET", "http://localhost:1/", purpose="gate")


async def test_this_machine_is_reached_and_proxies_of_the_environment_are_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")

    async def hello(request: web.Request) -> web.Response:
        return web.Response(text=f"{request.method} {request.headers['X-Key']} {(await request.read()).decode()}")

    async with server(hello) as base:
        egress = Egress(list, ConnectGuard())
        status, body = await egress.request("POST", base + "/open", purpose="gate", body=b"{}", headers={"X-Key": "k1"})
    assert (status, body) == (200, b"POST k1 {}")


async def test_a_redirect_is_not_followed() -> None:
    seen: list[str] = []

    async def elsewhere(request: web.Request) -> web.Response:
        seen.append(request.path)
        return web.Response(status=302, headers={"Location": "/other"})

    async with server(elsewhere) as base:
        status, _ = await Egress(list, ConnectGuard()).request("GET", base + "/a", purpose="gate")
    assert (status, seen) == (302, ["/a"])


async def test_a_dropped_request_is_not_sent_again() -> None:
    seen: list[str] = []

    async def drop(request: web.Request) -> web.Response:
        seen.append(request.path)
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    async with server(drop) as base:
        with pytest.raises(Unreachable):
            await Egress(list, ConnectGuard()).request("GET", base + "/a", purpose="gate")
    assert seen == ["/a"]


async def test_an_endless_answer_is_cut_off() -> None:
    async def flood(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(200):
            await response.write(b"x" * 65536)
        return response

    async with server(flood) as base:
        with pytest.raises(Unreachable, match="8 MiB"):
            await Egress(list, ConnectGuard()).request("GET", base + "/", purpose="camera")


async def test_nobody_there_is_said_in_one_sentence() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Unreachable, match="did not answer"):
        await Egress(list, ConnectGuard()).request("GET", f"http://127.0.0.1:{port}/", purpose="camera")


async def test_the_backstop_stops_a_socket_that_goes_around_the_gate() -> None:
    guard = ConnectGuard()
    with guard.armed():
        with socket.socket() as around, pytest.raises(EgressRefused):
            around.connect(("93.184.216.34", 80))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as around, pytest.raises(EgressRefused):
            around.sendto(b"x", ("93.184.216.34", 53))
        with socket.socket() as around:
            around.setblocking(False)
            with pytest.raises(EgressRefused):
                await asyncio.get_running_loop().sock_connect(around, ("93.184.216.34", 80))


def test_the_backstop_lets_pinned_addresses_pass_only_while_they_are_pinned() -> None:
    guard = ConnectGuard(standing=[("10.0.0.5", 5432)])
    address = ipaddress.ip_address("93.184.216.34")
    with guard.pinned([address], 443):
        assert guard.allows("93.184.216.34", 443)
        assert not guard.allows("93.184.216.34", 80)
    assert not guard.allows("93.184.216.34", 443)
    assert guard.allows("10.0.0.5", 5432)
    assert guard.allows("127.0.0.1", 1) and guard.allows("::1", 1) and guard.allows("::ffff:127.0.0.1", 1)
    assert not guard.allows("desk.example", 443)


async def test_a_broker_is_reached_at_the_address_that_was_looked_at_and_only_meanwhile() -> None:
    guard, told = ConnectGuard(), list[Sent]()
    broker = Destination("broker", "mqtt://desk.example", "mqtt")
    gate = Egress(lambda: (broker,), guard, resolve=answers("192.168.1.9"), told=told.append)
    async with gate.reached("mqtt://desk.example:1883", purpose="mqtt") as addresses:
        assert addresses == ("192.168.1.9",)
        assert guard.allows("192.168.1.9", 1883)
        assert not guard.allows("192.168.1.9", 8883)
    assert not guard.allows("192.168.1.9", 1883)
    assert [(one.host, one.destination, one.allowed) for one in told] == [("desk.example", "broker", True)]
    for url, purpose in (
        ("mqtt://desk.example:8883", "mqtt"),
        ("mqtts://desk.example:1883", "mqtt"),
        ("mqtt://desk.example", "webhook"),
    ):
        with pytest.raises(EgressRefused):
            async with gate.reached(url, purpose=purpose):
                pytest.fail("it may not be reached")


async def test_a_brokers_address_is_none_for_a_request() -> None:
    broker = Destination("broker", "mqtt://desk.example", "webhook")
    with pytest.raises(EgressRefused, match="Only http and https"):
        await Egress(lambda: (broker,), ConnectGuard()).request("POST", "mqtt://desk.example", purpose="webhook")
