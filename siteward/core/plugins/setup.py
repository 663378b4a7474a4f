"""Setting up what is loaded, and letting go of it: one integration at a time, under a timeout, each failure a record."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container, Mapping
from typing import Any, Final

import voluptuous as vol

from siteward.core.errors import AuthFailed, ConfigurationInvalid, NotReady, SitewardError

from .entry import Entry
from .guard import Hung, Raised, Worked, attempt, attempt_async
from .loader import without
from .objects import Host
from .registry import FAULT, Integration, Loaded, LoadRecord, LoadState

SETUP_SECONDS: Final = 30.0
UNLOAD_SECONDS: Final = 10.0

_LOG = logging.getLogger(__name__)


class SetUp:
    """The set-up integrations of one host."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._entries: dict[str, tuple[Entry, Integration]] = {}

    async def start(
        self,
        loaded: Loaded,
        settings: Mapping[str, Mapping[str, Any]],
        *,
        seconds: float = SETUP_SECONDS,
        domains: Container[str] | None = None,
    ) -> Loaded:
        """Set up each integration (of `domains`) that has something to set up, with its settings. Returns what works; those that do not have
        left it, and their records say why."""
        for domain, integration in tuple(loaded.integrations.items()):
            if domains is not None and domain not in domains:
                continue
            if domain not in loaded.integrations or not integration.registered.implements("siteward_setup"):
                continue
            entry = Entry(domain, settings.get(domain, {}))
            try:
                failure = await self._set_up(integration, entry, seconds)
            except asyncio.CancelledError:  # the host ends before it was there: what it took already is let go
                await self._close(entry)
                raise
            if failure is None:
                self._entries[domain] = (entry, integration)
                continue
            _LOG.warning("%s: %s", domain, failure.sentence)
            await self._close(entry)
            loaded = without(loaded, failure)
        return loaded

    async def stop(self) -> None:
        """Let go of all of them, the last first. One that raises or hangs keeps none of the others."""
        while self._entries:
            await self.let_go(next(reversed(self._entries)))

    async def let_go(self, domain: str) -> None:
        """Let go of one of them."""
        entry, integration = self._entries.pop(domain)
        if integration.registered.implements("siteward_unload"):
            hook = integration.registered.hooks.hook.siteward_unload
            _log_failure(
                domain, await attempt_async(_call(hook, site=self._host, entry=entry), UNLOAD_SECONDS), "unload"
            )
        await self._close(entry)

    def entry(self, domain: str) -> Entry | None:
        """The entry of a set-up integration."""
        found = self._entries.get(domain)
        return found[0] if found else None

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All of them, in the order of their set-up."""
        return tuple(entry for entry, _ in self._entries.values())

    async def _set_up(self, integration: Integration, entry: Entry, seconds: float) -> LoadRecord | None:
        """Why it does not work, or None."""
        if (problem := _check_settings(integration, entry)) is not None:
            return _record(integration, LoadState.NEEDS_ATTENTION, problem)
        hook = integration.registered.hooks.hook.siteward_setup
        match await attempt_async(_call(hook, site=self._host, entry=entry), seconds):
            case Worked():
                return None
            case Hung():
                name = integration.manifest.name
                sentence = f"{name} was not set up within {seconds:g} seconds. Is what it talks to there?"
                return _record(integration, LoadState.NEEDS_ATTENTION, sentence)
            case Raised() as failure:
                return _failed(integration, failure)

    async def _close(self, entry: Entry) -> None:
        _log_failure(entry.domain, await attempt_async(entry.close, UNLOAD_SECONDS), "close")


def _call(hook: Callable[..., Awaitable[None]], **arguments: object) -> Callable[[], Awaitable[None]]:
    async def call() -> None:
        await hook(**arguments)

    return call


def _check_settings(integration: Integration, entry: Entry) -> str | None:
    """Put the settings through the integration's own schema; what is wrong with them, in words."""
    if not integration.registered.implements("siteward_config_schema"):
        return None
    match attempt(lambda: integration.registered.hooks.hook.siteward_config_schema()(dict(entry.settings))):
        case Worked(value=checked):
            entry.settings = checked
            return None
        case Raised(error=vol.MultipleInvalid() as error):
            problems = (f"{'.'.join(map(str, one.path)) or entry.domain}: {one.msg}" for one in error.errors)
            return f"The settings of {integration.manifest.name} are wrong: {'; '.join(problems)}."
        case Raised() as failure:
            return f"The settings of {integration.manifest.name} cannot be checked: {failure.last_line}. {FAULT}"


def _failed(integration: Integration, failure: Raised) -> LoadRecord:
    match failure.error:
        case NotReady() | AuthFailed() | ConfigurationInvalid():
            return _record(integration, LoadState.NEEDS_ATTENTION, failure.error.sentence, failure)
        case SitewardError():
            return _record(integration, LoadState.FAILED, failure.error.sentence, failure)
    sentence = f"{integration.manifest.name} failed while it was set up: {failure.last_line}. {FAULT}"
    return _record(integration, LoadState.FAILED, sentence, failure)


def _record(integration: Integration, state: LoadState, sentence: str, failure: Raised | None = None) -> LoadRecord:
    return LoadRecord(
        integration.manifest.domain,
        integration.source,
        state,
        sentence,
        failure.last_line if failure else None,
        failure.where if failure else None,
    )


def _log_failure(domain: str, outcome: Worked[None] | Raised | Hung, doing: str) -> None:
    match outcome:
        case Raised(error=error):
            _LOG.error("%s failed to %s: %s", domain, doing, error, exc_info=error)
        case Hung(seconds=seconds):
            _LOG.error("%s did not %s within %g seconds and was left behind", domain, doing, seconds)
