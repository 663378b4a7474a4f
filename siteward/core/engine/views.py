"""What a step and a condition see of their run and of the site."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import select

from siteward.core.clock import Clock
from siteward.core.contract.document import Step
from siteward.core.engine.limits import Limits, ai_calls_left, hour_of, scope_of
from siteward.core.engine.parts import Parts
from siteward.core.engine.plan import Plan, moves_of_lane
from siteward.core.engine.position import Position
from siteward.core.engine.rows import event_from_row
from siteward.core.engine.schedule import zone_named
from siteward.core.engine.seam import JSON, AiSurroundings, Labelled, Mode, SiteReads, Skills, Trail
from siteward.core.engine.windows import event_window
from siteward.core.errors import UnknownRole
from siteward.core.events.event import Event
from siteward.core.plugins.objects import ConditionView
from siteward.core.store.schema import counters, events

MAX_EVENTS = 1000
"""Events that one window reads at most: the newest ones."""
AI_CALLS = "ai_per_hour"


@dataclass(frozen=True, slots=True)
class Run:
    """A run in memory: its row as it was claimed. `fence` is the claim's; every write of ours is checked by it."""

    id: str
    mode: Mode
    event: Event
    chain: int
    fence: int
    plan: Plan
    position: Position
    picture: str | None
    limits: Limits
    one_key: str | None = None

    @property
    def scope(self) -> str:
        """Under which name its counters are kept: a version in Test beside the one that is On has its own."""
        return scope_of(self.plan.workflow_id, self.one_key)

    def holding(self, key: str) -> Run:
        """The run as the one that holds this one-at-a-time key."""
        return Run(
            self.id,
            self.mode,
            self.event,
            self.chain,
            self.fence,
            self.plan,
            self.position,
            self.picture,
            self.limits,
            key,
        )

    def at(self, position: Position) -> Run:
        """The run at another position."""
        return Run(
            self.id,
            self.mode,
            self.event,
            self.chain,
            self.fence,
            self.plan,
            position,
            self.picture,
            self.limits,
            self.one_key,
        )

    def newest_event(self) -> Event:
        """The event with the newest picture of it (a repeat may have brought one); where it came with none, the one that an AI step took
        and decided on, so that a person is asked with what the model saw. Try and replay decide on the event's own."""
        picture = self.picture or self.position.looked_at
        if picture is None or self.mode in (Mode.TRY, Mode.REPLAY):
            return self.event
        return replace(self.event, picture=picture)


class SiteAtNow:
    """What conditions look at, at one instant."""

    def __init__(self, parts: Parts, event: Event) -> None:
        self._parts = parts
        self._event = event
        self._now = parts.clock.now().astimezone(zone_named(parts.site.zone))

    @property
    def now(self) -> datetime:
        return self._now

    @property
    def event(self) -> Event:
        return self._event

    @property
    def camera_roles(self) -> frozenset[str]:
        return self._parts.site.roles_of(self._event.camera)

    async def site_mode(self) -> str:
        return await self._parts.site.site_mode()

    async def in_list(self, name: str, value: str, *, confirmed_only: bool) -> bool:
        return await self._parts.site.in_list(name, value, confirmed_only=confirmed_only)

    async def count_events(self, window: Mapping[str, JSON]) -> int:
        return len(await events_in(self._parts, window, self._event, self._now))


async def events_in(parts: Parts, window: Mapping[str, JSON], trigger: Event, now: datetime) -> tuple[Event, ...]:
    """Accepted events of a window, oldest first. The run's own trigger is not one of those since it."""
    wanted = event_window(window)
    starts = wanted.starts(now, trigger.at).timestamp()
    query = select(events).where(events.c.at >= starts, events.c.at <= now.timestamp())
    if wanted.type is not None:
        query = query.where(events.c.type == wanted.type)
    if wanted.since_trigger:
        query = query.where(events.c.id != trigger.id)
    rows = await parts.store.read(query.order_by(events.c.at.desc(), events.c.id.desc()).limit(MAX_EVENTS))
    found = (event_from_row(row) for row in reversed(rows))
    return tuple(event for event in found if wanted.holds(event))


