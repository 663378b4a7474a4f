"""Integrations made for a test: a manifest as text, and a module of hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from siteward.core.contract.registry import Moves, Repeat
from siteward.core.plugins.discovery import Found, Source
from siteward.core.plugins.hookspecs import hookimpl
from siteward.core.plugins.loader import load
from siteward.core.plugins.objects import Action, ActionCall, Host
from siteward.core.plugins.registry import Loaded, LoadRecord

GOOD = "domain: {0}\nname: {0}\nversion: 1.0.0\n"
ACTS = GOOD + "provides:\n  actions:\n    - {{ name: {0}.act, repeat: once, moves: 'no' }}\n"


async def act(call: ActionCall, host: Host) -> Mapping[str, Any]:
    return {}


def acting(domain: str, repeat: Repeat = Repeat.ONCE, moves: Moves = Moves.NO) -> Callable[[], list[Action]]:
    @hookimpl
    def siteward_actions() -> list[Action]:
        return [Action(f"{domain}.act", repeat, moves, perform=act)]

    return siteward_actions


def module_with(**hooks: Any) -> ModuleType:
    module = ModuleType("integration")
    for name, hook in hooks.items():
        setattr(module, name, hook)
    return module


def found(domain: str, text: str, load_module: Callable[[], ModuleType], source: Source = Source.PACKAGE) -> Found:
    return Found(domain, source, f"{domain}/manifest.yaml", text.format(domain).encode, load_module)


def good(domain: str, **hooks: Any) -> Found:
    return found(domain, ACTS, lambda: module_with(siteward_actions=acting(domain), **hooks))


async def loaded_with(*places: Found, configured: tuple[str, ...] = (), seconds: float = 20) -> Loaded:
    return await load(places, {domain: {} for domain in configured}, seconds=seconds)


def record_of(loaded: Loaded, domain: str) -> LoadRecord:
    record = loaded.record(domain)
    assert record is not None
    return record
