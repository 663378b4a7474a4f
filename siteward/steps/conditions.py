"""The host's conditions. Each gets its settings with the placeholders filled, and looks at the site through one view.

A comparison that cannot be made (a text against a number, nothing against something) does not hold; it is never an error, since what
a model or a sensor gives must not be able to end a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from siteward.core.engine.seam import JSON
from siteward.core.engine.values import as_text
from siteward.core.engine.windows import day_name, day_window, event_window
from siteward.core.events.payload import same
from siteward.core.plugins.objects import Condition, ConditionView

from .several import several


async def _time(settings: Mapping[str, JSON], view: ConditionView) -> bool:
    return day_window(settings).holds(view.now)


async def _days(settings: Mapping[str, JSON], view: ConditionView) -> bool:
    return day_name(view.now) in several(settings["days"])


async def _site_mode(settings: Mapping[str, JSON], view: ConditionView) -> bool:
    return await view.site_mode() in several(settings["modes"])


async def _camera(settings: Mapping[str, JSON], view: ConditionView) -> bool:
    return not view.camera_roles.isdisjoint(several(settings["cameras"]))


async def _value(settings: Mapping[str, JSON], view: ConditionView) -> bool:
    value = settings["of"]
    asked = [(compare, settings[name]) for name, compare in COMPARISONS.items() if name in settings]
    return bool(asked) and all(compare(value, wanted) for compare, wanted in asked)


async def _in_list(settings: Mapping[str, JSON], view: ConditionView) -> bool:
    value = settings["value"]
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return False
    text = as_text(value).strip()
    # An empty value would match a row whose column was left empty.
    return bool(text) and await view.in_list(settings["list"], text, confirmed_only=False)


async def _count(settings: Mapping[str, JSON], view: ConditionView) -> bool:
    found = await view.count_events(event_window(settings["events"]).as_json())
    least, most = settings.get("at_least"), settings.get("at_most")
    if least is None and most is None:
        return found > 0
    return (least is None or _at_least(found, least)) and (most is None or _at_most(found, most))


def _is_not(value: JSON, wanted: JSON) -> bool:
    return not same(value, wanted)


def _one_of(value: JSON, wanted: JSON) -> bool:
    return any(same(value, one) for one in several(wanted))


def _at_least(value: JSON, wanted: JSON) -> bool:
    number, bound = _number(value), _number(wanted)
    return number is not None and bound is not None and number >= bound


def _at_most(value: JSON, wanted: JSON) -> bool:
    number, bound = _number(value), _number(wanted)
    return number is not None and bound is not None and number <= bound


def _contains(value: JSON, wanted: JSON) -> bool:
    if isinstance(value, str):
        return isinstance(wanted, str) and wanted in value
    return isinstance(value, list | tuple) and any(same(one, wanted) for one in value)


def _number(value: JSON) -> float | int | None:
    """A number, or a text that holds one. What is endless or not a number compares with nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return value if math.isfinite(value) else None


COMPARISONS: Final[Mapping[str, Callable[[JSON, JSON], bool]]] = {
    "is": same,
    "is_not": _is_not,
    "one_of": _one_of,
    "at_least": _at_least,
    "at_most": _at_most,
    "contains": _contains,
}
"""What `value` can ask, by the key that asks it."""


def host_conditions() -> tuple[Condition, ...]:
    """Every condition of the host, as its manifest declares them."""
    return (
        Condition("time", _time),
        Condition("days", _days),
        Condition("site_mode", _site_mode),
        Condition("camera", _camera),
        Condition("value", _value),
        Condition("in_list", _in_list),
        Condition("count", _count),
    )
