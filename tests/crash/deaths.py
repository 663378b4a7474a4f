"""How a life is disturbed: killed at a named boundary, frozen there for a while, or told that a commit failed."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from siteward.core.store.errors import CommitFailed
from siteward.core.store.store import Store
from siteward.core.store.writer import Op

Kill = tuple[str, int]
"""A boundary by its name, and which time it is reached."""

RESTLESS = 4
"""What a life exits with that never comes to rest."""


class KillAt:
    """Sends this process `with_signal` when it reaches a boundary for the n-th time. Written down where `names` says, for who counts them. `most`:
    a life that reaches more of them never comes to rest, and ends."""

    def __init__(
        self,
        at: Kill | None,
        names: Path | None = None,
        with_signal: signal.Signals = signal.SIGKILL,
        most: float = float("inf"),
    ) -> None:
        self._at = at
        self._reached: Counter[str] = Counter()
        self._names = names
        self._signal = with_signal
        self._most = most
        self.thawed: Callable[[], None] = lambda: None
        """Called when this process goes on after it was frozen."""

    def reach(self, name: str) -> None:
        self._reached[name] += 1
        if self._names is not None:
            with self._names.open("a") as log:
                log.write(f"{name}\n")
        if self._at == (name, self._reached[name]):
            os.kill(os.getpid(), self._signal)
            self.thawed()
        if self._reached.total() > self._most:
            os._exit(RESTLESS)


@dataclass(frozen=True)
class Hiccup:
    """The answer to the n-th write is that its commit failed, which says nothing about whether it was kept."""

    nth: int
    kept: bool


def lose_the_answer(hiccup: Hiccup) -> None:
    """Make the store of this process lose one answer."""
    send = Store.send
    sent = 0

    def losing(store: Store, *ops: Op) -> asyncio.Future[None]:
        nonlocal sent
        sent += 1
        if sent != hiccup.nth:
            return send(store, *ops)
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def lost(_: object = None) -> None:
            answer.set_exception(CommitFailed("The connection was lost in the commit."))

        if hiccup.kept:
            send(store, *ops).add_done_callback(lost)
        else:
            lost()
        return answer

    through(losing)


def through(send: Callable[..., asyncio.Future[None]]) -> None:
    """Let every write of this process go through `send`."""

    async def submit(store: Store, *ops: Op) -> None:
        await store.send(*ops)

    Store.send = send  # type: ignore[method-assign]
    Store.submit = submit  # type: ignore[method-assign, assignment]
