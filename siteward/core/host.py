"""A host: one site's folder with everything that lives on it. The only file that knows all the rooms.

`open_host` puts the parts together and touches nothing outside; `Host.start` sets integrations up, takes up what the last process left
and reads the workflow files that nobody has imported yet. Killing the process at any moment is as good as closing the host.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from siteward.core.api.host import Demo
from siteward.core.clock import Clock, SystemClock
from siteward.core.contract import Report, validate
from siteward.core.contract.registry import Registry
from siteward.core.engine.engine import Engine
from siteward.core.engine.parts import Parts
from siteward.core.engine.seam import HostStep
from siteward.core.entries import Entries
from siteward.core.errors import SitewardError
from siteward.core.held_skills import HeldSkills
from siteward.core.ids import TimedIds
from siteward.core.integration_host import MAIN, IntegrationHost
from siteward.core.loop_watch import LoopWatch
from siteward.core.metrics import HostMeters, LoopLag
from siteward.core.metrics_text import Figures, metrics_text, read_rows
from siteward.core.models import OpenModels, open_models
from siteward.core.plugins.discovery import find_custom, find_packages, find_shipped
from siteward.core.plugins.loader import load
from siteward.core.plugins.registry import Loaded, LoadState
from siteward.core.plugins.setup import SetUp
from siteward.core.shared_clock import SharedClock
from siteward.core.site.configuration import SiteConfiguration, read_configuration
from siteward.core.site.people import PEOPLE
from siteward.core.site.services import ServicesOfSite
from siteward.core.site.site import Chance, Site
from siteward.core.site_folder import CONFIGURATION, DATABASE, database_url
from siteward.core.store.boundaries import Boundaries, NoBoundaries
from siteward.core.store.store import Store
from siteward.core.workflow_files import import_new_files

GATE_SECONDS: Final = 5.0
UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class Host:
    """An opened site. `skills` is what its integrations provide now; `imports` says whether this process takes the folder's workflow files."""

    folder: Path
    site: Site
    services: ServicesOfSite
    engine: Engine
    skills: HeldSkills
    integrations: IntegrationHost
    models: OpenModels
    set_up: SetUp
    entries: Entries
    imports: bool
    meters: HostMeters
    loop_lag: LoopLag

    @property
    def registry(self) -> Registry:
        return self.skills.registry

    @property
    def demo(self) -> Demo | None:
        return next((entry.player for entry in self.set_up.entries if entry.player is not None), None)

    async def start(self) -> None:
        """Set integrations up and take up the work. Raises nothing for an integration that fails: its record says why."""
        await self.engine.refresh()
        if self.engine.leases is None:
            await self.entries.start()
            await self.engine.start()
        else:
            # A process that is not known to the others yet holds nothing.
            await self.engine.start()
            await self.entries.start()
        self.integrations.begin_work()
        if not self.imports:
            return
        view = self.services.view(None)
        await import_new_files(self.folder, self.site, self.engine, self.registry, view)

    async def living(self) -> list[dict[str, Any]]:
        """The processes of the site that are alive; none where it is the only one."""
        return [] if self.engine.leases is None else await self.engine.leases.living()

    async def drain(self) -> None:
        """Give up the places at brokers that a removed engine of this name has; what they hold for it is accepted first. Raises `NotReady`
        where a broker is not there."""
        await self.engine.start()
        await self.entries.share()
        self.integrations.begin_work()
        for entry in self.set_up.entries:
            if entry.transport is not None:
                await entry.transport.leave()

    def validate(self, text: str, saver: str | None) -> Report:
        return validate(text, self.registry, self.services.view(saver))

    async def metrics(self) -> bytes:
        store, clock = self.site.store, self.site.clock
        rows = await read_rows(store, clock.now().timestamp())
        names = {held.id: held.name for held in self.engine.catalog}
        figures = Figures(
            self.meters.as_now(),
            self.loop_lag,
            store,
            rows,
            lambda workflow: names.get(workflow, workflow),
            None if self.site.configuration.database else self.folder / DATABASE,
        )
        return await asyncio.to_thread(metrics_text, figures)

    async def gate_state(self, role: str) -> str:
        return (await self._gate(role))[0]

    async def _gate(self, role: str) -> tuple[str, str]:
        """A gate's state, and what is wrong where it cannot be read (empty where it can)."""
        gate = self.integrations.gate(role)
        driver = self.skills.now.gate_drivers.get(gate.driver)
        if driver is None:
            known = ", ".join(sorted(self.skills.now.gate_drivers)) or "none"
            return UNKNOWN, (
                f"The gate {role} is driven by {gate.driver}, which no loaded integration provides. "
                f"Correct its driver in configuration.yaml; there is: {known}."
            )
        try:
            async with asyncio.timeout(GATE_SECONDS):
                return await driver.state(gate, self.integrations), ""
        except SitewardError as error:
            return UNKNOWN, error.sentence
        except TimeoutError:
            return UNKNOWN, f"The gate {role} did not tell its state within {GATE_SECONDS:.0f} s."

    async def health(self) -> Mapping[str, Any]:
        away = {
            one.domain: one.transport.problem for one in self.set_up.entries if one.transport and one.transport.problem
        }
        parts = [
            {
                "name": record.domain,
                "ok": record.state is LoadState.LOADED and record.domain not in away,
                "sentence": away.get(record.domain, record.sentence),
            }
            for record in self.skills.now.records
            if record.state is not LoadState.DISCOVERED
        ]
        parts += [
            {"name": entry.domain, "ok": False, "sentence": problem}
            for entry in self.set_up.entries
            for problem in entry.problems
        ]
        if (trouble := self.engine.trouble) is not None:
            parts.append({"name": "database", "ok": False, "sentence": trouble})
        parts += [{"name": name, "ok": False, "sentence": sentence} for name, sentence in self.models.problems.items()]
        parts += [{"name": name, "ok": False, "sentence": told} for name, told in (await self._things()).items()]
        return {"ok": all(part["ok"] for part in parts), "parts": parts}

    async def _things(self) -> dict[str, str]:
        """What is wrong with cameras and gates, so that it is told before the first vehicle comes."""
        roles = tuple(self.site.configuration.gates)
        gates = await asyncio.gather(*(self._gate(role) for role in roles))
        wrong = {role: problem for role, (_, problem) in zip(roles, gates, strict=True) if problem}
        return {**await self.integrations.camera_problems(), **wrong}


