"""An engine with everything around it scripted: the one place where engine tests arrange their world."""

from __future__ import annotations

import dataclasses
import itertools
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Select, Table, select

from siteward.core.contract.document import State
from siteward.core.contract.manifest_data import shipped_registry
from siteward.core.contract.registry import Provenance, Registry, Repeat, SiteView
from siteward.core.contract.validate import validate
from siteward.core.engine.engine import Engine
from siteward.core.engine.meters import Meters, NoMeters
from siteward.core.engine.parts import Parts, Validate
from siteward.core.engine.seam import HostStep
from siteward.core.events.event import Event
from siteward.core.ids import TimedIds
from siteward.core.plugins.event_triggers import VOCABULARY
from siteward.core.plugins.loader import load_shipped
from siteward.core.plugins.objects import Action, ActionCall, AiAnswer, AiMode, AiRequest, Host
from siteward.core.plugins.registry import Loaded
from siteward.core.store.boundaries import Boundaries, NoBoundaries
from siteward.core.store.migrate import migrate
from siteward.core.store.schema import alerts, logs, workflow_approvals, workflow_run_steps, workflow_runs
from siteward.core.store.store import Store
from siteward.sdk.simulated_clock import SimulatedClock
from siteward.steps import host_steps

CAMERAS = {"gate": frozenset({"cam-1"}), "yard": frozenset({"cam-2", "cam-3"})}
GUARD = "user:gerda"

Happening = Callable[[ActionCall], Awaitable[None]]


@dataclass
class Outside:
    """What integrations did outside, as the world would tell it. `raises` are the errors that an action raises next."""

    calls: list[ActionCall] = field(default_factory=list)
    raises: dict[str, list[BaseException]] = field(default_factory=dict)
    before: dict[str, Happening] = field(default_factory=dict)

    def acting(self, name: str) -> Callable[[ActionCall, Host], Awaitable[Mapping[str, Any]]]:
        async def perform(call: ActionCall, host: Host) -> Mapping[str, Any]:
            if name in self.before:
                await self.before[name](call)
            if self.raises.get(name):
                self.calls.append(call)
                raise self.raises[name].pop(0)
            self.calls.append(call)
            return {"state": "done"}

        return perform

    def named(self, name: str) -> list[ActionCall]:
        return [call for call in self.calls if call.action == name]


@dataclass
class Site:
    """The site's answers, as plain data that a test changes."""

    zone: str = "Europe/Berlin"
    owner: str = "role:admin"
    mode: str = "disarmed"
    lists: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    fresh: float = 60.0
    approved: frozenset[str] = frozenset()
    caps: dict[str, float] = field(default_factory=dict)
    strangers: frozenset[str] = frozenset({"user:stranger"})
    restored: datetime | None = None

    def cameras_of(self, role: str) -> frozenset[str]:
        return CAMERAS.get(role, frozenset())

    def roles_of(self, camera: str | None) -> frozenset[str]:
        return frozenset(role for role, cameras in CAMERAS.items() if camera in cameras)

    def fresh_for(self, target: str) -> float:
        return self.fresh

    def tells(self) -> frozenset[str]:
        return self.approved

    def authority_lists(self) -> Mapping[str, frozenset[str]]:
        return {"gate:main_gate": frozenset({"residents"})}

    def restored_at(self) -> datetime | None:
        return self.restored

    def view(self, saver: str | None) -> SiteView:
        roles = {
            "camera": frozenset(CAMERAS),
            "gate": frozenset({"main_gate"}),
            "list": frozenset({"residents"}),
            "person": frozenset({"role:guard", "role:boss", "guard", "boss"}),
            "zone": frozenset({"apron"}),
            "destination": frozenset({"ticketing"}),
        }
        return SiteView(
            roles, frozenset(CAMERAS), authority_lists=self.authority_lists(), tells=self.approved, caps=self.caps
        )

    def revisions(self) -> Mapping[str, Any]:
        return {"facts": 1}

    def facts(self) -> Mapping[str, Any]:
        return {}

    def people(self, who: Sequence[str]) -> frozenset[str]:
        return frozenset()

    async def site_mode(self) -> str:
        return self.mode

    async def in_list(self, name: str, value: str, *, confirmed_only: bool) -> bool:
        return any(row.get("plate") == value for row in self.lists.get(name, []))

    async def list_rows(self, name: str, *, confirmed_only: bool) -> Sequence[Mapping[str, Any]]:
        return self.lists.get(name, [])

    async def may_answer(self, person: str, who: Sequence[str], camera: str | None) -> bool:
        return person not in self.strangers


