"""The live stream: what changed, once, in order; resumed where it broke; ended with the session."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from aiohttp import ClientWebSocketResponse, WSMsgType, WSServerHandshakeError

from siteward.core.api import live
from siteward.core.engine.rows import publish
from siteward.core.store.errors import ReadFailed
from siteward.core.store.writer import Op

from .conftest import Visitors
from .house import CONCIERGE, House


async def tell(house: House, *numbers: int, camera: str | None = None) -> None:
    ops = [publish("workflow.changed", {"number": number}, camera, 0.0) for number in numbers]
    await house.site.store.submit(*ops)


async def take(socket: ClientWebSocketResponse, count: int) -> Sequence[dict[str, Any]]:
    async with asyncio.timeout(5):
        return [json.loads(await socket.receive_str()) for _ in range(count)]


async def test_a_page_hears_what_changes_in_order(house: House, visit: Visitors) -> None:
    socket = await (await visit("anna")).live()
    (hello,) = await take(socket, 1)
    assert hello["topic"] == "hello"
    await tell(house, 1, 2)
    await tell(house, 3)
    told = await take(socket, 3)
    assert [message["data"]["number"] for message in told] == [1, 2, 3]
    assert [message["id"] for message in told] == [hello["id"] + n for n in (1, 2, 3)]


async def test_a_page_that_comes_back_gets_what_it_missed_and_nothing_twice(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    socket = await anna.live()
    (hello,) = await take(socket, 1)
    await socket.close()
    await tell(house, 1, 2, 3)
    again = await anna.live(last=hello["id"] + 1)
    await tell(house, 4)
    told = await take(again, 4)
    assert [message["topic"] for message in told] == ["hello"] + ["workflow.changed"] * 3
    assert [message["data"]["number"] for message in told[1:]] == [2, 3, 4]


@pytest.mark.parametrize("last", [10**6, 10**20])
async def test_a_page_from_another_time_starts_anew(house: House, visit: Visitors, last: int) -> None:
    await tell(house, 1)
    socket = await (await visit("anna")).live(last=last)
    told = await take(socket, 1)
    assert told[0]["topic"] == "resync"


async def test_a_page_whose_messages_are_gone_starts_anew(house: House, visit: Visitors) -> None:
    await tell(house, *range(5))
    await house.site.store.submit(Op("DELETE FROM outbox WHERE id <= 3"))
    socket = await (await visit("anna")).live(last=1)
    assert [message["topic"] for message in await take(socket, 1)] == ["resync"]


async def test_a_page_that_does_not_read_costs_a_bounded_queue(
    house: House, visit: Visitors, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, offered = asyncio.Event(), asyncio.Event()
    sending, offer = live.Live._send, live._Page.offer

    async def stuck(self: live.Live, page: Any) -> None:
        await release.wait()
        await sending(self, page)

    def noted(self: live._Page, row: Any) -> None:
        offer(self, row)
        if json.loads(row["payload"])["number"] == 999:
            offered.set()

    monkeypatch.setattr(live.Live, "_send", stuck)
    monkeypatch.setattr(live._Page, "offer", noted)
    socket = await (await visit("anna")).live()
    for start in range(0, 1000, 100):
        await tell(house, *range(start, start + 100))
    async with asyncio.timeout(5):
        await offered.wait()
    release.set()
    told = await take(socket, 1)
    assert told[0]["topic"] == "resync"
    await tell(house, 7)
    assert (await take(socket, 1))[0]["data"] == {"number": 7}


async def test_only_the_sites_own_pages_may_listen(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    for origin in ("http://evil.example", "null"):
        with pytest.raises(WSServerHandshakeError) as caught:
            await anna.live(origin=origin)
        assert caught.value.status == 403
    with pytest.raises(WSServerHandshakeError) as caught:
        await anna.session.ws_connect(house.address + "/api/v1/live")
    assert caught.value.status == 403


async def test_nothing_more_is_told_once_the_session_ended(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    socket = await anna.live()
    await take(socket, 1)
    await anna.post("/logout")
    await tell(house, 1)
    async with asyncio.timeout(5):
        message = await socket.receive()
    assert message.type is WSMsgType.CLOSE
    assert socket.close_code == live.SESSION_ENDED


async def test_nothing_more_is_told_once_the_account_is_closed(house: House, visit: Visitors) -> None:
    anna, gina = await visit("anna"), await visit("gina")
    socket = await gina.live()
    await take(socket, 1)
    await anna.post("/people/gina", method="DELETE")
    await tell(house, 1, camera="gate-cam")
    async with asyncio.timeout(5):
        assert (await socket.receive()).type is WSMsgType.CLOSE


async def test_a_page_that_talks_is_closed(house: House, visit: Visitors) -> None:
    socket = await (await visit("anna")).live()
    await take(socket, 1)
    await socket.send_str("hello?")
    async with asyncio.timeout(5):
        assert (await socket.receive()).type is WSMsgType.CLOSE
    assert socket.close_code == 1008


async def test_who_lacks_the_camera_does_not_hear_that_its_run_was_ended(house: House, visit: Visitors) -> None:
    anna, vera = await visit("anna"), await visit("vera")
    saved = await anna.post("/workflows", {"text": CONCIERGE})
    await anna.post(f"/workflows/{saved['id']}/state", {"state": "on", "base_version": 1})
    heard = {"anna": await anna.live(), "vera": await vera.live()}
    for socket in heard.values():
        await take(socket, 1)
    run = await house.vehicle()
    assert (await anna.ask("POST", f"/runs/{run}/cancel")).status == 200
    await tell(house, 1)
    told = {name: await until_told(socket) for name, socket in heard.items()}
    assert {"run.ended", "approval.closed"} <= {message["topic"] for message in told["anna"]}
    assert [message["topic"] for message in told["vera"] if message["data"].get("run") == run] == []


async def until_told(socket: ClientWebSocketResponse) -> list[dict[str, Any]]:
    """Every message up to the one that `tell` sent."""
    found: list[dict[str, Any]] = []
    while not found or "number" not in found[-1]["data"]:
        found += await take(socket, 1)
    return found


async def test_a_browser_that_does_not_let_go_holds_up_nobody_else(house: House, visit: Visitors) -> None:
    """Closing a socket waits for the other side. Of one that never answers, the others notice nothing."""
    gina, anna = await visit("gina"), await visit("anna")
    deaf, heard = await gina.live(), await anna.live()
    await take(deaf, 1)
    await take(heard, 1)
    await anna.ask("DELETE", "/people/gina")  # `deaf` is not read from here on: it answers no closing
    await tell(house, 1)
    async with asyncio.timeout(2):
        assert (await until_told(heard))[-1]["data"] == {"number": 1}


async def test_the_stream_goes_on_after_the_database_gave_no_answer(
    house: House, visit: Visitors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "AGAIN_SECONDS", 0.0)
    socket = await (await visit("anna")).live()
    await take(socket, 1)
    read, failures = house.site.store.read, [ReadFailed("the database is locked")] * 3

    async def held(query: Any, params: Any = None) -> Any:
        if "outbox" in str(query) and failures:
            raise failures.pop()
        return await read(query, params)

    monkeypatch.setattr(house.site.store, "read", held)
    await tell(house, 1)
    assert (await take(socket, 1))[0]["data"] == {"number": 1}
    assert failures == []


async def test_one_person_does_not_take_the_stream_from_the_others(house: House, visit: Visitors) -> None:
    gina, anna = await visit("gina"), await visit("anna")
    open_pages = [await gina.live() for _ in range(live.MOST_OF_ONE)]
    for page in open_pages:
        await take(page, 1)
    with pytest.raises(WSServerHandshakeError) as refused:
        await gina.live()
    assert refused.value.status == 503
    await take(await anna.live(), 1)
