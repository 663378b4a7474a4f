"""Limits against the site: its caps, schedules that never fire, and cooldowns that hide the trigger."""

from __future__ import annotations

from collections.abc import Mapping

from .cron import cron_can_fire
from .document import Condition, TriggerUse, Value
from .durations import parse_duration, parse_time
from .fixes import remove, set_to
from .reading import Reading
from .tree import At


def check_caps(at: At, reading: Reading) -> None:
    """Notes limits above the site's caps."""
    if reading.site is None:
        return
    for one in at.entries():
        cap, value = reading.site.caps.get(one.key), one.node.value
        if cap is None or isinstance(value, bool) or not isinstance(value, int | float) or value <= cap:
            continue
        allowed = int(cap) if float(cap).is_integer() else cap
        told = f"`{one.key}` is over the site's cap of {allowed}. Lower it, or ask an admin."
        reading.notes.error("limit.over_cap", told, one, fixes=(set_to(one, allowed),))


def check_schedule(at: At, use: TriggerUse, conditions: tuple[Condition, ...], reading: Reading) -> None:
    """Notes a schedule whose times the top-level conditions always refuse. A cron's dates are checked with a site only."""
    reason = None
    time_at, cron = use.settings.get("at"), use.settings.get("cron")
    if isinstance(time_at, str):
        reason = _refused_by(use.settings, conditions)
    elif isinstance(cron, str) and reading.site is not None and not _fires(cron):
        reason = "no date fits this cron line"
    if reason is not None:
        reading.notes.error("limit.never_fires", f"This schedule can never fire: {reason}. Correct one of them.", at)


def _fires(cron: str) -> bool:
    try:
        return cron_can_fire(cron)
    except ValueError:
        return True  # noted as a bad value already


def _refused_by(settings: Mapping[str, Value], conditions: tuple[Condition, ...]) -> str | None:
    days = _texts(settings.get("days"))
    for condition in conditions:
        if condition.name == "time" and not _in_window(str(settings["at"]), condition.settings):
            return "a `time` condition refuses that time of day"
        if condition.name == "days" and days is not None:
            allowed = _texts(condition.settings.get("days"))
            if allowed is not None and not days & allowed:
                return "a `days` condition refuses all of its days"
    return None


def _texts(value: Value) -> frozenset[str] | None:
    return frozenset(one for one in value if isinstance(one, str)) if isinstance(value, tuple) else None


def _in_window(at: str, window: Mapping[str, Value]) -> bool:
    try:
        now, start, end = parse_time(at), parse_time(str(window.get("from"))), parse_time(str(window.get("to")))
    except ValueError:
        return True  # noted as a bad time already
    if start <= end:
        return start <= now <= end
    return now >= start or now <= end


def check_cooldown(limits: At, use: TriggerUse, reading: Reading) -> None:
    """Warns of a cooldown that is longer than the trigger's own rhythm."""
    cooldown, every = limits.get("cooldown"), use.settings.get("every")
    if cooldown is None or cooldown.text is None or not isinstance(every, str):
        return
    try:
        hides = parse_duration(cooldown.text) > parse_duration(every)
    except ValueError:
        return
    if hides:
        told = f"The cooldown of {cooldown.text} hides most of what `every: {every}` starts. Make it shorter."
        reading.notes.warning("limit.cooldown_hides", told, cooldown, fixes=(set_to(cooldown, every), remove(cooldown)))
