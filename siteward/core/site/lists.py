"""The site's lists: rows with who wrote them and whether a person stands for them, matched by a normalised column.

A row that an AI-assisted candidate, a feed or an unreviewed file brought does not match where only confirmed rows count, until a person
confirmed it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from sqlalchemy import or_, select

from siteward.core.clock import Clock
from siteward.core.errors import NotFound
from siteward.core.store.errors import LostRace
from siteward.core.store.schema import site_list_rows, site_lists
from siteward.core.store.store import Store
from siteward.core.store.writer import Op

from .audit import Actor, Audit, NewId
from .configuration import ListConfiguration
from .rows import delete, insert, update, upsert

CONFIGURATION = "configuration.yaml"


class Origin(StrEnum):
    """Who brought a row."""

    PERSON = "person"
    IMPORT = "import"
    FEED = "feed"
    AI = "ai"


def normalised(value: str, kind: str) -> str:
    """A value as it is matched: a plate by its letters and digits alone, a number by its digits, a text without regard to case and spacing.

    A plate or number without a letter or digit normalises to nothing, which matches nothing.
    """
    text = unicodedata.normalize("NFKC", value)
    if kind == "plate":
        return "".join(letter for letter in text.upper() if letter.isalnum())
    if kind == "number":
        return "".join(letter for letter in text if letter.isdigit() or letter == "+")
    return re.sub(r"\s+", " ", text).strip().casefold()


class Lists:
    """Reads and writes the lists of a site."""

    def __init__(self, store: Store, clock: Clock, new_id: NewId, audit: Audit) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._audit = audit

    async def apply(self, configured: Mapping[str, ListConfiguration]) -> None:
        """Write the configuration's lists and rows in place of those of the last start; rows that people wrote stay."""
        ops: list[Op] = []
        for entry in configured.values():
            ops.append(
                upsert(
                    site_lists,
                    {
                        "name": entry.name,
                        "columns": json.dumps(dict(entry.columns)),
                        "match_column": entry.match,
                        "revision": 1,
                    },
                )
            )
            ops.append(delete(site_list_rows, {"list": entry.name, "by": CONFIGURATION}))
            kind = entry.columns[entry.match]
            ops += [
                self._row(entry.name, kind, row[entry.match], row, CONFIGURATION, Origin.PERSON) for row in entry.rows
            ]
        if ops:
            await self._store.submit(*ops)

    async def add(
        self, actor: Actor, name: str, values: Mapping[str, str], origin: Origin, expires_at: float | None = None
    ) -> None:
        """Add a row. One that a person writes is confirmed by that person; every other waits for it. Raises `NotFound`."""
        kind, column = await self._shape(name)
        row = self._row(name, kind, values[column], values, actor.who, origin, expires_at)
        await self._store.submit(row, self._audit.row(actor, "list.add", name, after=values))

    async def confirm(self, actor: Actor, row_id: str) -> None:
        """A person stands for a row. Raises `NotFound` where it is gone or confirmed already."""
        change = update(site_list_rows, {"confirmed_by": actor.who}, {"id": row_id, "confirmed_by": None})
        try:
            await self._store.submit(change, self._audit.row(actor, "list.confirm", row_id))
        except LostRace as error:
            raise NotFound("This row is gone, or somebody confirmed it already.") from error

    async def matches(self, name: str, value: str, *, confirmed_only: bool) -> bool:
        """Whether a row that has not expired matches. A list that the site does not have matches nothing."""
        try:
            kind, _ = await self._shape(name)
        except NotFound:
            return False
        wanted = normalised(value, kind)
        if not wanted:
            return False
        query = self._alive(name).where(site_list_rows.c.match == wanted)
        if confirmed_only:
            query = query.where(site_list_rows.c.confirmed_by.is_not(None))
        return bool(await self._store.read(query.limit(1)))

    async def rows(self, name: str, *, confirmed_only: bool = False) -> Sequence[Mapping[str, Any]]:
        """The rows that have not expired, each with its columns, oldest first."""
        query = self._alive(name).order_by(site_list_rows.c.at, site_list_rows.c.id)
        if confirmed_only:
            query = query.where(site_list_rows.c.confirmed_by.is_not(None))
        return [json.loads(row["values"]) for row in await self._store.read(query)]

    def _alive(self, name: str) -> Any:
        now = self._clock.now().timestamp()
        expires = site_list_rows.c.expires_at
        return select(site_list_rows).where(site_list_rows.c.list == name, or_(expires.is_(None), expires > now))

    async def _shape(self, name: str) -> tuple[str, str]:
        rows = await self._store.read(select(site_lists).where(site_lists.c.name == name))
        if not rows:
            raise NotFound(f"There is no list {name}.")
        column = str(rows[0]["match_column"])
        return str(json.loads(rows[0]["columns"])[column]), column

    def _row(
        self,
        name: str,
        kind: str,
        match: str,
        values: Mapping[str, str],
        by: str,
        origin: Origin,
        expires_at: float | None = None,
    ) -> Op:
        return insert(
            site_list_rows,
            {
                "id": self._new_id(),
                "list": name,
                "match": normalised(match, kind),
                "values": json.dumps(dict(values)),
                "by": by,
                "origin": origin.value,
                "confirmed_by": by if origin is Origin.PERSON else None,
                "expires_at": expires_at,
                "at": self._clock.now().timestamp(),
            },
        )
