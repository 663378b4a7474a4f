"""`wait` and `wait_for`: a run that waits lives in its rows, so a restart neither shortens nor repeats the wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from siteward.core.contract.document import Step, TriggerUse
from siteward.core.contract.durations import parse_duration, say_duration
from siteward.core.contract.flow_conditions import ai_names, names_read
from siteward.core.contract.flow_values import triggers_give
from siteward.core.contract.registry import Provenance
from siteward.core.engine.judging import label_of
from siteward.core.engine.schedule import zone_of
from siteward.core.engine.seam import (
    Done,
    Failed,
    Labelled,
    Mode,
    NewWait,
    Outcome,
    Park,
    RunView,
    StepStatus,
    Wake,
    WakeKind,
)
from siteward.core.engine.values import event_values, plain, resolve_settings
from siteward.core.events.event import Event
from siteward.core.plugins.objects import Trigger

from .several import several

SKIPPED_OVER: Final = 10
"""Outside On a longer wait, in seconds, is skipped."""

HAPPENED: Final = "happened"
NOT_HAPPENED: Final = "not_happened"


class WaitStep:
    """Goes on after a while."""

    async def start(self, step: Step, run: RunView) -> Outcome:
        seconds = parse_duration(str(step.settings["for"]))
        if seconds == 0:
            return Done()
        if run.mode is not Mode.ON and seconds > SKIPPED_OVER:
            return Done(result={"skipped": say_duration(seconds)}, status=StepStatus.SKIPPED)
        due = run.clock.now() + timedelta(seconds=seconds)
        return Park((NewWait("wait", due),), result={"until": due.isoformat()})

    async def resume(self, step: Step, run: RunView, wake: Wake) -> Outcome:
        return Done(result={"waited": str(step.settings["for"])})


class WaitForStep:
    """Waits until something happens or the time is over. It never authorises: what happened is only known, not allowed."""

    async def start(self, step: Step, run: RunView) -> Outcome:
        if run.mode is not Mode.ON:
            return Done(
                NOT_HAPPENED, result={"skipped": "Only a run that is On waits for things."}, status=StepStatus.SKIPPED
            )
        types: dict[str, None] = {}
        for use in step.triggers:
            trigger = run.skills.triggers.get(use.name)
            if trigger is None:
                return Failed("skill.missing", f"Nobody provides {use.name}, for which this step waits.")
            types.update(dict.fromkeys(trigger.event_types(use.settings)))
        timeout = parse_duration(str(step.settings["timeout"]))
        due = run.clock.now() + timedelta(seconds=timeout)
        return Park((NewWait("wait_for", due, event_types=tuple(types)),), result={"until": due.isoformat()})

    async def resume(self, step: Step, run: RunView, wake: Wake) -> Outcome:
        # Whether it happened or not is the word of whoever would have told.
        told_by, _ = triggers_give(step.triggers, run.skills.registry, None)
        settings = tuple(use.settings for use in step.triggers)
        read = ai_names(names_read(settings), lambda name: label_of(name, run.values))
        ai = told_by is Provenance.AI
        if wake.kind is not WakeKind.EVENT or wake.event is None:
            return Done(NOT_HAPPENED, ai=ai, ai_read=read)
        found = await _which(step.triggers, wake.event, run)
        if found is None:
            # The event has the right type and is not what was asked for: the same wait, to the same moment.
            return Park((wake.wait,))
        use, trigger = found
        ai = ai or wake.event.provenance is Provenance.AI
        values = _values(use, trigger, wake.event, run)
        return Done(HAPPENED, values=values, result={"event": wake.event.id, "trigger": use.name}, ai=ai, ai_read=read)


async def _which(uses: tuple[TriggerUse, ...], event: Event, run: RunView) -> tuple[TriggerUse, Trigger] | None:
    """The first of the triggers that an event fits, its camera's roles included."""
    roles = frozenset[str]() if event.camera is None else await run.site.roles_of(event.camera)
    for use in uses:
        trigger = run.skills.triggers.get(use.name)
        if trigger is None or event.type not in trigger.event_types(use.settings):
            continue
        settings = plain(resolve_settings(use.settings, run.values))
        if _camera_fits(settings, roles) and trigger.matches(settings, event):
            return use, trigger
    return None


def _camera_fits(settings: Mapping[str, Any], roles: frozenset[str]) -> bool:
    wanted = settings.get("cameras")
    return wanted is None or not roles.isdisjoint(several(wanted))


def _values(use: TriggerUse, trigger: Trigger, event: Event, run: RunView) -> dict[str, Labelled]:
    """What the event brings. Nothing of it is an identity of the run's own trigger: somebody else may have come meanwhile."""
    registry = run.skills.registry
    contracted = registry.events.get(event.type)
    source = use.settings.get("source")
    fixed = registry.alert_sources.get(source) if isinstance(source, str) else None
    values = event_values(
        event, trigger.values(event), registry.triggers[use.name], contracted, fixed, zone=zone_of(run.conditions().now)
    )
    named = {name: replace(value, authorises=False) for name, value in values.items()}
    return {**named, "trigger": Labelled(use.name, values["event_id"].provenance)}
