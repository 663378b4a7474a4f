"""What every part of the engine works with. One is made per engine; nothing here belongs to one run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final, Protocol
from uuid import uuid4

from siteward.core.agent import LLMClient
from siteward.core.clock import Clock
from siteward.core.contract.problems import Report
from siteward.core.contract.registry import Registry, SiteView
from siteward.core.engine.meters import Meters, NoMeters
from siteward.core.engine.seam import HostStep, Skills
from siteward.core.engine.site_services import SiteServices
from siteward.core.ids import Ids
from siteward.core.plugins.objects import Action, Host, StepKind
from siteward.core.store.boundaries import Boundaries, NoBoundaries
from siteward.core.store.statements import IN_TURN, Op
from siteward.core.store.store import Store

_IN_TURN: Final = (Op(IN_TURN),)

AtBeat = Callable[[], Awaitable[None]]
"""Done at each beat of a process that shares its site: its clock agrees with the others'."""
Validate = Callable[[str, Registry, SiteView | None], Report]
"""Reads a workflow's text: `contract.validate` with its site."""


class Provided(Skills, Protocol):
    """What the loaded integrations provide, with what acts (`plugins.loader.Loaded` is one)."""

    @property
    def actions(self) -> Mapping[str, Action]: ...
    @property
    def step_kinds(self) -> Mapping[str, StepKind]: ...


class Models(Protocol):
    """The site's models, for AI steps."""

    @property
    def vision(self) -> LLMClient | None: ...
    @property
    def text(self) -> LLMClient | None: ...
    @property
    def gpu(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class NoModels:
    """A site without a model: AI steps are unsure."""

    vision: LLMClient | None = None
    text: LLMClient | None = None
    gpu: bool = False


@dataclass(frozen=True, slots=True)
class Parts:
    """`always_suspend` drops every run from memory after each step and reads it again, which proves that its rows are all it needs.
    `owner` names this engine in the runs that it holds, and no other one before or after it; `alone` says that no other engine works on this
    database. `name` is what people call this process among those of the site; one that does not `drive` accepts events and answers, and leaves
    matching and runs to the others."""

    store: Store
    skills: Provided
    host_steps: Mapping[str, HostStep]
    site: SiteServices
    host: Host
    clock: Clock
    ids: Ids
    random: Random
    validate: Validate
    models: Models = field(default_factory=NoModels)
    boundaries: Boundaries = field(default_factory=NoBoundaries)
    meters: Meters = field(default_factory=NoMeters)
    always_suspend: bool = False
    owner: str = field(default_factory=lambda: f"engine-{uuid4().hex}")
    alone: bool = True
    name: str = "main"
    drives: bool = True
    at_beat: AtBeat | None = None

    @property
    def in_turn(self) -> tuple[Op, ...]:
        """What a write begins with that changes rows which other engines change too."""
        return () if self.alone else _IN_TURN

    def now(self) -> float:
        """The wall clock as rows carry it."""
        return self.clock.now().timestamp()
