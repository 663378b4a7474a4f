"""What the runner and the step kinds say to each other.

The runner owns rows, transactions, waits and lanes; a step kind is a function of what it is given. It returns a value that
says what happened (`Done`, `Failed`), what to wait for (`Park`) or what to go over (`Iterate`), and never touches a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol

from siteward.core.agent import LLMClient
from siteward.core.clock import Clock
from siteward.core.contract.document import Step
from siteward.core.contract.registry import Provenance, Registry
from siteward.core.events.event import Event
from siteward.core.plugins.objects import AiMode, Condition, ConditionView, Host, Record, Trigger

JSON = Any
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Mode(StrEnum):
    """Why a run runs. Only `on` performs effects; `try` and `replay` also leave memory, scores and limits alone."""

    ON = "on"
    TEST = "test"
    TRY = "try"
    REPLAY = "replay"


class RunState(StrEnum):
    """Where a run stands."""

    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    NOT_MET = "not_met"
    FAILED = "failed"
    UNKNOWN = "unknown"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class StepStatus(StrEnum):
    """What became of a step."""

    INTENT = "intent"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    EXPIRED = "expired"
    UNKNOWN = "unknown"
    WOULD_HAVE = "would_have"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A value and where it comes from. A lost label is AI's. `authorises` marks an identity that a trigger gave. `names` are the
    placeholders that it was made from (what a person must have been shown, where one of them is AI's)."""

    value: JSON
    provenance: Provenance = Provenance.AI
    authorises: bool = False
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Authority:
    """Why a move on the current path is allowed, as recorded when it was given. `kind` is reply, call, authorising (a condition on an
    identity) or rule (a plain `if`, which counts only with no AI before it). `path` is the step that gave it, `lane` the lane that
    it holds in; `at` and `boot` are when (wall clock and `since_boot`); `shown` are the names whose values the person saw; `lists` are
    the ways in which an authorising condition found the identity, each the lists that it read (see `contract.flow_conditions.identities`)."""

    kind: str
    path: str
    lane: str
    at: datetime
    boot: float | None = None
    by: str | None = None
    shown: frozenset[str] = frozenset()
    lists: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True, slots=True)
class Trail:
    """What happened before a step on its own path, outermost first: the authorities whose lane it stands in, each with whether an AI
    step ran after it, and whether any AI word came before (an AI trigger included). `unanswered`: nobody answered before, or a call's
    outcome was not confirmed, and no person answered since on this path. `engine.authority` has the steps from one trail to the next."""

    authorities: tuple[tuple[Authority, bool], ...] = ()
    ai_before: bool = False
    unanswered: bool = False


class Skills(Protocol):
    """What the loaded integrations provide, by name (`plugins.loader.Loaded` is one)."""

    @property
    def registry(self) -> Registry: ...
    @property
    def triggers(self) -> Mapping[str, Trigger]: ...
    @property
    def conditions(self) -> Mapping[str, Condition]: ...
    @property
    def ai_modes(self) -> Mapping[str, AiMode]: ...


class SiteReads(Protocol):
    """What steps read of the site beside conditions, all at one instant."""

    async def cameras_of(self, role: str) -> tuple[str, ...]:
        """The camera ids behind a camera role or camera group, in the site's order. Raises `UnknownRole`."""
        ...

    async def roles_of(self, camera: str) -> frozenset[str]:
        """The roles that a camera id fills."""
        ...

    async def list_rows(self, name: str, *, confirmed_only: bool) -> tuple[Mapping[str, JSON], ...]:
        """The rows of a list, each with its columns, in the list's order, expired ones left out; if asked, only those that a person stands
        for. Raises `UnknownRole`."""
        ...

    async def events_in(self, window: Mapping[str, JSON]) -> tuple[Event, ...]:
        """Accepted events in a window (see `windows.EventWindow.as_json`), oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class AiSurroundings:
    """What an AI step has around it on this site (the fields mean what they mean in `AiRequest`). `calls_left` is what remains of the
    workflow's AI calls this hour; None: not counted (try, replay)."""

    host: Host
    vision: LLMClient | None
    text: LLMClient | None
    seed: int
    cameras: tuple[str, ...] = ()
    gpu: bool = False
    site_facts: str = ""
    memory: tuple[str, ...] = ()
    calls_left: int | None = None


