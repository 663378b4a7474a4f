"""`for_each`: repeats its body for each camera of a role, row of a list, event of a window, item of a value or of a written list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from siteward.core.contract.document import Step, Value
from siteward.core.contract.flow_conditions import ai_names, names_read, window_provenance
from siteward.core.contract.provenance import least_trusted
from siteward.core.contract.registry import Provenance
from siteward.core.engine.judging import label_of
from siteward.core.engine.seam import Failed, Iterate, Labelled, Outcome, RunView, Wake
from siteward.core.engine.values import as_text, fill, plain, resolve, resolve_settings
from siteward.core.engine.windows import event_window
from siteward.core.errors import SitewardError
from siteward.core.events.event import Event

CAMERAS: Final = ("role", "group")
LIST: Final = "list"


class ForEachStep:
    """Collects the items; the runner goes over them. An item is as trusted as where it comes from, and never an identity."""

    async def start(self, step: Step, run: RunView) -> Outcome:
        source = step.settings["in"]
        try:
            # Where something moves in the body, a row that nobody stands for must not name what.
            items = await _items(source, run, confirmed_only=bool(run.moves_on(step, "do")))
        except SitewardError as error:
            return Failed(error.code, error.sentence)
        read = ai_names(names_read(source), lambda name: label_of(name, run.values))
        # A person who was shown the very list that is gone over keeps their word, so the names are said instead.
        ai = not read and (any(item.provenance is Provenance.AI for item in items) or _window_of_ai(source, run))
        return Iterate(items, str(step.settings["as"]), ai=ai, ai_read=read)

    async def resume(self, step: Step, run: RunView, wake: Wake) -> Outcome:
        return await self.start(step, run)


class NotAList(SitewardError):
    """A `for_each` over something that holds no items."""

    code = "for_each.not_a_list"


def _window_of_ai(source: Value, run: RunView) -> bool:
    """Whether the events of a window are AI's word: that there are none of them is, too."""
    if not isinstance(source, Mapping):
        return False
    return window_provenance(source["events"], run.skills.registry) is Provenance.AI


async def _items(source: Value, run: RunView, *, confirmed_only: bool) -> tuple[Labelled, ...]:
    if isinstance(source, Mapping):
        return await _events(source["events"], run)
    if isinstance(source, tuple | list):
        return tuple(_item(resolve(item, run.values)) for item in source)
    text = str(source)
    prefix, colon, rest = text.partition(":")
    if not colon or prefix not in (LIST, *CAMERAS):
        return _field(text, run)
    name = fill(rest, run.values)
    if prefix == LIST:
        rows = await run.site.list_rows(as_text(name.value), confirmed_only=confirmed_only)
        return tuple(Labelled(dict(row), least_trusted((name.provenance, Provenance.LIST))) for row in rows)
    cameras = await run.site.cameras_of(as_text(name.value))
    return tuple(Labelled(camera, name.provenance) for camera in cameras)


def _field(text: str, run: RunView) -> tuple[Labelled, ...]:
    whole = fill(text, run.values)
    if whole.value is None:
        return ()
    if not isinstance(whole.value, list | tuple):
        raise NotAList(f"{text} is {as_text(whole.value)[:80]}, and a for_each goes over a list.", where=text)
    return tuple(Labelled(item, whole.provenance, names=whole.names) for item in whole.value)


def _item(value: Labelled) -> Labelled:
    return Labelled(value.value, value.provenance, names=value.names)


async def _events(settings: Value, run: RunView) -> tuple[Labelled, ...]:
    if not isinstance(settings, Mapping):
        return ()
    provenance = window_provenance(settings, run.skills.registry)
    resolved = resolve_settings(settings, run.values)
    chosen = least_trusted(value.provenance for value in resolved.values())
    events = await run.site.events_in(event_window(plain(resolved)).as_json())
    return tuple(Labelled(_described(event), least_trusted((provenance, chosen, event.provenance))) for event in events)


def _described(event: Event) -> dict[str, Any]:
    """What a body can read of an event: `{item.plate}`, `{item.camera}`, `{item.time}`."""
    own = {
        "type": event.type,
        "camera": event.camera,
        "time": event.at.isoformat(timespec="seconds"),
        "event_id": event.id,
    }
    return {**event.payload, **own}
