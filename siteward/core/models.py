"""The site's models: opened from the configuration, the first that sees pictures for Look, the first that does not for text."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from inspect import isawaitable
from types import MappingProxyType
from typing import Final

from siteward.core.agent import LLMClient
from siteward.core.errors import SitewardError
from siteward.core.plugins.guard import Hung, Raised, Worked, attempt_async
from siteward.core.plugins.objects import Host, ModelKind
from siteward.core.site.configuration import ModelConfiguration

OPEN_SECONDS: Final = 60.0
"""How long one model may take to open; the host starts without it then."""


@dataclass(frozen=True, slots=True)
class OpenModels:
    """What AI steps may use. A model that could not be opened stands in `problems` with one sentence; its steps are unsure."""

    vision: LLMClient | None
    text: LLMClient | None
    gpu: bool
    digests: Mapping[str, str]
    problems: Mapping[str, str]
    _exits: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def vocabulary(self) -> frozenset[str] | None:
        """The fields that the Look model can fill, None for a model that takes any (or none at all)."""
        known = self.vision.capabilities.vocabulary if self.vision is not None else None
        return None if known is None else frozenset(known)

    async def close(self) -> None:
        """End their workers and connections."""
        await self._exits.aclose()


async def open_models(
    configured: Mapping[str, ModelConfiguration], kinds: Mapping[str, ModelKind], host: Host
) -> OpenModels:
    """Open every configured model. One that cannot be opened is a problem on the site's health, never the end of the host."""
    exits, digests, problems = AsyncExitStack(), dict[str, str](), dict[str, str]()
    vision: LLMClient | None = None
    text: LLMClient | None = None
    for name, model in configured.items():
        kind = kinds.get(model.kind)
        if kind is None:
            problems[name] = (
                f"The model {name} is of the kind {model.kind}, which no loaded integration opens. For embedded.perception "
                "install siteward[vision]; otherwise correct the kind in configuration.yaml."
            )
            continue
        match await attempt_async(partial(kind.open, model.settings, host), OPEN_SECONDS):
            case Worked(value=client):
                pass
            case Hung(seconds=seconds):
                problems[name] = f"The model {name} did not open within {seconds:.0f} s. Is what it talks to there?"
                continue
            case Raised(error=SitewardError(sentence=sentence)):
                problems[name] = sentence
                continue
            case Raised(last_line=last_line):
                problems[name] = (
                    f"The model {name} could not be opened: {last_line}. Check its settings in configuration.yaml."
                )
                continue
        _close_with(exits, client)
        digests[name] = client.capabilities.digest
        if client.capabilities.images:
            vision = vision or client
        else:
            text = text or client
    return OpenModels(vision, text, False, MappingProxyType(digests), MappingProxyType(problems), exits)


def _close_with(exits: AsyncExitStack, client: LLMClient) -> None:
    """A client that holds a worker or a connection has `close`; the protocol does not ask for one."""
    close = getattr(client, "close", None)
    if close is None:
        return

    async def end() -> None:
        closing = close()
        if isawaitable(closing):
            await closing

    exits.push_async_callback(end)
