"""A gate moves at most once for one command, and its step says only what is known."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import web

from siteward.core.errors import ActionFailed, NotReady, OutcomeUnknown, TooLate, UnknownRole, Unreachable
from siteward.core.plugins.objects import GateSettings
from siteward.integrations.gate_relay.move import close_gate, open_gate
from siteward.integrations.gate_relay.relay import read_state
from tests.integrations.world import HostInMemory, a_call, nobody_listens, serving


@dataclass
class Relay:
    """A relay that can die at each point of a command. `acts_after` is how many readings after the command the gate is where it should be."""

    state: str = "closed"
    dies: str | None = None
    answers: int = 200
    tells_key: bool = True
    acts_after: int = 0
    stuck: bool = False
    dead: bool = False
    moved: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    key: str | None = None
    pending: tuple[int, str] | None = None
    asked: Callable[[], Awaitable[None]] | None = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self.dead:
            return self._cut(request)
        if request.method == "GET":
            if self.asked is not None:
                await self.asked()
            return self._tell()
        self.headers.append(dict(request.headers))
        if self.dies == "before acting":
            self.dead = True
            return self._cut(request)
        if self.answers >= 400 and self.dies != "after acting":
            return web.json_response(
                {"sentence": "The loop detector sees a vehicle under the barrier."}, status=self.answers
            )
        self._act("open" if request.path == "/open" else "closed", request.headers["Idempotency-Key"])
        if self.dies in ("after acting", "after acting, for good"):
            self.dead = self.dies.endswith("for good")
            if self.answers >= 400:
                return web.Response(status=self.answers)
            return self._cut(request)
        self.dead = self.dies == "after answering"
        return web.json_response({"state": self.state})

    def _act(self, wanted: str, key: str) -> None:
        self.moved.append(wanted)
        self.key = key
        if not self.stuck:
            self.pending = (self.acts_after, wanted)

    def _tell(self) -> web.Response:
        if self.pending is not None:
            left, wanted = self.pending
            self.state, self.pending = (wanted, None) if left == 0 else (self.state, (left - 1, wanted))
        said: dict[str, Any] = {"state": self.state}
        if self.tells_key:
            said["key"] = self.key
        return web.json_response(said)

    def _cut(self, request: web.Request) -> web.Response:
        """The power goes: the connection ends without an answer."""
        assert request.transport is not None
        request.transport.abort()
        return web.Response()


@asynccontextmanager
async def site_with(relay: Relay, **settings: Any) -> AsyncIterator[HostInMemory]:
    async with serving(relay.handle) as url:
        host = HostInMemory()
        host.gates["main_gate"] = GateSettings("main_gate", "gate_relay", {"url": url, **settings})
        yield host


OPEN = a_call("gate.open", {"gate": "main_gate"})
CLOSE = a_call("gate.close", {"gate": "main_gate"})


async def test_an_opened_gate_is_read_back_and_its_change_is_an_event_of_the_run() -> None:
    relay = Relay(acts_after=3)
    async with site_with(relay) as host:
        assert await open_gate(OPEN, host) == {"dry_run": False, "before": "closed", "state": "open"}
    assert relay.moved == ["open"]
    (event,) = host.events.values()
    assert event.type == "gate.changed"
    assert event.payload == {"gate": "main_gate", "to": "open"}
    assert (event.correlation_id, event.chain, event.caused_by) == ("c1", 1, "w1")


async def test_a_closed_gate_is_read_back() -> None:
    relay = Relay(state="open")
    async with site_with(relay) as host:
        assert (await close_gate(CLOSE, host))["state"] == "closed"
    assert relay.moved == ["closed"]


async def test_a_command_carries_its_key_and_where_it_comes_from() -> None:
    relay = Relay()
    async with site_with(relay) as host:
        await open_gate(OPEN, host)
    (headers,) = relay.headers
    assert headers["Idempotency-Key"] == "key-1"
    assert headers["X-Siteward-Correlation-Id"] == "c1"
    assert headers["X-Siteward-Chain"] == "1"


async def test_a_gate_that_was_open_already_has_not_changed() -> None:
    async with site_with(Relay(state="open")) as host:
        assert (await open_gate(OPEN, host))["before"] == "open"
    assert host.events == {}


async def test_a_dry_run_reads_the_state_and_sends_nothing() -> None:
    relay = Relay()
    async with site_with(relay, dry_run=True) as host:
        assert await open_gate(OPEN, host) == {"dry_run": True, "before": "closed", "state": "closed"}
    assert relay.moved == [] and relay.headers == []


async def test_a_relay_that_is_off_is_sent_nothing() -> None:
    host = HostInMemory()
    host.gates["main_gate"] = GateSettings("main_gate", "gate_relay", {"url": await nobody_listens()})
    with pytest.raises(ActionFailed, match="Nothing was sent to the gate main_gate"):
        await open_gate(OPEN, host)


async def test_a_relay_outside_of_the_approved_destinations_is_sent_nothing() -> None:
    host = HostInMemory()
    host.gates["main_gate"] = GateSettings("main_gate", "gate_relay", {"url": "http://192.0.2.7"})
    with pytest.raises(ActionFailed, match="not a listed destination"):
        await open_gate(OPEN, host)


async def test_a_refusal_says_that_nothing_moved_and_why() -> None:
    relay = Relay(answers=409)
    async with site_with(relay) as host:
        with pytest.raises(ActionFailed, match="refused to open the gate main_gate: The loop detector sees a vehicle"):
            await open_gate(OPEN, host)
    assert relay.moved == [] and host.events == {}


@pytest.mark.parametrize(
    ("dies", "answers", "tells_key", "moved"),
    [
        ("before acting", 200, True, []),
        ("after acting", 200, False, ["open"]),
        ("after acting", 500, False, ["open"]),
        ("after acting", 408, False, ["open"]),
        ("after acting, for good", 200, True, ["open"]),
        ("after answering", 200, True, ["open"]),
    ],
)
async def test_a_lost_answer_is_unknown_and_is_not_sent_again(
    dies: str, answers: int, tells_key: bool, moved: list[str]
) -> None:
    relay = Relay(dies=dies, answers=answers, tells_key=tells_key)
    async with site_with(relay) as host:
        with pytest.raises(OutcomeUnknown, match="What the gate main_gate did is not known"):
            await open_gate(OPEN, host)
    assert relay.moved == moved
    assert len(relay.headers) == 1
    assert host.events == {}


@pytest.mark.parametrize("answers", [200, 500])
async def test_a_lost_answer_is_settled_by_the_key_of_the_last_command(answers: int) -> None:
    relay = Relay(dies="after acting", answers=answers)
    async with site_with(relay) as host:
        assert (await open_gate(OPEN, host))["state"] == "open"
    assert relay.moved == ["open"]
    assert len(relay.headers) == 1


async def test_the_key_of_another_command_settles_nothing() -> None:
    relay = Relay(dies="before acting", key="key-0", state="open")
    async with site_with(relay) as host:
        with pytest.raises(OutcomeUnknown):
            await open_gate(OPEN, host)


async def test_a_move_whose_authority_ran_out_while_the_relay_was_asked_is_not_sent() -> None:
    relay = Relay()

    async with site_with(relay) as host:
        at = host.clock.since_boot()
        relay.asked = lambda: host.clock.advance(3)
        with pytest.raises(TooLate, match="Nothing was sent to the gate main_gate"):
            await open_gate(replace(OPEN, send_by=at + 2), host)
        assert relay.headers == []
        assert (await open_gate(replace(OPEN, send_by=at + 6), host))["state"] == "open"


async def test_a_gate_that_never_gets_there_is_unknown() -> None:
    relay = Relay(stuck=True)
    async with site_with(relay, settle_seconds=5) as host:
        with pytest.raises(OutcomeUnknown, match="after 5 seconds the gate still reads closed"):
            await open_gate(OPEN, host)
    assert relay.moved == ["open"]


async def test_a_move_that_is_known_stays_known_when_its_event_is_not_taken() -> None:
    async with site_with(Relay()) as host:
        host.refuses = NotReady("The disk is full.")
        assert (await open_gate(OPEN, host))["state"] == "open"


async def test_a_gate_that_the_site_does_not_have_is_said_to_be_unknown() -> None:
    with pytest.raises(UnknownRole):
        await open_gate(OPEN, HostInMemory())


@pytest.mark.parametrize("settings", [{}, {"url": "main.example"}, {"url": "http://127.0.0.1", "settle_seconds": 3600}])
async def test_wrong_settings_move_nothing(settings: dict[str, Any]) -> None:
    host = HostInMemory()
    host.gates["main_gate"] = GateSettings("main_gate", "gate_relay", settings)
    with pytest.raises(ActionFailed, match="configured wrongly"):
        await open_gate(OPEN, host)


@pytest.mark.parametrize(
    ("body", "state"),
    [
        ({"state": "open"}, "open"),
        ({"state": "closed"}, "closed"),
        ({"state": "ajar"}, "unknown"),
        ({}, "unknown"),
        ([], "unknown"),
        ("no JSON", "unknown"),
    ],
)
async def test_the_state_is_what_the_relay_says_or_unknown(body: object, state: str) -> None:
    async def tell(_request: web.Request) -> web.StreamResponse:
        return web.Response(text=body if isinstance(body, str) else json.dumps(body))

    async with serving(tell) as url:
        assert await read_state(GateSettings("main_gate", "gate_relay", {"url": url}), HostInMemory()) == state


async def test_a_relay_that_fails_has_no_state() -> None:
    async def fail(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=503)

    async with serving(fail) as url:
        with pytest.raises(Unreachable, match="answered 503"):
            await read_state(GateSettings("main_gate", "gate_relay", {"url": url}), HostInMemory())
