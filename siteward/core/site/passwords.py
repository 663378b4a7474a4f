"""Passwords: argon2id, hashed in a thread, two at a time, so that a flood of log-ins starves neither the loop nor memory."""

from __future__ import annotations

import asyncio

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from siteward.core.errors import SitewardError

MINIMUM = 10
MAXIMUM = 256
AT_ONCE = 2


class WeakPassword(SitewardError):
    """A password that is too short or too long."""

    code = "password.weak"


class Passwords:
    """Hashes and checks passwords with argon2id (RFC 9106, the low-memory choice: 64 MiB, 3 passes).

    `memory_kib` and `passes` are smaller in tests only.
    """

    def __init__(self, *, memory_kib: int = 65536, passes: int = 3) -> None:
        self._hasher = PasswordHasher(time_cost=passes, memory_cost=memory_kib, parallelism=1, type=Type.ID)
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._nobody: str | None = None

    async def hash(self, password: str) -> str:
        """The hash to store. Raises `WeakPassword`."""
        if not MINIMUM <= len(password) <= MAXIMUM:
            raise WeakPassword(f"A password has {MINIMUM} to {MAXIMUM} characters. Choose another one.")
        async with self._turn:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def matches(self, stored: str | None, password: str) -> bool:
        """Whether the password is the right one. It takes the same work where there is no such account (`stored` is None)."""
        if self._nobody is None:
            self._nobody = await self.hash("nobody has this password")
        async with self._turn:
            right = await asyncio.to_thread(self._verify, stored or self._nobody, password[:MAXIMUM])
        return right and stored is not None

    def _verify(self, stored: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False
