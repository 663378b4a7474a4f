"""Sessions: a random token in the browser, only its hash in the database, an end, and a token of its own against forged writes."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import select

from siteward.core.clock import Clock
from siteward.core.store.schema import sessions
from siteward.core.store.store import Store

from .audit import Actor, Audit
from .people import People
from .permissions import Person
from .rows import delete, insert

LIFETIME_SECONDS = 12 * 3600
"""A session ends twelve hours after the log-in, one long shift."""


@dataclass(frozen=True, slots=True)
class Session:
    """Someone who is logged in. `csrf` must come back in a header with every write."""

    token_hash: str
    person: Person
    csrf: str
    expires_at: float

    def is_forged(self, header: str | None) -> bool:
        """Whether a write did not bring this session's own token."""
        return header is None or not hmac.compare_digest(_bytes(header), self.csrf.encode())


def _hash(token: str) -> str:
    return hashlib.sha256(_bytes(token)).hexdigest()


def _bytes(header: str) -> bytes:
    """What a header says, as it came: a browser, or whoever plays one, may send bytes that are no text."""
    return header.encode("utf-8", "surrogateescape")


class Sessions:
    """Opens, finds and ends sessions. `new_token` gives 32 random bytes as URL-safe text (`secrets.token_urlsafe`)."""

    def __init__(self, store: Store, clock: Clock, people: People, audit: Audit, new_token: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._people = people
        self._audit = audit
        self._new_token = new_token
        self._ended = 0

    @property
    def revision(self) -> tuple[int, int]:
        """Grows whenever a session was ended here or an account changed: what was known of sessions must be looked at anew."""
        return self._ended, self._people.revision

    async def open(self, person: Person, address: str | None) -> tuple[str, Session]:
        """A new session; the token is returned once and never stored. Old sessions that ended are swept away."""
        token, csrf, now = self._new_token(), self._new_token(), self._clock.now().timestamp()
        session = Session(_hash(token), person, csrf, now + LIFETIME_SECONDS)
        ended = await self._store.read(select(sessions.c.token_hash).where(sessions.c.expires_at <= now).limit(100))
        await self._store.submit(
            *(delete(sessions, {"token_hash": row["token_hash"]}) for row in ended),
            insert(
                sessions,
                {
                    "token_hash": session.token_hash,
                    "user_id": person.id,
                    "csrf": csrf,
                    "created_at": now,
                    "expires_at": session.expires_at,
                    "from_address": address,
                },
            ),
            self._audit.row(Actor(person.who, address), "session.open"),
        )
        return token, session

    async def find(self, token: str | None) -> Session | None:
        """The session behind a token, with its person as they are now; None where it ended or the account is closed."""
        return None if not token else await self.current(_hash(token))

    async def current(self, token_hash: str) -> Session | None:
        """The session as it is now, by its hash."""
        rows = await self._store.read(select(sessions).where(sessions.c.token_hash == token_hash))
        if not rows or rows[0]["expires_at"] <= self._clock.now().timestamp():
            return None
        person = await self._people.person(rows[0]["user_id"])
        return None if person is None else Session(token_hash, person, rows[0]["csrf"], rows[0]["expires_at"])

    async def end(self, session: Session, address: str | None) -> None:
        """Log out."""
        await self._store.submit(
            delete(sessions, {"token_hash": session.token_hash}),
            self._audit.row(Actor(session.person.who, address), "session.end"),
        )
        self._ended += 1
