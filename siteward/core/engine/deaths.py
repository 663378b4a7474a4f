"""What was under way when its process died. One of it may be why the process died, and would be again at every start.

Whoever is taken up from a dead process is counted, by the step that it stands at. After two deaths at the same step such runs go on one by
one, those with the fewest deaths first, so that the innocent get by and only the guilty is counted on; after five a run is buried. Events
that a dead process left unmatched are counted likewise.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from siteward.core.engine import rows
from siteward.core.engine.parts import Parts
from siteward.core.engine.records import site_alert
from siteward.core.events.event import Event

_log = logging.getLogger(__name__)

SUSPECT: Final = 2
LIMIT: Final = 5
TURN_SECONDS: Final = 60.0
"""How long the next suspect waits for the one before."""
DEATHS: Final = "deaths"
MATCHING: Final = "0000:matching"
"""Buckets sort before every hour, so that they leave with the oldest counters."""

_LEFT: Final = (
    "SELECT id, position FROM workflow_runs WHERE state = 'running' AND (lease_owner IS NULL OR lease_owner <> :owner)"
)
_OURS: Final = "SELECT id, position FROM workflow_runs WHERE state = 'running' AND lease_owner = :owner"
_COUNTED: Final = "SELECT scope, bucket, count FROM counters WHERE name = :name"


class Deaths:
    """Counts who is taken up from a dead process."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.waiting: dict[str, str] = {}
        """Suspects that wait for their turn, and the step that each stands at."""

    async def sort(self, run_ids: Sequence[str], taken: Collection[str] | None = None) -> list[str]:
        """Of runs without a driver, those that may go on at once. Suspects are put in line. `taken`: of several engines' runs those that were taken
        from the dead, and are ours by now."""
        query = _LEFT if taken is None else _OURS
        left = await self._parts.store.fetch(query, {"owner": self._parts.owner}) if run_ids and taken != set() else []
        wanted = set(run_ids) if taken is None else set(run_ids) & set(taken)
        places = {row["id"]: _place(row["position"]) for row in left if row["id"] in wanted}
        if not places:
            return list(run_ids)
        counted = await self._counted()
        deaths = {run_id: counted.get((run_id, place), 0) for run_id, place in places.items()}
        suspects = sorted((run_id for run_id in places if deaths[run_id] >= SUSPECT), key=lambda one: deaths[one])
        at_once = [run_id for run_id in run_ids if run_id not in suspects]
        first = [rows.count(run_id, DEATHS, places[run_id]) for run_id in at_once if run_id in places]
        if first:
            await self._parts.store.submit(*first)
        if suspects:
            _log.warning(
                "%d runs were under way when the host died again and again; they go on one by one.", len(suspects)
            )
        self.waiting.update((run_id, places[run_id]) for run_id in suspects)
        return at_once

    async def may_go_on(self, run_id: str, place: str) -> bool:
        """Whether a suspect has its turn, which counts; False where it had all of them."""
        if (await self._counted()).get((run_id, place), 0) >= LIMIT:
            return False
        await self._parts.store.submit(rows.count(run_id, DEATHS, place))
        return True

    async def may_match(self, event: Event) -> bool:
        """Whether an event that a dead process left is matched; where it had all its turns it starts nothing, and an alert says so."""
        if (await self._counted()).get((event.id, MATCHING), 0) < LIMIT:
            await self._parts.store.submit(rows.count(event.id, DEATHS, MATCHING))
            return True
        title = f"An event of the type {event.type} starts nothing"
        said = f"The host died {LIMIT} times while it looked for what the event {event.id} starts. Report it to who made the triggers."
        await self._parts.store.submit(rows.event_matched(event.id, 0), *site_alert(self._parts, title, said))
        return False

    async def _counted(self) -> Mapping[tuple[str, str], int]:
        found = await self._parts.store.fetch(_COUNTED, {"name": DEATHS})
        return {(row["scope"], row["bucket"]): row["count"] for row in found}


def _place(position: str) -> str:
    return f"0000:{rows.load(position).get('seq', 0)}"
