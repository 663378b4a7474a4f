"""Setting up and letting go: one integration that raises, hangs or is cut short keeps none of the others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
import voluptuous as vol

from siteward.core.errors import AuthFailed, NotReady
from siteward.core.plugins.discovery import Found
from siteward.core.plugins.entry import Entry
from siteward.core.plugins.hookspecs import hookimpl
from siteward.core.plugins.objects import Host
from siteward.core.plugins.registry import Loaded, LoadState
from siteward.core.plugins.setup import SetUp
from tests.integrations.world import HostInMemory

from .made import ACTS, acting, found, good, loaded_with, module_with, record_of


async def started(
    *places: Found, settings: Mapping[str, Mapping[str, Any]] | None = None, seconds: float = 5
) -> tuple[SetUp, Loaded]:
    setup = SetUp(HostInMemory())
    return setup, await setup.start(await loaded_with(*places), settings or {}, seconds=seconds)


def setting_up(body: Callable[[Entry], Awaitable[None]]) -> Any:
    @hookimpl
    async def siteward_setup(site: Host, entry: Entry) -> None:
        await body(entry)

    return siteward_setup


async def test_a_set_up_that_raises_takes_its_own_actions_away_and_no_others() -> None:
    async def refuse(entry: Entry) -> None:
        raise RuntimeError("no such port")

    async def work(entry: Entry) -> None:
        entry.player = None

    places = (good("bad", siteward_setup=setting_up(refuse)), good("last", siteward_setup=setting_up(work)))
    setup, loaded = await started(*places)
    assert record_of(loaded, "bad").state is LoadState.FAILED
    assert "bad failed while it was set up: RuntimeError: no such port" in record_of(loaded, "bad").sentence
    assert loaded.actions.keys() == loaded.registry.actions.keys() == {"last.act"}
    assert setup.entry("last") is not None and setup.entry("bad") is None
    await setup.stop()


@pytest.mark.parametrize("error", [NotReady("The broker is off."), AuthFailed("The password is wrong.")])
async def test_a_set_up_that_somebody_can_put_right_needs_attention(error: Exception) -> None:
    async def refuse(entry: Entry) -> None:
        raise error

    _, loaded = await started(good("bad", siteward_setup=setting_up(refuse)))
    assert record_of(loaded, "bad").state is LoadState.NEEDS_ATTENTION
    assert record_of(loaded, "bad").sentence == str(error)


async def test_a_set_up_that_hangs_holds_up_nobody() -> None:
    async def hang(entry: Entry) -> None:
        await asyncio.Event().wait()

    _, loaded = await started(good("bad", siteward_setup=setting_up(hang)), good("last"), seconds=0.02)
    assert record_of(loaded, "bad").state is LoadState.NEEDS_ATTENTION
    assert "bad was not set up within 0.02 seconds" in record_of(loaded, "bad").sentence
    assert loaded.actions.keys() == {"last.act"}


async def test_a_set_up_that_is_cut_short_lets_go_of_what_it_took() -> None:
    ended: list[str] = []
    begun = asyncio.Event()

    async def hang(entry: Entry) -> None:
        entry.exits.callback(ended.append, entry.domain)
        begun.set()
        await asyncio.Event().wait()

    setup = SetUp(HostInMemory())
    task = asyncio.create_task(setup.start(await loaded_with(good("one", siteward_setup=setting_up(hang))), {}))
    await begun.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert ended == ["one"]


async def test_what_depends_on_a_failed_one_goes_with_it() -> None:
    async def refuse(entry: Entry) -> None:
        raise RuntimeError("no such port")

    needs = found("needs", ACTS + "dependencies: [bad]\n", lambda: module_with(siteward_actions=acting("needs")))
    _, loaded = await started(good("bad", siteward_setup=setting_up(refuse)), needs)
    assert record_of(loaded, "needs").state is LoadState.NEEDS_ATTENTION
    assert loaded.actions == {}


async def test_settings_are_checked_by_the_integrations_own_schema() -> None:
    seen: list[Mapping[str, Any]] = []

    async def keep(entry: Entry) -> None:
        seen.append(entry.settings)

    schema = hookimpl(lambda: vol.Schema({vol.Required("port"): int, vol.Optional("host", default="here"): str}))
    place = good("one", siteward_setup=setting_up(keep), siteward_config_schema=schema)
    setup, loaded = await started(place, settings={"one": {"port": 1}})
    assert seen == [{"port": 1, "host": "here"}]
    await setup.stop()
    _, loaded = await started(place, settings={"one": {"port": "x"}})
    assert record_of(loaded, "one").state is LoadState.NEEDS_ATTENTION
    assert record_of(loaded, "one").sentence == "The settings of one are wrong: port: expected int."


async def test_unloading_ends_what_was_started_the_last_first() -> None:
    ended: list[str] = []

    async def run(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    def running(domain: str) -> Found:
        async def start(entry: Entry) -> None:
            entry.task(run(domain), "run")
            await asyncio.sleep(0)

        @hookimpl
        async def siteward_unload(site: Host, entry: Entry) -> None:
            ended.append(f"unload {domain}")

        return good(domain, siteward_setup=setting_up(start), siteward_unload=siteward_unload)

    setup, _ = await started(running("one"), running("two"))
    assert [entry.domain for entry in setup.entries] == ["one", "two"]
    await setup.stop()
    assert ended == ["unload two", "two", "unload one", "one"]
    assert setup.entries == ()


async def test_an_unload_that_raises_keeps_none_of_the_others(caplog: pytest.LogCaptureFixture) -> None:
    ended: list[str] = []

    async def nothing(entry: Entry) -> None:
        entry.exits.callback(ended.append, entry.domain)

    @hookimpl
    async def siteward_unload(site: Host, entry: Entry) -> None:
        raise RuntimeError("stuck")

    last = good("last", siteward_setup=setting_up(nothing), siteward_unload=siteward_unload)
    setup, _ = await started(good("first", siteward_setup=setting_up(nothing)), last)
    await setup.stop()
    assert ended == ["last", "first"]
    assert "last failed to unload: stuck" in caplog.text


async def test_a_background_task_that_fails_is_said_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise RuntimeError("the line is gone")

    async def start(entry: Entry) -> None:
        await asyncio.wait([entry.task(fail(), "line")])

    setup, loaded = await started(good("one", siteward_setup=setting_up(start)))
    assert record_of(loaded, "one").state is LoadState.LOADED
    assert "one:line stopped: the line is gone" in caplog.text
    await setup.stop()
