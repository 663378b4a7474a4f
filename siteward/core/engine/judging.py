"""Whether conditions hold, which of them decided, and what authority the lane behind them has.

A condition never fails a run because of a value: what is missing, or cannot be compared, does not hold, and the sentence says so. All
conditions of a list must hold; under `any` one is enough; under `not` none may hold.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from siteward.core.contract.document import Condition, Path
from siteward.core.contract.flow_conditions import ai_names, condition_names, identities
from siteward.core.contract.placeholders import names_in
from siteward.core.contract.registry import Provenance
from siteward.core.contract.remembered import remembered
from siteward.core.errors import SitewardError
from siteward.core.events.event import Event
from siteward.core.plugins.guard import Hung, Raised, Worked, attempt_async
from siteward.core.plugins.objects import ConditionView

from .authority import AUTHORISING, RULE
from .seam import JSON, Authority, Labelled, Skills
from .values import MissingValue, as_text, lookup, plain, resolve_settings

_log = logging.getLogger(__name__)

HOST: Final = "siteward"
"""The domain of the host's own skills."""
CHECK_SECONDS: Final = 10.0
"""A condition that does not answer in this time has failed."""


class ConditionFailed(SitewardError):
    """A condition could not be asked: nobody provides it, or its provider did not answer."""

    code = "condition.failed"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer. `said` names the condition that decided and what it saw; `path` is where that stands in the file (the list itself where
    all held)."""

    holds: bool
    said: str
    path: Path = ()


async def judge(
    conditions: Sequence[Condition],
    values: Mapping[str, Labelled],
    view: ConditionView,
    skills: Skills,
    *,
    confirmed_only: bool = False,
) -> Judgement:
    """Ask the conditions in order, up to the first that does not hold. With `confirmed_only` (something on the lane moves) lists
    match only by rows that a person stands for. Raises `ConditionFailed`."""
    seen = _Confirmed(view) if confirmed_only else view
    said: list[str] = []
    for condition in conditions:
        answer = await _one(condition, values, seen, skills)
        if not answer.holds:
            return answer
        said.append(answer.said)
    return Judgement(True, "; ".join(said))


async def _one(condition: Condition, values: Mapping[str, Labelled], view: ConditionView, skills: Skills) -> Judgement:
    match condition.name:
        case "any":
            return await _any(condition, values, view, skills)
        case "not":
            return await _none(condition, values, view, skills)
        case _:
            return await _check(condition, values, view, skills)


async def _any(condition: Condition, values: Mapping[str, Labelled], view: ConditionView, skills: Skills) -> Judgement:
    said: list[str] = []
    for inner in condition.inner:
        answer = await _one(inner, values, view, skills)
        if answer.holds:
            return answer
        said.append(answer.said)
    return Judgement(False, "none of: " + "; ".join(said), condition.path)


async def _none(condition: Condition, values: Mapping[str, Labelled], view: ConditionView, skills: Skills) -> Judgement:
    said: list[str] = []
    for inner in condition.inner:
        answer = await _one(inner, values, view, skills)
        if answer.holds:
            return Judgement(False, f"not wanted: {answer.said}", inner.path)
        said.append(answer.said)
    return Judgement(True, "; ".join(said), condition.path)


async def _check(
    condition: Condition, values: Mapping[str, Labelled], view: ConditionView, skills: Skills
) -> Judgement:
    asked = skills.conditions.get(condition.name)
    if asked is None:
        raise ConditionFailed(f"Nobody provides the condition {condition.name}.", where=condition.name)
    unknown = next((name for name in _names(condition) if label_of(name, values).value is None), None)
    if unknown is not None:
        return Judgement(False, f"{condition.name}: {{{unknown}}} is not known", condition.path)
    settings = plain(resolve_settings(condition.settings, values))
    if skills.registry.conditions[condition.name].provider == HOST:
        # The host's own answer at once or by a read of the database, and listen when their step is ended.
        return _judged(condition, settings, await asked.check(settings, view))
    match await attempt_async(partial(asked.check, settings, view), CHECK_SECONDS):
        case Worked(value=holds):
            return _judged(condition, settings, holds)
        case Hung():
            raise ConditionFailed(
                f"The condition {condition.name} did not answer within {CHECK_SECONDS:.0f} seconds.",
                where=condition.name,
            )
        case Raised(error=SitewardError() as error):
            raise error
        case Raised(error=error):
            _log.error("The condition %s raised what no condition may raise.", condition.name, exc_info=error)
            raise ConditionFailed(
                f"The condition {condition.name} broke ({type(error).__name__}): see the log, and report it to who made it.",
                where=condition.name,
            )


@remembered
def _names(condition: Condition) -> tuple[str, ...]:
    return names_in(condition.settings)


def _judged(condition: Condition, settings: Mapping[str, JSON], holds: bool) -> Judgement:
    return Judgement(holds, f"{_say(condition.name, settings)}: {'yes' if holds else 'no'}", condition.path)


def _say(name: str, settings: Mapping[str, JSON]) -> str:
    if len(settings) == 1:
        return f"{name} {as_text(next(iter(settings.values())))}"
    return f"{name} " + ", ".join(f"{key} {as_text(value)}" for key, value in settings.items())


def ai_read(conditions: Sequence[Condition], values: Mapping[str, Labelled]) -> frozenset[str]:
    """The AI values that these conditions read, at any depth and in any key."""
    return ai_names(condition_names(conditions), lambda name: label_of(name, values))


def label_of(name: str, values: Mapping[str, Labelled]) -> Labelled:
    """The label of a name in this run; a name that nothing fills is AI's."""
    try:
        return lookup(name, values)
    except MissingValue:
        return Labelled(None, Provenance.AI)


def authority_of(
    conditions: Sequence[Condition],
    values: Mapping[str, Labelled],
    *,
    holds: bool,
    path: str,
    lane: str,
    at: datetime,
    boot: float,
) -> Authority:
    """What the lane behind conditions may rest on: where they hold, an identity that a trigger gave (`authorising`); else the author's
    plain `rule`, which counts only where no AI came before. That somebody is not on a list authorises nothing."""
    ways = identities(conditions, lambda name: label_of(name, values)) if holds else ()
    return Authority(AUTHORISING if ways else RULE, path=path, lane=lane, at=at, boot=boot, lists=ways)


class _Confirmed:
    """A view of the site whose lists match only by rows that a person stands for."""

    def __init__(self, view: ConditionView) -> None:
        self._view = view

    @property
    def now(self) -> datetime:
        return self._view.now

    @property
    def event(self) -> Event:
        return self._view.event

    @property
    def camera_roles(self) -> frozenset[str]:
        return self._view.camera_roles

    async def site_mode(self) -> str:
        return await self._view.site_mode()

    async def in_list(self, name: str, value: str, *, confirmed_only: bool) -> bool:
        return await self._view.in_list(name, value, confirmed_only=True)

    async def count_events(self, window: Mapping[str, JSON]) -> int:
        return await self._view.count_events(window)
