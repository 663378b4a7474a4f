"""From a broker's message to an accepted event: the broker hears of it only after the event's row is committed.

One intake serves one connection, since an acknowledgement is good for the connection that brought its message and for no other: when that
is lost the broker sends the message again, and the engine knows the event by its id.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from siteward.core.errors import NotReady

from .envelope import MessageRefused, Origin, event_from_message
from .event import Event

_LOG = logging.getLogger(__name__)

Emit = Callable[[Event], Awaitable[None]]
"""Accepts an event: returns once its row is committed. Raises `NotReady` where it is not sure that it was."""

ATTEMPTS: Final = 5
"""How often an event is offered that the host breaks over, before it is put aside."""
FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 5.0
"""Seconds between two tries to have an event accepted, doubling from the first to the longest."""
NOT_TAKEN: Final = "event.not_taken"
NO_ROOM: Final = "message.no_room"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a broker. `acknowledge` says that it need not come again; None where the broker asks for no word."""

    body: bytes
    origin: Origin
    acknowledge: Callable[[], Awaitable[None]] | None = None


@dataclass(slots=True)
class Counts:
    """What became of the messages of one transport since its start. `refused` counts by reason, `samples` has the newest sentence of each."""

    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    samples: dict[str, str] = field(default_factory=dict)

    def refuse(self, transport: str, reason: str, sentence: str) -> None:
        """Count a refusal. The first of each reason is said in the log, then each time that their number doubles: never silence, never a flood."""
        self.refused[reason] += 1
        self.samples[reason] = sentence
        number = self.refused[reason]
        if number & (number - 1) == 0:
            _LOG.warning("%s: a message was refused (%s, %d so far): %s", transport, reason, number, sentence)


class Intake:
    """Takes the messages of one connection, at most `in_flight` at once; in which order they are accepted is not promised."""

    def __init__(
        self,
        emit: Emit,
        counts: Counts,
        in_flight: int,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._emit = emit
        self._counts = counts
        self._in_flight = in_flight
        self._sleep = sleep
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._open = True

    @property
    def is_open(self) -> bool:
        """Whether messages are still taken."""
        return self._open

    @property
    def room(self) -> int:
        """How many more messages may be taken now."""
        return max(0, self._in_flight - len(self._tasks)) if self._open else 0

    async def wait_for_room(self) -> int:
        """Return once there is room, with how much; 0 once the intake is closed."""
        while self._open and not self.room:
            await self._change()
        return self.room

    def take(self, message: Message) -> None:
        """Take a message; whoever calls has looked for `room`, or is bounded by the broker. Closed, it leaves the message to the broker."""
        if self._open:
            task = asyncio.create_task(self._one(message))
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def refuse_for_room(self, origin: Origin) -> None:
        """Count a message that found no room and that no broker sends again."""
        self._counts.refuse(
            origin.transport, NO_ROOM, "More came at once than can be accepted, by a way without acknowledgement."
        )

    def close(self) -> None:
        """Take no more. What is in hand is brought to its end where the host accepts it at once; nothing is tried again."""
        self._open = False
        self._changed.set()

    async def idle(self) -> None:
        """Return once nothing is in hand."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    # ------------------------------------------------------------------------------------------------------------------
    async def _one(self, message: Message) -> None:
        try:
            event = event_from_message(message.body, message.origin)
        except MessageRefused as refusal:
            self._counts.refuse(message.origin.transport, refusal.code, refusal.sentence)
        else:
            if not await self._is_settled(event, message.origin):
                return
        if message.acknowledge is not None:
            await message.acknowledge()

    async def _is_settled(self, event: Event, origin: Origin) -> bool:
        """Have the event accepted, or put it aside; false where neither is known and the broker has to send it again."""
        pause, broke = FIRST_PAUSE, 0
        while True:
            try:
                await self._emit(event)
            except NotReady:
                pass
            except Exception as error:  # noqa: BLE001 (one event that nobody can take must not hold up all that come after it)
                broke += 1
                if broke >= ATTEMPTS:
                    _LOG.error("%s: event %s is put aside.", origin.transport, event.id, exc_info=error)
                    self._counts.refuse(
                        origin.transport, NOT_TAKEN, f"Event {event.id} ({event.type}) could not be accepted: {error}"
                    )
                    return True
            else:
                self._counts.accepted += 1
                return True
            if not self._open:
                return False
            await self._pause(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _pause(self, seconds: float) -> None:
        """Sleep, or less where the intake closes meanwhile."""
        closed = asyncio.ensure_future(self._closed())
        slept = asyncio.ensure_future(self._sleep(seconds))
        try:
            await asyncio.wait((closed, slept), return_when=asyncio.FIRST_COMPLETED)
        finally:
            closed.cancel()
            slept.cancel()

    async def _closed(self) -> None:
        while self._open:
            await self._change()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._changed.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.error("A message could not be brought to its end: %s", error, exc_info=error)
