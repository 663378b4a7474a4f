"""Runs out of their rows: a run that is taken up by who did not make it, with the intent that it was left with."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from siteward.core.contract.registry import Repeat
from siteward.core.engine import rows
from siteward.core.engine.acting import Intent
from siteward.core.engine.catalog import Catalog, Unprovided
from siteward.core.engine.leases import claim_own
from siteward.core.engine.parts import Parts
from siteward.core.engine.position import position_from_json
from siteward.core.engine.seam import Mode, RunState
from siteward.core.engine.views import Run
from siteward.core.errors import NotFound
from siteward.core.events.event import Event
from siteward.core.store.errors import LostRace

_log = logging.getLogger(__name__)

_RUN: Final = "SELECT * FROM workflow_runs WHERE id = :id"
_EVENT: Final = "SELECT * FROM events WHERE id = :id"
_INTENT: Final = (
    "SELECT result, attempts FROM workflow_run_steps WHERE run_id = :run AND path = :path AND status = 'intent'"
)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A run that is ours now, and the intent that it was left with."""

    run: Run
    intent: Intent | None = None


class Claims:
    """Takes up runs."""

    def __init__(self, parts: Parts, catalog: Catalog) -> None:
        self._parts = parts
        self._catalog = catalog
        self.stranded: set[str] = set()
        """Runs that cannot go on before `refresh` found what they need."""

    async def claim(self, run_id: str) -> Claimed | None:
        """Take a running run: whoever drove it before is fenced off. None where it does not run any more, or nobody provides what it needs
        now. The event, the plan, the position and an open intent are all there is to know."""
        store = self._parts.store
        claim = rows.claim_run if self._parts.alone else claim_own
        try:
            await store.submit(claim(run_id, self._parts.owner))
        except LostRace:
            return None
        found = await store.fetch(_RUN, {"id": run_id})
        if not found or found[0]["state"] != RunState.RUNNING or found[0]["lease_owner"] != self._parts.owner:
            return None
        row = found[0]
        try:
            plan = await self._catalog.plan(row["workflow_id"], row["version"])
        except (NotFound, Unprovided) as error:
            # It stands still until what it needs is back; the workflow says that it needs attention.
            _log.warning("Run %s stands still: %s", run_id, error.sentence)
            self.stranded.add(run_id)
            return None
        run = Run(
            id=run_id,
            mode=Mode(row["mode"]),
            event=await self.event(row["event_id"]),
            chain=row["chain"],
            fence=row["fence"],
            plan=plan,
            position=position_from_json(rows.load(row["position"])),
            picture=row["newest_picture"],
            limits=self._catalog.limits(plan),
            one_key=row["one_key"],
        )
        return Claimed(run, await self._open_intent(run))

    async def event(self, event_id: str) -> Event:
        """An accepted event."""
        return rows.event_from_row((await self._parts.store.fetch(_EVENT, {"id": event_id}))[0])

    async def _open_intent(self, run: Run) -> Intent | None:
        """The intent of the step that the run stands at, where one was committed and nothing came of it."""
        at = run.position.current(run.plan)
        if at is None:
            return None
        found = await self._parts.store.fetch(_INTENT, {"run": run.id, "path": at[1]})
        if not found:
            return None
        return Intent(Repeat(rows.load(found[0]["result"])["repeat"]), found[0]["attempts"])