class NoHost:
    """Scripted actions and modes touch nothing of the host."""


@dataclass
class Looks:
    """The scripted Look: what it decides next, and what it was asked."""

    decision: str = "delivery"
    reason: str = "a parcel van"
    calls: tuple[str, ...] = ("llm",)
    asked: list[AiRequest] = field(default_factory=list)

    async def run(self, request: AiRequest) -> AiAnswer:
        self.asked.append(request)
        values = {"reason": self.reason, "confidence": 0.9}
        columns = {"reason": self.reason, "confidence": 0.9, "model": "scripted"}
        return AiAnswer(
            self.decision, values, columns, calls=tuple({"kind": kind, "name": "look"} for kind in self.calls)
        )


@cache
def _shipped() -> Loaded:
    return load_shipped()


@cache
def migrated() -> bytes:
    """A migrated database, made once: each house begins with a copy."""
    with TemporaryDirectory() as folder:
        migrate(f"{folder}/site.db")
        with sqlite3.connect(f"{folder}/site.db") as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        return Path(folder, "site.db").read_bytes()


def scripted_skills(outside: Outside, looks: Looks, registry: Registry | None = None) -> Loaded:
    """The host's real steps, triggers, conditions and records; everything that acts outside is scripted."""
    loaded = _shipped()
    declared = registry or shipped_registry()
    actions = dict(loaded.actions)
    for name, spec in declared.actions.items():
        if spec.repeat is not Repeat.WITH_STEP:
            actions[name] = Action(name, spec.repeat, spec.moves, perform=outside.acting(name))
    return dataclasses.replace(
        loaded,
        registry=declared,
        actions=actions,
        triggers={**VOCABULARY, **loaded.triggers},
        ai_modes={"look": AiMode("look", looks.run)},
    )


