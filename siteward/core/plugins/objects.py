"""What an integration registers: typed objects that join a manifest's declaration to code.

A manifest says *what* there is (names, fields, provenance, repeat, moves); these say *how* it is done. The loader refuses
a module whose objects differ from its manifest. Authors import them from `siteward.sdk`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Protocol

from siteward.core.agent import Budget, LLMClient
from siteward.core.clock import Clock
from siteward.core.contract.registry import Moves, Repeat
from siteward.core.events.event import Event

JSON = Any
"""Plain JSON at the wire; turned into a type by whoever takes it."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture: encoded bytes (JPEG or PNG), when it was taken (UTC), and from which camera."""

    data: bytes
    content_type: str
    at: datetime
    camera: str | None = None


class Camera(Protocol):
    """An open camera."""

    async def snapshot(self) -> Picture:
        """A fresh picture. Raises `CameraDown` where there is none."""
        ...

    async def close(self) -> None:
        """Let go of the stream."""
        ...


@dataclass(frozen=True, slots=True)
class CameraKind:
    """A way to open cameras (`camera.folder`, `camera.http`): `open` takes the camera's own settings."""

    name: str
    open: Callable[[str, Mapping[str, JSON], Host], Awaitable[Camera]]


@dataclass(frozen=True, slots=True)
class GateSettings:
    """A gate of the site: its role name, the integration that drives it, and that driver's settings."""

    role: str
    driver: str
    settings: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class GateDriver:
    """What drives gates, under its integration's domain. `state` reads `open`, `closed` or `unknown` from the gate itself; raises
    `Unreachable` or `EgressRefused`. The moves are its `gate.open` and `gate.close` actions."""

    name: str
    state: Callable[[GateSettings, Host], Awaitable[str]]


class Named(Protocol):
    """Something that a manifest declares by name."""

    @property
    def name(self) -> str: ...


class ScenePlayer(Protocol):
    """What replays recorded scenes on a demo site."""

    async def play_next(self) -> str:
        """Play the next scene as if it happened now; returns what it shows, in words."""
        ...


class EventTransport(Protocol):
    """A connection to a broker by which events come to this process."""

    @property
    def problem(self) -> str:
        """What keeps messages from coming, in a sentence; empty while they come."""
        ...

    def facts(self) -> Mapping[str, JSON]:
        """What there is to know of it, without secrets."""
        ...

    async def leave(self) -> None:
        """Give up this process's place at the broker, for good. Raises `NotReady` where the broker is not there."""
        ...


class Host(Protocol):
    """What an integration may use of the host. No database session, no other integration, no socket but through `http` and `reached`."""

    @property
    def clock(self) -> Clock: ...

    @property
    def config_dir(self) -> str:
        """The site's folder."""
        ...

    @property
    def replica(self) -> str:
        """The name of this process among those that serve the site: the same at each start, another one for each."""
        ...

    async def site_id(self) -> str:
        """What tells this site from every other one: made once, and never changed."""
        ...

    async def at_work(self) -> None:
        """Returns once everything is set up and the engine runs: what brings events from outside waits for it."""
        ...

    async def emit(self, event: Event) -> None:
        """Accept an event: returns once its row is committed. Raises `NotReady` where it is not sure that it is kept: emit it again, its
        id makes that harmless. Whatever else is raised says that this event cannot be kept."""
        ...

    async def http(
        self,
        method: str,
        url: str,
        *,
        purpose: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
    ) -> tuple[int, bytes]:
        """One HTTP request through the site's egress gate. Raises `EgressRefused` (not approved) or `Unreachable`."""
        ...

    def reached(self, url: str, *, purpose: str) -> AbstractAsyncContextManager[tuple[str, ...]]:
        """While the block runs, this process may connect to the addresses that it gives for a URL of a broker (`mqtt://…`, `nats://…`). Raises
        `EgressRefused` (not approved) or `Unreachable` (no such name)."""
        ...

    def gate(self, role: str) -> GateSettings:
        """The gate behind a role. Raises `UnknownRole`."""
        ...

    def destination(self, role: str) -> str:
        """The URL of a named destination. Raises `UnknownRole`."""
        ...

    async def set_site_mode(self, mode: str, *, by: str, key: str) -> str:
        """Put the site into a mode; returns the mode read back. `by` is who did it (audit), `key` makes a repeat harmless."""
        ...

    async def snapshot(self, camera: str) -> Picture:
        """A fresh picture of a camera id. Raises `CameraDown`."""
        ...

    async def store_picture(self, picture: Picture) -> str:
        """Keep a picture in the site's media; returns its media id."""
        ...

    async def stored_picture(self, media_id: str) -> Picture:
        """A kept picture. Raises `KeyError` where it is not kept any more."""
        ...


