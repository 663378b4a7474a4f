"""A backup remembers another past. Put back at once, while every authority in it is still fresh, it moves nothing a second time.

The backup is taken at each boundary of a story in turn, the story goes on to its end in the world that is then lost, and the restored site lives on
from the backup: what the gate was sent is counted over both.
"""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime
from pathlib import Path

import pytest

from siteward.core.site.restored import read_restored_at
from siteward.core.site_restore import prepare_database
from siteward.core.store.backup import copy_database
from siteward.core.store.boundaries import NoBoundaries
from siteward.core.store.schema import workflow_approvals

from .house import House
from .test_acting import ASKS
from .test_recovery import GATE

STORIES = {"a person allows, and a wait comes first": ASKS % "- wait: 2s", "a rule allows": GATE}


class Snapshots:
    """Takes a backup at each boundary, and keeps those that differ."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "site.db"
        self.taken: dict[bytes, Path] = {}
        self._one_at_a_time = threading.Lock()

    def reach(self, name: str) -> None:
        with self._one_at_a_time:  # the writer's thread reaches boundaries too
            file = self.source.with_name(f"backup-{len(self.taken)}.db")
            copy_database(self.source, file, rest=lambda _: None)
            if self.taken.setdefault(file.read_bytes(), file) is not file:
                file.unlink()


async def lives(house: House, text: str) -> None:
    await house.save(text)
    await house.happens(house.vehicle())
    if any(row["state"] == "open" for row in await house.rows(workflow_approvals)):
        await house.reply("Let in")
    await house.passes(3)


async def lives_on(house: House, backup: Path) -> None:
    """The site from its backup, as the host would open it."""
    await asyncio.to_thread(put_back, house.folder, backup, house.clock.now())
    await house.open()
    house.site.restored = await read_restored_at(house.store)
    await house.passes(3)


def put_back(folder: Path, backup: Path, now: datetime) -> None:
    prepare_database(backup, now)
    for file in folder.glob("site.db*"):
        file.unlink()
    backup.rename(folder / "site.db")


@pytest.mark.parametrize("story", STORIES)
async def test_nothing_moves_a_second_time_whenever_the_backup_was_taken(tmp_path: Path, story: str) -> None:
    snapshots = Snapshots(tmp_path)
    house = House(tmp_path, boundaries=snapshots)
    await house.open()
    await lives(house, STORIES[story])
    await house.close()
    house.boundaries = NoBoundaries()
    assert len(house.outside.named("gate.open")) == 1
    ends: set[str] = set()
    for backup in snapshots.taken.values():
        await lives_on(house, backup)
        ends.update(await house.states())
        await house.close()
        assert len(house.outside.named("gate.open")) == 1, f"moved twice, from {backup.name}"
    assert len(snapshots.taken) > 5
    assert {"expired", "unknown", "done"} <= ends
    assert "running" not in ends


async def test_a_question_from_before_can_be_answered_after(tmp_path: Path) -> None:
    house = House(tmp_path)
    await house.open()
    try:
        await house.save(ASKS % "")
        await house.happens(house.vehicle())
        copy_database(tmp_path / "site.db", tmp_path / "backup.db", rest=lambda _: None)
        await house.close()
        await lives_on(house, tmp_path / "backup.db")
        await house.reply("Let in")
        assert await house.states() == ["done"]
        assert len(house.outside.named("gate.open")) == 1
    finally:
        await house.close()