class ReadsOfSite:
    """What steps read of the site beside conditions."""

    def __init__(self, parts: Parts, event: Event) -> None:
        self._parts = parts
        self._event = event

    async def cameras_of(self, role: str) -> tuple[str, ...]:
        cameras = self._parts.site.cameras_of(role)
        if not cameras:
            raise UnknownRole(f"No camera has the role {role} on this site: map it on the Site page.", where=role)
        return tuple(sorted(cameras))

    async def roles_of(self, camera: str) -> frozenset[str]:
        return self._parts.site.roles_of(camera)

    async def list_rows(self, name: str, *, confirmed_only: bool) -> tuple[Mapping[str, JSON], ...]:
        return tuple(await self._parts.site.list_rows(name, confirmed_only=confirmed_only))

    async def events_in(self, window: Mapping[str, JSON]) -> tuple[Event, ...]:
        return await events_in(self._parts, window, self._event, self._parts.clock.now())


class ViewOfRun:
    """A run as its step sees it."""

    def __init__(self, parts: Parts, run: Run, path: str, mode: Mode) -> None:
        self._parts = parts
        self._run = run
        self._path = path
        self._mode = mode

    @property
    def run_id(self) -> str:
        return self._run.id

    @property
    def workflow_id(self) -> str:
        return self._run.plan.workflow_id

    @property
    def workflow_name(self) -> str:
        return self._run.plan.name

    @property
    def mode(self) -> Mode:
        return self._mode

    @property
    def event(self) -> Event:
        return self._run.newest_event()

    @property
    def clock(self) -> Clock:
        return self._parts.clock

    @property
    def trail(self) -> Trail:
        return self._run.position.trail

    @property
    def values(self) -> Mapping[str, Labelled]:
        return self._run.position.values

    @property
    def step_path(self) -> str:
        return self._path

    @property
    def skills(self) -> Skills:
        return self._parts.skills

    @property
    def site(self) -> SiteReads:
        return ReadsOfSite(self._parts, self._run.event)

    def conditions(self) -> ConditionView:
        return SiteAtNow(self._parts, self._run.event)

    def moves_on(self, step: Step, outcome: str) -> tuple[str, ...]:
        tells, known = self._parts.site.tells(), self._run.plan.moves
        key = (step.plan_path, outcome, tells)
        if key not in known:
            known[key] = moves_of_lane(step, outcome, self._parts.skills.registry, tells)
        return known[key]

    async def ai_surroundings(self, step: Step) -> AiSurroundings:
        parts = self._parts
        return AiSurroundings(
            host=parts.host,
            vision=parts.models.vision,
            text=parts.models.text,
            seed=parts.random.getrandbits(31),
            cameras=self._cameras(step),
            gpu=parts.models.gpu,
            site_facts=_facts_text(parts.site.facts()),
            calls_left=await self._calls_left(),
        )

    def _cameras(self, step: Step) -> tuple[str, ...]:
        """The trigger's camera first, then those of the step's roles."""
        roles = step.settings.get("cameras") or ()
        named = roles if isinstance(roles, tuple | list) else (roles,)
        own = (self._run.event.camera,) if self._run.event.camera is not None else ()
        others = (camera for role in named for camera in sorted(self._parts.site.cameras_of(str(role))))
        return tuple(dict.fromkeys((*own, *others)))

    async def _calls_left(self) -> int | None:
        if self._mode in (Mode.TRY, Mode.REPLAY):
            return None
        query = select(counters.c.count).where(
            counters.c.scope == self._run.scope,
            counters.c.name == AI_CALLS,
            counters.c.bucket == hour_of(self._parts.clock.now()),
        )
        rows = await self._parts.store.read(query)
        return ai_calls_left(self._run.limits, rows[0]["count"] if rows else 0)


def _facts_text(facts: Mapping[str, JSON]) -> str:
    """The site's facts as text for a data block; nothing where it has none."""
    return json.dumps(facts, ensure_ascii=False, sort_keys=True) if facts else ""
