"""A site: its configuration and everything that people and rules of it are made of, opened once and shared by engine and pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from sqlalchemy import select

from siteward.core.clock import Clock
from siteward.core.ids import Ids
from siteward.core.store.schema import destinations, site_settings
from siteward.core.store.store import Store
from siteward.core.store.writer import Op

from .approvals import Approvals
from .audit import Audit
from .configuration import SiteConfiguration
from .connect_guard import ConnectGuard
from .egress import Destination, Egress
from .lists import CONFIGURATION, Lists
from .media import Media
from .mode import Mode
from .passwords import Passwords
from .people import People, setup_code
from .restored import read_restored_at
from .roles import Roles
from .rows import delete, insert
from .sessions import Sessions
from .throttle import Throttle

IDENTITY: Final = "site_id"


@dataclass(frozen=True, slots=True)
class Chance:
    """The random source where it must not be guessed: `token` gives 32 random bytes as URL-safe text, `choose` picks a letter of a code."""

    token: Callable[[], str]
    choose: Callable[[Sequence[str]], str]


@dataclass(frozen=True, slots=True)
class Site:
    """The parts of a site. Make one with `Site.open`."""

    configuration: SiteConfiguration
    store: Store
    clock: Clock
    audit: Audit
    people: People
    sessions: Sessions
    throttle: Throttle
    approvals: Approvals
    roles: Roles
    lists: Lists
    mode: Mode
    media: Media
    egress: Egress
    guard: ConnectGuard
    ids: Ids
    restored_at: datetime | None = None

    async def identity(self) -> str:
        """What tells this site from every other one (to brokers that it shares with others): made once, when it is first asked for."""
        made = Op(
            'INSERT INTO "site_settings" ("name", "value", "revision") VALUES (:name, :value, 1) ON CONFLICT ("name") DO NOTHING',
            {"name": IDENTITY, "value": json.dumps(self.ids.new())},
        )
        query = select(site_settings.c.value).where(site_settings.c.name == IDENTITY)
        rows = await self.store.read(query)
        if not rows:
            await self.store.submit(made)
            rows = await self.store.read(query)
        return str(json.loads(rows[0]["value"]))

    @classmethod
    async def open(
        cls,
        store: Store,
        configuration: SiteConfiguration,
        clock: Clock,
        ids: Ids,
        chance: Chance,
        passwords: Passwords | None = None,
        *,
        applies: bool = True,
    ) -> Self:
        """Bring the database to what the configuration says, and open the parts. Without `applies` nothing is written: roles are those of the
        configuration, lists and groups as the host last wrote them."""
        audit = Audit(clock, ids.new)
        people = People(
            store,
            clock,
            ids.new,
            audit,
            passwords or Passwords(),
            code=setup_code(chance.choose),
            configured_groups=lambda: dict(configuration.groups),
        )
        lists = Lists(store, clock, ids.new, audit)
        roles = Roles(store)
        if applies:
            await roles.apply(configuration)
            await lists.apply(configuration.lists)
            await _apply_destinations(store, configuration, clock)
            await people.apply_groups()
        else:
            await roles.look(configuration)
            await people.refresh()
        guard = ConnectGuard()
        listed = tuple(
            Destination(d.name, d.url, d.purpose, frozenset(d.data_classes), d.tells)
            for d in configuration.destinations.values()
        )
        return cls(
            configuration=configuration,
            store=store,
            clock=clock,
            audit=audit,
            people=people,
            sessions=Sessions(store, clock, people, audit, chance.token),
            throttle=Throttle(clock),
            approvals=Approvals(store),
            roles=roles,
            lists=lists,
            mode=Mode(store, clock, audit, configuration.site_mode),
            media=Media(store, ids.new),
            egress=Egress(lambda: listed, guard),
            guard=guard,
            ids=ids,
            restored_at=await read_restored_at(store),
        )


async def _apply_destinations(store: Store, configuration: SiteConfiguration, clock: Clock) -> None:
    now = clock.now().timestamp()
    await store.submit(
        delete(destinations, {"by": CONFIGURATION}),
        *(
            insert(
                destinations,
                {
                    "name": entry.name,
                    "url_prefix": entry.url,
                    "purpose": entry.purpose,
                    "data_classes": ",".join(entry.data_classes),
                    "tells": entry.tells,
                    "by": CONFIGURATION,
                    "at": now,
                },
            )
            for entry in configuration.destinations.values()
        ),
    )
