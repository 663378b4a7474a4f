"""The site mode: disarmed, armed at home, armed away. A change is written with its audit row and told to everyone who looks."""

from __future__ import annotations

import json
from enum import StrEnum

from sqlalchemy import select

from siteward.core.clock import Clock
from siteward.core.errors import SitewardError
from siteward.core.store.schema import outbox, site_settings
from siteward.core.store.store import Store
from siteward.core.store.writer import Op

from .audit import Actor, Audit
from .rows import insert

NAME = "site_mode"
TOPIC = "site.mode"


class SiteMode(StrEnum):
    """What the site is set to."""

    DISARMED = "disarmed"
    ARMED_HOME = "armed_home"
    ARMED_AWAY = "armed_away"


class UnknownMode(SitewardError):
    """A word that is no site mode."""

    code = "site_mode.unknown"


class Mode:
    """Reads and sets the site mode."""

    def __init__(self, store: Store, clock: Clock, audit: Audit, first: str) -> None:
        self._store = store
        self._clock = clock
        self._audit = audit
        self._first = SiteMode(first)

    async def read(self) -> SiteMode:
        """The mode as of the last commit; the configuration's until somebody sets one."""
        rows = await self._store.read(select(site_settings.c.value).where(site_settings.c.name == NAME))
        return SiteMode(json.loads(rows[0]["value"])) if rows else self._first

    async def set(self, actor: Actor, wanted: str) -> SiteMode:
        """Set the mode. Raises `UnknownMode`."""
        try:
            mode = SiteMode(wanted)
        except ValueError as error:
            raise UnknownMode(f"{wanted} is no site mode; use {', '.join(SiteMode)}.") from error
        before = await self.read()
        now = self._clock.now().timestamp()
        await self._store.submit(
            _counted(mode),
            insert(outbox, {"topic": TOPIC, "payload": json.dumps({"mode": mode.value, "by": actor.who}), "at": now}),
            self._audit.row(actor, TOPIC, before={"mode": before.value}, after={"mode": mode.value}),
        )
        return mode


def _counted(mode: SiteMode) -> Op:
    return Op(
        'INSERT INTO "site_settings" ("name", "value", "revision") VALUES (:name, :value, 1) ON CONFLICT ("name") DO UPDATE SET '
        '"value" = excluded."value", "revision" = "site_settings"."revision" + 1',
        {"name": NAME, "value": json.dumps(mode.value)},
        1,
    )
