"""Another process holds the database: shortly, and nobody notices; for longer than the engine waits, and it takes no events, says so, and goes on by
itself. A real second process holds SQLite's write lock."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import select

from siteward.core.store.errors import CommitFailed
from siteward.core.store.schema import alerts
from tests.engine.house import House

from .guests import goes_by

HOLDER = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
held.execute("ROLLBACK")
"""
WAITS = """
contract: workflow.v1
name: Waits
limits: { cooldown: 0s }
when:
  detect.vehicle_in_zone: { cameras: [gate, yard], zone: apron }
then:
  - wait: 10s
  - log: "waited"
"""


@asynccontextmanager
async def held(house: House) -> AsyncIterator[None]:
    """Another process has the write lock, until its input is closed."""
    command = [sys.executable, "-c", HOLDER, str(house.folder / "site.db")]
    holder = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None and holder.stdin is not None
    assert await holder.stdout.readline() == b"held\n"
    try:
        yield
    finally:
        holder.stdin.close()
        await holder.wait()


async def test_held_for_a_moment_the_event_is_only_late(house: House) -> None:
    await house.save(WAITS)
    async with held(house):
        accepting = asyncio.create_task(house.engine.accept(house.vehicle()))
        await asyncio.sleep(0.3)
        assert not accepting.done()
    assert len(await accepting) == 1
    await house.engine.drain()
    assert await house.states() == ["waiting"]
    assert house.engine.trouble is None


async def test_held_for_too_long_no_event_is_taken_and_all_goes_on_by_itself(house: House) -> None:
    """As long as it takes in truth: the engine waits ten seconds for a lock."""
    await house.save(WAITS)
    await house.happens(house.vehicle())
    event = house.vehicle(camera="cam-2")
    async with held(house):
        # Its wait is over, too, while nothing can be written.
        await house.clock.advance(10)
        with pytest.raises(CommitFailed, match="locked"):
            await house.engine.accept(event)
        assert "no event is taken" in str(house.engine.trouble)
        assert (await house.states(), await house.logged()) == (["waiting"], [])
    await goes_by(house, 31)
    assert (await house.states(), await house.logged()) == (["done"], ["waited"])
    (alert,) = await house.rows(select(alerts).where(alerts.c.kind == "engine"))
    assert alert["title"].startswith("The database gave no answer for")
    assert house.engine.trouble is None
    await house.happens(event)
    assert await house.states() == ["done", "waiting"]