@dataclass(frozen=True, slots=True)
class ActionCall:
    """One action to perform, arguments resolved. `key` is the idempotency key (the same on every retry of this step). `workflow` is the
    workflow's name for people; an event that the action causes carries `workflow_id` as its `caused_by`, and this `chain`.
    `send_by` is the latest `since_boot()` of the clock at which a move may be sent: its authority has run out after that. Whoever
    moves a thing looks at it last of all, since reading a state first takes time, and a process may have been stopped."""

    action: str
    arguments: Mapping[str, JSON]
    key: str
    run_id: str
    workflow: str
    step_path: str
    correlation_id: str
    chain: int
    event: Event
    workflow_id: str = ""
    send_by: float | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A row that a `with_step` action leaves in the step's own transaction. `kind` is alert, notification, log."""

    kind: str
    values: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Action:
    """An action. `perform` acts outside and returns what came of it (state read back, never a guess), raising `ActionFailed`;
    a `with_step` action has `record` instead and touches nothing outside. `repeat` and `moves` equal the manifest's."""

    name: str
    repeat: Repeat
    moves: Moves
    perform: Callable[[ActionCall, Host], Awaitable[Mapping[str, JSON]]] | None = None
    record: Callable[[ActionCall, Clock], Sequence[Record]] | None = None


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger: which event types wake it, the residual test, and the values that it gives to a run (by the manifest's names).

    `next_due(settings, after, zone)` is only for schedules: the next time after `after` (UTC), or None.
    """

    name: str
    event_types: Callable[[Mapping[str, JSON]], tuple[str, ...]]
    matches: Callable[[Mapping[str, JSON], Event], bool]
    values: Callable[[Event], Mapping[str, JSON]]
    next_due: Callable[[Mapping[str, JSON], datetime, str], datetime | None] | None = None


class ConditionView(Protocol):
    """What a condition may look at. Everything is read at one instant."""

    @property
    def now(self) -> datetime:
        """Local time of the site (aware)."""
        ...

    @property
    def event(self) -> Event: ...

    @property
    def camera_roles(self) -> frozenset[str]:
        """The roles of the trigger's camera."""
        ...

    async def site_mode(self) -> str: ...

    async def in_list(self, name: str, value: str, *, confirmed_only: bool) -> bool:
        """Whether a row of the list matches the value (normalised as the list's column says)."""
        ...

    async def count_events(self, window: Mapping[str, JSON]) -> int:
        """How many accepted events fall into the window (`type`, `last` in seconds or `since`, `where`)."""
        ...


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition: `check` gets its resolved settings. On a path that moves things, the view itself counts only those rows of a list that
    a person stands for."""

    name: str
    check: Callable[[Mapping[str, JSON], ConditionView], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class ModelKind:
    """A way to open models (`embedded.perception`, `ollama`): `open` takes the model's settings and gives an `LLMClient`. `downloads` are
    the model files that `siteward models add NAME` can put into a folder, by name; each returns their paths."""

    name: str
    open: Callable[[Mapping[str, JSON], Host], Awaitable[LLMClient]]
    downloads: Mapping[str, Callable[[str], Awaitable[Sequence[str]]]] = field(
        default_factory=lambda: MappingProxyType({})
    )


@dataclass(frozen=True, slots=True)
class ThirdPartyStep:
    """What a third party's step gets and gives: `settings` resolved in, an outcome and values out."""

    outcome: str | None
    values: Mapping[str, JSON] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class StepKind:
    """A third party's step kind (repeat `rerun` only: what acts is an action). The host's own live in `siteward.steps`."""

    name: str
    run: Callable[[Mapping[str, JSON], Host], Awaitable[ThirdPartyStep]]


@dataclass(frozen=True, slots=True)
class HostStepKind:
    """A step kind of the host itself, which may wait, iterate and give authority: `step` is a `HostStep` of the engine's seam, which
    this room does not know."""

    name: str
    step: object


@dataclass(frozen=True, slots=True)
class AiLimits:
    """The bounds of one AI step. `seconds` is wall time in the step; `tokens` counts prompt and answer over all its calls; None: the
    mode's preset for the site's hardware."""

    tool_calls: int | None = None
    model_calls: int | None = None
    seconds: float | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class AiRequest:
    """One AI step to decide. `settings` are the step's keys as written (`prompt`, `input`, `decision`, `fields`, `rules`, `sure`,
    `uncalibrated`, without its mode, lanes and `limits`); `values` are the names known at this point with their plain values, which a mode sends to a
    model in data blocks only. `vision` and `text` are the site's models, None where it has none. `cameras` are the camera ids
    that the step may look at, the trigger's first. `stored_only` (try, replay): decide on the event's stored picture, never on a new one.
    `gpu`: the site's hardware class. `seed` is drawn from the host's random source for this step and makes its draws repeatable;
    `site_facts` is the site's own knowledge, `memory` one line per earlier decision of this camera by this step; `budget` is the site's
    hourly share of model calls, None: without a bound."""

    settings: Mapping[str, JSON]
    values: Mapping[str, JSON]
    event: Event
    host: Host
    vision: LLMClient | None
    text: LLMClient | None
    seed: int
    limits: AiLimits = field(default_factory=AiLimits)
    cameras: tuple[str, ...] = ()
    stored_only: bool = False
    gpu: bool = False
    site_facts: str = ""
    memory: tuple[str, ...] = ()
    budget: Budget | None = None


@dataclass(frozen=True, slots=True)
class AiAnswer:
    """What an AI step decided. `outcome` is a listed decision or `unsure`, and picks the lane. `values` are what later steps know (`decision`,
    `reason`, `confidence` and the fields); all of them are AI's except those in `backstops`, which the mode took from `AiRequest.values`
    (field name to the name it came from). `columns` are the run step's own columns (`confidence`, `confidence_source`, `self_reported`,
    `unsure_reason`, `rule`, `model`, `model_digest`, `usage`), `calls` its trace rows; `picture` is the media id of the picture that it
    decided on. `uncalibrated`: the confidence was never measured, so alerts stay capped."""

    outcome: str
    values: Mapping[str, JSON]
    columns: Mapping[str, JSON] = field(default_factory=lambda: MappingProxyType({}))
    calls: tuple[Mapping[str, JSON], ...] = ()
    picture: str | None = None
    backstops: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    uncalibrated: bool = False


@dataclass(frozen=True, slots=True)
class AiMode:
    """A mode of the `ai` step (`look`). `run` never raises for what a model, a camera or a picture does: it answers `unsure`."""

    name: str
    run: Callable[[AiRequest], Awaitable[AiAnswer]]