async def load_site(folder: Path, configuration: SiteConfiguration) -> Loaded:
    """What the site's integrations provide, and what became of each."""
    return await load((*find_shipped(), *find_packages(), *find_custom(folder)), configuration.integrations)


@asynccontextmanager
async def open_host(
    folder: Path,
    *,
    clock: Clock | None = None,
    configuration: SiteConfiguration | None = None,
    boundaries: Boundaries | None = None,
    database: Path | None = None,
    applies: bool = True,
    migrates: bool = True,
    replica: str = MAIN,
    drives: bool = True,
) -> AsyncIterator[Host]:
    """Open the site in `folder` and close it again, in the reverse order. `database` is another file than the site's own. Without `applies`
    what the configuration says is held and not written; without `migrates` the database is taken as it is (see `beside`). `replica` is the
    name of this process among those that serve the site; one that does not `drive` accepts and answers, and leaves matching and runs to the others.

    Raises `ConfigurationInvalid`, and what the store raises.
    """
    if configuration is None:
        configuration = await asyncio.to_thread(read_configuration, folder / CONFIGURATION)
    clock = clock or SystemClock()
    chance = random.SystemRandom()
    ids = TimedIds(clock, chance)
    skills = HeldSkills(await load_site(folder, configuration))
    async with AsyncExitStack() as exits:
        url = database_url(folder, configuration.database) if database is None else f"sqlite:///{database}"
        store = await Store.open(url, boundaries, migrates=migrates)
        exits.push_async_callback(store.close)
        shared = None
        if store.shared:
            clock = shared = await SharedClock.agreed(clock, store)
        by_chance = Chance(lambda: secrets.token_urlsafe(32), chance.choice)
        site = await Site.open(store, configuration, clock, ids, by_chance, applies=applies)
        exits.enter_context(site.guard.armed())
        integrations = IntegrationHost(str(folder), site, skills.now.camera_kinds, replica)
        exits.push_async_callback(integrations.close)
        models = await open_models(configuration.models, skills.now.model_kinds, integrations)
        exits.push_async_callback(models.close)
        meters, loop_lag = HostMeters(), LoopLag()
        services = ServicesOfSite(site, models.vocabulary, models.digests)
        engine = Engine(
            Parts(
                store=store,
                skills=skills,
                host_steps={name: cast("HostStep", kind.step) for name, kind in skills.now.host_steps.items()},
                site=services,
                host=integrations,
                clock=clock,
                ids=ids,
                random=chance,
                validate=validate,
                models=models,
                meters=meters,
                boundaries=boundaries or NoBoundaries(),
                alone=shared is None,
                name=replica,
                drives=drives,
                at_beat=None if shared is None else shared.agree,
            )
        )
        integrations.bind(engine.accept)
        exits.push_async_callback(engine.stop)
        set_up = SetUp(integrations)
        entries = Entries(engine, skills, set_up, configuration.integrations, drives=drives)
        exits.push_async_callback(entries.stop)
        if shared is not None:
            await exits.enter_async_context(_hearing_of_people(site))
        watching = asyncio.create_task(loop_lag.watch(), name="siteward-loop-lag")
        exits.callback(watching.cancel)
        exits.enter_context(LoopWatch().running())
        yield Host(
            folder, site, services, engine, skills, integrations, models, set_up, entries, applies, meters, loop_lag
        )


@asynccontextmanager
async def _hearing_of_people(site: Site) -> AsyncIterator[None]:
    """Accounts that another process of the site made or closed are known here too."""
    tasks: set[asyncio.Task[None]] = set()

    def heard(_channel: str) -> None:
        task = asyncio.create_task(site.people.refresh(), name="siteward-people")
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    end = site.store.listen((PEOPLE,), heard)
    try:
        yield
    finally:
        await asyncio.to_thread(end)
