"""A write that is sent twice with one `Idempotency-Key` is done once, and the second gets the first's answer.

The key is claimed in the database before the write and carries the answer after it. Where a crash came between the two, nobody knows whether
the write was done: the key then says so instead of doing it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Final

import orjson
from sqlalchemy import select

from siteward.core.clock import Clock
from siteward.core.errors import OutcomeUnknown, SitewardError
from siteward.core.site.rows import delete, insert, update
from siteward.core.store.errors import CommitFailed, LostRace
from siteward.core.store.schema import idempotency_keys
from siteward.core.store.store import Store
from siteward.core.store.writer import Op

from .problems import Refused
from .routes import Answer

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
KEPT_SECONDS: Final = 24 * 3600
LONGEST_KEY: Final = 128


class Idempotency:
    """Keys of one site."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def once(
        self, user_id: str, key: str, request: bytes, act: Callable[[], Awaitable[Answer]]
    ) -> tuple[Answer, bool]:
        """Do `act`, or give its first answer again (the second value is then true). An `act` that is refused frees the key; one
        whose outcome is not known keeps it.

        `request` is what makes two requests the same: method, path and body. Raises `Refused`.
        """
        if not 0 < len(key) <= LONGEST_KEY or not (key.isascii() and key.isprintable()):
            raise Refused(
                400, f"An idempotency key has 1 to {LONGEST_KEY} plain characters (ASCII).", code="idempotency.bad_key"
            )
        digest = hashlib.sha256(request).hexdigest()
        mine = {"user_id": user_id, "key": key}
        now = self._clock.now().timestamp()
        old = Op('DELETE FROM "idempotency_keys" WHERE "at" < :before', {"before": now - KEPT_SECONDS})
        claim = insert(
            idempotency_keys,
            {**mine, "digest": digest, "at": now},
            only_if='NOT EXISTS (SELECT 1 FROM "idempotency_keys" WHERE "user_id" = :user_id AND "key" = :key)',
        )
        try:
            await self._store.submit(old, claim)
        except LostRace:
            return await self._first(mine, digest), True
        try:
            answer = await act()
        except SitewardError as error:
            if not isinstance(error, CommitFailed | OutcomeUnknown):
                await self._store.submit(delete(idempotency_keys, mine))
            raise
        kept = {"status": answer.status, "answer": orjson.dumps(answer.json).decode()}
        await self._store.submit(update(idempotency_keys, kept, mine))
        return answer, False

    async def _first(self, mine: dict[str, str], digest: str) -> Answer:
        rows = await self._store.read(
            select(idempotency_keys).where(
                idempotency_keys.c.user_id == mine["user_id"], idempotency_keys.c.key == mine["key"]
            )
        )
        if not rows or rows[0]["status"] is None:
            raise Refused(
                409,
                "The first request with this key has no answer yet, or its outcome was lost. Look whether it was done before trying again.",
                code="idempotency.unknown",
            )
        if rows[0]["digest"] != digest:
            raise Refused(422, "This key was used for another request. Take a new one.", code="idempotency.reused")
        return Answer(orjson.loads(rows[0]["answer"]), rows[0]["status"])
