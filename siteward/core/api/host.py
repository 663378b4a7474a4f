"""What the pages need of a host. `siteward.core.host` is one; tests bring another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from siteward.core.contract.problems import Report
from siteward.core.contract.registry import Registry
from siteward.core.site.services import ServicesOfSite
from siteward.core.site.site import Site

JSON = Any


@dataclass(frozen=True, slots=True)
class Explained:
    """What a file would do, in words, and the moves with what authorises each."""

    text: str
    moves: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Saved:
    """A version that was saved."""

    workflow_id: str
    version: int


class ApiEngine(Protocol):
    """The engine as the pages use it. Each call is complete (committed) when it returns."""

    async def save(self, text: str, by: str, workflow_id: str | None, base_version: int | None) -> Saved:
        """Save a new workflow (in Test) or a new version. Raises `Conflict`, `NotFound`."""
        ...

    async def set_state(self, workflow_id: str, state: str, by: str) -> None:
        """Off, Test or On. Raises `NotFound`, and what the engine refuses."""
        ...

    async def try_events(self, workflow_id: str, event_ids: Sequence[str]) -> Sequence[Mapping[str, JSON]]:
        """Decide past events without effects: a row for each event (`event_id, state, outcome, reason, would_have`)."""
        ...

    async def answer(self, approval_id: str, reply: str, by: str, *, rehearsal: bool) -> None:
        """Answer a question. The first answer wins. Raises `Conflict` (who answered), `NotFound`, `NotAllowed`."""
        ...

    async def press(self, button: str, person: str) -> Sequence[str]:
        """Press a button; returns the runs that it started."""
        ...

    async def cancel(self, run_id: str, by: str) -> None:
        """End a run that is not over. Raises `Conflict` where it is."""
        ...


class Demo(Protocol):
    """The demo site's player of recorded scenes."""

    async def play_next(self) -> str:
        """Play the next scene as if it happened now; returns what it shows, in words."""
        ...


class ApiHost(Protocol):
    """Everything that the pages are given."""

    @property
    def site(self) -> Site: ...
    @property
    def services(self) -> ServicesOfSite: ...
    @property
    def registry(self) -> Registry: ...
    @property
    def engine(self) -> ApiEngine: ...
    @property
    def demo(self) -> Demo | None:
        """The player, on a demo site."""
        ...

    def validate(self, text: str, saver: str | None) -> Report:
        """Judge a file with the site in view, as `saver` sees it. Takes a while on large files: the pages call it in a thread."""
        ...

    def explain(self, report: Report) -> Explained:
        """What the file of a report would do (its document must be there)."""
        ...

    def schema(self) -> Mapping[str, JSON]:
        """The JSON schema of workflow files on this site."""
        ...

    async def gate_state(self, role: str) -> str:
        """`open`, `closed` or `unknown`, read from what drives the gate, within a few seconds."""
        ...

    async def health(self) -> Mapping[str, JSON]:
        """What works and what does not: `{"ok": bool, "parts": [{"name", "ok", "sentence"}]}`."""
        ...
