"""A wall clock that was set while the host runs: by a first time synchronisation, by hand, or wrongly and back.

Rows carry due times of the wall clock, since they outlive the machine's start; each also says when it is due on the clock that never jumps. When
the wall clock is found to have jumped, what waits keeps the time that it had left: nothing is due at once, and nothing an hour late. Schedules
stand for the wall clock itself: what it skipped is missed, as after a sleep; what it repeats does not fire twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import and_, select

from siteward.core.clock import RANGE_SECONDS, is_set
from siteward.core.contract.durations import say_duration
from siteward.core.engine import rows
from siteward.core.engine.parts import Parts
from siteward.core.engine.records import site_alert
from siteward.core.store.schema import OPEN_WAIT, waits, workflow_run_steps
from siteward.core.store.writer import Op

_log = logging.getLogger(__name__)

NOTICED_SECONDS: Final = 5.0
"""A difference between the clocks that no drift makes between two looks."""
TOLD_SECONDS: Final = 60.0
BATCH: Final = 200
"""Waits that one write dates anew."""


class Jumps:
    """Notices that the wall clock was set, and dates anew what waits."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._offset: float | None = None
        self._boot: float | None = None
        self._looking = asyncio.Lock()
        """Timer, sweeper and whoever answers a question look when they please; one dates anew."""

    async def look(self) -> bool:
        """Compare the clocks; whether the wall clock was set since the last look. Raises what the store raises, and is then not done."""
        async with self._looking:
            return await self._look()

    async def _look(self) -> bool:
        now, boot = self._parts.now(), self._parts.clock.since_boot()
        offset = now - boot
        # The first look of a process is for what happened while there was none.
        jump = 0.0 if self._offset is None else offset - self._offset
        if self._boot is not None and abs(boot - self._boot) >= RANGE_SECONDS / 2:
            # The clock that never jumps counts in another range: of a server that was started anew. Nothing is known of the wall clock.
            jump = 0.0
        jumped = abs(jump) >= NOTICED_SECONDS
        if jumped or self._offset is None:
            await self._redate(now, boot, jump)
        self._offset, self._boot = offset, boot
        return jumped

    async def _redate(self, now: float, boot: float, jump: float) -> None:
        ops = [op for row in await self._waiting() for op in _redated(row, now, boot)]
        for begin in range(0, len(ops), BATCH):
            await self._parts.store.submit(*ops[begin : begin + BATCH])
        if jump:
            _log.warning(
                "The clock of this machine was set by %.0f s; %d waits keep what they had left.", jump, len(ops)
            )
        if abs(jump) >= TOLD_SECONDS:
            which = "forward" if jump > 0 else "back"
            title = f"The clock of this machine was set {say_duration(abs(jump))} {which}"
            said = (
                "Waits and questions keep the time that they had left. Schedules go by the new time. If nobody set it, look at "
                "the time synchronisation and at the battery of the machine's clock."
            )
            await self._parts.store.submit(*site_alert(self._parts, title, said))

    async def _waiting(self) -> list[Mapping[str, Any]]:
        step = and_(workflow_run_steps.c.run_id == waits.c.run_id, workflow_run_steps.c.path == waits.c.path)
        query = select(waits, workflow_run_steps.c.started_at).join(workflow_run_steps, step)
        return list(await self._parts.store.read(query.where(OPEN_WAIT)))


def boot_due(due: float, now: float, boot: float) -> float:
    """When something that is due at `due` of the wall clock is due on the clock that never jumps."""
    return boot + due - now


def _redated(row: Mapping[str, Any], now: float, boot: float) -> tuple[Op, ...]:
    """The writes that date one wait anew, if it needs that."""
    payload = rows.load(row["payload"])
    due, told = payload.get("due"), payload.get("boot")
    if due is None:
        return ()
    anew = due
    if told is not None and abs(told - boot) < RANGE_SECONDS / 2:
        anew = now + told - boot
    elif row["started_at"] > now + TOLD_SECONDS and is_set(rows.moment(now)):
        # Before this start of the machine, and in the future: that clock was wrong. What it had left then is all there is to know.
        anew = now + due - row["started_at"]
    if abs(anew - due) < NOTICED_SECONDS:
        return ()
    kept = {**payload, "due": anew, "boot": boot_due(anew, now, boot)}
    moved = Op(
        "UPDATE waits SET due_at = CASE WHEN due_at IS NULL THEN NULL ELSE :due END, payload = :payload "
        "WHERE id = :id AND state = 'open'",
        {"id": row["id"], "due": anew, "payload": rows.dump(kept)},
    )
    if row["kind"] != "ask":
        return (moved,)
    asked = Op(
        "UPDATE workflow_approvals SET due_at = :due WHERE run_id = :run AND path = :path AND state = 'open'",
        {"due": anew, "run": row["run_id"], "path": row["path"]},
    )
    return moved, asked
