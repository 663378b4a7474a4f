"""A site in a folder of its own, with a clock that stands still until a test moves it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from siteward.core.clock import Clock
from siteward.core.ids import TimedIds
from siteward.core.site.audit import HOST
from siteward.core.site.configuration import (
    CameraSettings,
    DestinationConfiguration,
    GateConfiguration,
    ListConfiguration,
    SiteConfiguration,
)
from siteward.core.site.passwords import Passwords
from siteward.core.site.people import People
from siteward.core.site.permissions import Person, SiteRole
from siteward.core.site.site import Chance, Site
from siteward.core.store.store import Store

PASSWORD = "correct horse battery"


class StandingClock:
    """A clock that moves only when told."""

    def __init__(self) -> None:
        self._now = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
        self._boot = 1000.0

    def now(self) -> datetime:
        return self._now

    def since_boot(self) -> float:
        return self._boot

    async def sleep_until(self, due: datetime) -> None:
        self._now = max(self._now, due)

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        self._boot += seconds


CONFIGURATION = SiteConfiguration(
    name="Test site",
    zone="Europe/Berlin",
    host="127.0.0.1",
    port=0,
    cameras=(
        CameraSettings("gate-cam", "Gate", "camera.folder", {}, ("gate",)),
        CameraSettings("yard-cam", "Yard", "camera.folder", {}, ("yard",)),
    ),
    gates={"gate": GateConfiguration("gate", "Main gate", "gate_relay", {}, 30.0)},
    lists={
        "expected": ListConfiguration(
            "expected",
            {"plate": "plate", "name": "text"},
            "plate",
            ({"plate": "B-AB 123", "name": "Ada"},),
            ("gate:gate",),
        )
    },
    groups={"guard": ("gina",)},
    roles={"zone": {"drive": ("zone-1",)}},
    destinations={"desk": DestinationConfiguration("desk", "https://desk.example/in", "webhook", ("text",), True)},
)


def chance(seed: int = 7) -> Chance:
    """Random that a test can repeat."""
    random = Random(seed)

    def choose(letters: Sequence[str]) -> str:
        return random.choice(letters)

    return Chance(lambda: f"{random.getrandbits(256):064x}", choose)


@asynccontextmanager
async def open_site(
    folder: Path, clock: Clock | None = None, configuration: SiteConfiguration = CONFIGURATION
) -> AsyncIterator[Site]:
    """A site whose database lies in `folder`; passwords are hashed cheaply."""
    clock = clock or StandingClock()
    store = await Store.open(f"sqlite:///{folder / 'site.db'}")
    try:
        ids = TimedIds(clock, Random(1))
        yield await Site.open(store, configuration, clock, ids, chance(), Passwords(memory_kib=8, passes=1))
    finally:
        await store.close()


async def someone(
    people: People, name: str, role: SiteRole = SiteRole.OPERATOR, cameras: Sequence[str] | None = ("gate-cam",)
) -> Person:
    """An account."""
    return await people.create(HOST, name, PASSWORD, role, cameras)
