"""What an integration is told of the host: who this site and this process are, and whether an event is kept."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from siteward.core.clock import SystemClock
from siteward.core.contract.registry import Provenance
from siteward.core.errors import NotReady, SitewardError
from siteward.core.events.event import Event
from siteward.core.integration_host import IntegrationHost
from siteward.core.store.errors import CommitFailed, LostRace, ReadFailed, StoreClosed, WriteRefused
from siteward.sdk.simulated_clock import START
from tests.site.building import open_site

EVENT = Event("e1", "doorbell", "test", Provenance.SENSOR, START)


async def test_a_site_keeps_its_identity_and_no_two_have_the_same(tmp_path: Path) -> None:
    told = []
    for folder in ("north", "north", "south"):
        (tmp_path / folder).mkdir(exist_ok=True)
        async with open_site(tmp_path / folder, SystemClock()) as site:
            host = IntegrationHost(str(tmp_path), site, {}, "a")
            assert host.replica == "a"
            told.append([await host.site_id(), *await asyncio.gather(host.site_id(), host.site_id())])
    assert all(len(set(one)) == 1 for one in told)
    assert told[0] == told[1] != told[2]


@pytest.mark.parametrize("kind", [CommitFailed, LostRace, ReadFailed, StoreClosed])
async def test_who_emits_is_told_to_emit_again_where_the_database_does_not_say(
    tmp_path: Path, kind: type[SitewardError]
) -> None:
    async def accept(event: Event) -> None:
        raise kind("The disk is full.")

    async with open_site(tmp_path) as site:
        host = IntegrationHost(str(tmp_path), site, {})
        host.bind(accept)
        with pytest.raises(NotReady, match="Event e1 may not be kept: The disk is full"):
            await host.emit(EVENT)


async def test_an_event_that_cannot_be_kept_is_another_matter(tmp_path: Path) -> None:
    async def accept(event: Event) -> None:
        raise WriteRefused("No such column.")

    async with open_site(tmp_path) as site:
        host = IntegrationHost(str(tmp_path), site, {})
        host.bind(accept)
        with pytest.raises(WriteRefused):
            await host.emit(EVENT)


async def test_what_brings_events_waits_until_the_host_is_at_work(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        host = IntegrationHost(str(tmp_path), site, {})
        waiting = asyncio.ensure_future(host.at_work())
        await asyncio.sleep(0)
        assert not waiting.done()
        host.begin_work()
        await asyncio.wait_for(waiting, 5)