class House:
    """A running engine over a database in a folder; `restart` makes a new one over the same rows."""

    def __init__(
        self,
        folder: Path,
        *,
        always_suspend: bool = False,
        boundaries: Boundaries | None = None,
        url: str | None = None,
        replica: str | None = None,
        drives: bool = True,
    ) -> None:
        """`url` is a migrated database other than the folder's own file. A `replica` has that name among several on it; one that does not
        drive is the web process."""
        self.replica = replica
        self.drives = drives
        self.folder = folder
        self.url = url
        self.clock = SimulatedClock()
        self.outside = Outside()
        self.looks = Looks()
        self.site = Site()
        self.skills = scripted_skills(self.outside, self.looks)
        self.host_steps: Mapping[str, HostStep] = host_steps()
        self.validate: Validate = lambda text, registry, site: validate(text, registry, site)
        self.always_suspend = always_suspend
        self.boundaries = boundaries or NoBoundaries()
        self.meters: Meters = NoMeters()
        self._numbers = itertools.count(1)
        self._seeds = itertools.count(1)

    async def open(self) -> None:
        self.store = await self.open_store()
        seed = Random(next(self._seeds))
        parts = Parts(
            store=self.store,
            skills=self.skills,
            host_steps=self.host_steps,
            site=self.site,
            host=NoHost(),  # type: ignore[arg-type]
            clock=self.clock,
            ids=TimedIds(self.clock, seed),
            random=seed,
            validate=self.validate,
            boundaries=self.boundaries,
            meters=self.meters,
            always_suspend=self.always_suspend,
            alone=self.replica is None,
            name=self.replica or "main",
            drives=self.drives,
        )
        self.engine = Engine(parts)
        await self.engine.start()

    async def open_store(self) -> Store:
        """The database of the house: in the folder, made where there is none."""
        if self.url is not None:
            return await Store.open(self.url, self.boundaries)
        path = self.folder / "site.db"
        if not path.exists():
            path.write_bytes(migrated())
        return await Store.open(f"sqlite:///{path}", self.boundaries)

    async def close(self) -> None:
        await self.engine.stop()
        await self.store.close()

    async def restart(self) -> None:
        await self.close()
        await self.open()

    # -- arranging -----------------------------------------------------------------------------------------------------
    async def save(self, text: str, state: State = State.ON) -> str:
        saved = await self.engine.save_workflow(text, "user:admin")
        if state is not State.TEST:
            await self.engine.set_state(saved.workflow_id, state, "user:admin")
        return saved.workflow_id

    def vehicle(
        self, *, camera: str = "cam-1", track: str | None = None, picture: str | None = None, id: str | None = None
    ) -> Event:
        number = next(self._numbers)
        payload: dict[str, Any] = {"zone": "apron", "seconds": 5, "label": "car"}
        if track is not None:
            payload["track"] = track
        return Event(
            id or f"vehicle-{number}",
            "detect.vehicle_in_zone",
            "detector",
            Provenance.SENSOR,
            self.clock.now(),
            camera,
            payload=payload,
            picture=picture,
        )

    def plate(self, plate: str | None, *, camera: str = "cam-1", picture: str | None = None) -> Event:
        return Event(
            f"plate-{next(self._numbers)}",
            "plate.recognized.v1",
            "lpr",
            Provenance.SENSOR,
            self.clock.now(),
            camera,
            payload={} if plate is None else {"plate": plate},
            picture=picture,
        )

    def event(self, type: str, payload: Mapping[str, Any] | None = None, **more: Any) -> Event:
        provenance = more.pop("provenance", Provenance.SENSOR)
        at, camera = self.clock.now(), more.pop("camera", "cam-1")
        number = next(self._numbers)
        return Event(f"{type}-{number}", type, "test", provenance, at, camera, payload=payload or {}, **more)

    # -- acting --------------------------------------------------------------------------------------------------------
    async def happens(self, event: Event) -> str | None:
        """An event arrives and everything that follows at this time is done; the run that it made."""
        runs = await self.engine.accept(event)
        await self.engine.drain()
        return runs[0] if runs else None

    async def passes(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        await self.engine.drain()

    async def reply(self, reply: str, by: str = GUARD) -> None:
        open_ones = [row for row in await self.rows(workflow_approvals) if row["state"] == "open"]
        await self.engine.answer(open_ones[-1]["id"], reply, by)
        await self.engine.drain()

    # -- asking --------------------------------------------------------------------------------------------------------
    async def rows(self, table: Table | Select[Any]) -> Sequence[dict[str, Any]]:
        query = select(table) if isinstance(table, Table) else table
        return await self.store.read(query)

    async def run(self, run_id: str | None) -> dict[str, Any]:
        return (await self.rows(select(workflow_runs).where(workflow_runs.c.id == run_id)))[0]

    async def states(self) -> list[str]:
        found = await self.rows(select(workflow_runs).order_by(workflow_runs.c.id))
        return [row["state"] for row in found]

    async def steps(self, run_id: str | None) -> dict[str, str]:
        """The status of each step by its path, in the order in which they ran."""
        query = select(workflow_run_steps).where(workflow_run_steps.c.run_id == run_id)
        found = await self.rows(query.order_by(workflow_run_steps.c.seq, workflow_run_steps.c.path))
        return {row["path"]: row["status"] for row in found}

    async def logged(self) -> list[str]:
        return [row["message"] for row in await self.rows(select(logs).order_by(logs.c.id))]

    async def engine_alerts(self) -> list[str]:
        return [row["title"] for row in await self.rows(alerts) if row["kind"] == "engine"]
