"""What the pages need of a host. `siteward.core.host` is one; tests bring another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from siteward.core.contract.problems import Report
from siteward.core.contract.registry import Registry
from siteward.core.engine.engine import Engine
from siteward.core.site.services import ServicesOfSite
from siteward.core.site.site import Site

JSON = Any


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
    def engine(self) -> Engine: ...
    @property
    def demo(self) -> Demo | None:
        """The player, on a demo site."""
        ...

    def validate(self, text: str, saver: str | None) -> Report:
        """Judge a file with the site in view, as `saver` sees it. Takes a while on large files: the pages call it in a thread."""
        ...

    async def gate_state(self, role: str) -> str:
        """`open`, `closed` or `unknown`, read from what drives the gate, within a few seconds."""
        ...

    async def metrics(self) -> bytes:
        """The host's figures in the text format of Prometheus."""
        ...

    async def health(self) -> Mapping[str, JSON]:
        """What works and what does not: `{"ok": bool, "parts": [{"name", "ok", "sentence"}]}`."""
        ...