class RunView(Protocol):
    """What a step kind sees of its run."""

    @property
    def run_id(self) -> str: ...
    @property
    def workflow_id(self) -> str: ...
    @property
    def workflow_name(self) -> str: ...
    @property
    def mode(self) -> Mode: ...
    @property
    def event(self) -> Event: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def trail(self) -> Trail: ...
    @property
    def values(self) -> Mapping[str, Labelled]:
        """Names known at this point: the trigger's (`plate`), the nearest AI step's (`reason`), and `id.name` of steps with an id."""
        ...

    @property
    def step_path(self) -> str:
        """The path of the step in this run, iterations included (`then.2/do[3].0`)."""
        ...

    @property
    def skills(self) -> Skills: ...
    @property
    def site(self) -> SiteReads: ...

    async def ai_surroundings(self, step: Step) -> AiSurroundings:
        """Models, cameras, facts and budget for an AI step (`cameras:` of the step mapped, the trigger's camera first)."""
        ...

    def conditions(self) -> ConditionView:
        """The site at this instant, for conditions."""
        ...

    def moves_on(self, step: Step, outcome: str) -> tuple[str, ...]:
        """What the lane of `outcome` (or the body of a loop, `do`) may move, in words, from the plan (shown on a reply's button)."""
        ...


@dataclass(frozen=True, slots=True)
class Done:
    """The step ended. `outcome` picks a lane (None: go on). `values` are known to later steps (under the step's id, and for an AI step
    also without it). `authority` is recorded for the lane. `columns` are an AI step's own columns; `calls` its trace rows. `ai`: an AI
    spoke (`authority.ai_spoke`); `ai_read`: the outcome was decided by these AI values (`ai_spoke` with their names); `unanswered`: nobody
    answered, or a default was taken (`authority.silence`)."""

    outcome: str | None = None
    values: Mapping[str, Labelled] = field(default_factory=lambda: _NOTHING)
    result: Mapping[str, JSON] = field(default_factory=lambda: _NOTHING)
    records: tuple[Record, ...] = ()
    authority: Authority | None = None
    ai: bool = False
    columns: Mapping[str, JSON] = field(default_factory=lambda: _NOTHING)
    calls: tuple[Mapping[str, JSON], ...] = ()
    status: StepStatus = StepStatus.DONE
    ai_read: frozenset[str] = frozenset()
    unanswered: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """The step failed: the run ends as failed (after `always`)."""

    code: str
    sentence: str
    status: StepStatus = StepStatus.FAILED


@dataclass(frozen=True, slots=True)
class NewWait:
    """A due-time row to write: `kind` is ask, wait, wait_for or escalate."""

    kind: str
    due: datetime | None
    payload: Mapping[str, JSON] = field(default_factory=lambda: _NOTHING)
    event_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewApproval:
    """A question to people, committed with its wait."""

    who: tuple[str, ...]
    message: str
    replies: tuple[Mapping[str, JSON], ...]
    default: str | None
    due: datetime | None
    picture: str | None
    shown: Mapping[str, Labelled]
    rehearsal: bool = False


@dataclass(frozen=True, slots=True)
class Park:
    """The step waits. The runner writes waits and approval in one transaction and lets go of the run. The step's other open waits stay
    open. `escalate`: these people are asked the open question too from now on."""

    waits: tuple[NewWait, ...]
    approval: NewApproval | None = None
    records: tuple[Record, ...] = ()
    result: Mapping[str, JSON] = field(default_factory=lambda: _NOTHING)
    escalate: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Iterate:
    """A `for_each`: its items, in order, and the name that they have in the body. `ai`: an AI told them (`authority.ai_spoke`);
    `ai_read`: they are, or were chosen by, these AI values (`ai_spoke` with their names)."""

    items: tuple[Labelled, ...]
    name: str
    ai: bool = False
    ai_read: frozenset[str] = frozenset()


class WakeKind(StrEnum):
    """What ended a wait."""

    DUE = "due"
    REPLY = "reply"
    EVENT = "event"


@dataclass(frozen=True, slots=True)
class Wake:
    """Why a parked step goes on: its time came (`wait` says which row), a person replied, or an event arrived."""

    kind: WakeKind
    wait: NewWait
    at: datetime
    boot: float | None = None
    reply: str | None = None
    by: str | None = None
    note: str | None = None
    event: Event | None = None


Outcome = Done | Failed | Park | Iterate


class HostStep(Protocol):
    """A step kind of the host. `start` begins it; `resume` goes on after a wait (a step that never parks has none to answer)."""

    async def start(self, step: Step, run: RunView) -> Outcome: ...

    async def resume(self, step: Step, run: RunView, wake: Wake) -> Outcome: ...
