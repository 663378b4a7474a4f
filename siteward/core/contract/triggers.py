"""`when` and `wait_for`: which trigger, with which settings, and what it gives to the placeholders that follow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .admin import note_trigger_scope
from .document import TriggerUse
from .events_known import check_event_type, check_where, payload_names
from .fields import read_form
from .fixes import nearest_key, remove, set_to
from .names import COMMON_NAMES, Names, meet
from .notes import shown
from .reading import Reading, say_type
from .tree import At

ANY: Final = "any"


def read_when(at: At, names: Names, reading: Reading, beside: frozenset[str] = frozenset()) -> tuple[TriggerUse, ...]:
    """The triggers under `when` or `wait_for`; the keys of `beside` are no triggers."""
    if not at.is_map:
        reading.notes.error(
            "shape.no_trigger",
            f"`{at.key}` takes a trigger such as `button: {{ name: … }}`, not {say_type(at)}.",
            at,
        )
        return ()
    triggers = [one for one in at.entries() if one.key not in beside]
    if not triggers:
        reading.notes.error("shape.no_trigger", f"`{at.key}` names no trigger. Say what starts it.", at)
        return ()
    if len(triggers) > 1:
        _several(at, triggers, reading)
    if triggers[0].key == ANY and len(triggers) == 1:
        return _read_any(triggers[0], names, reading)
    return _known(read_trigger(one, names, reading) for one in triggers if one.key != ANY)


def _several(at: At, triggers: list[At], reading: Reading) -> None:
    names = ", ".join(shown(one.key) for one in triggers[:3])
    reading.notes.error(
        "shape.several_triggers",
        f"{names} stand side by side. Put them under `any:` as a list, one trigger each.",
        triggers[1],
        fixes=(remove(triggers[1], f"Keep only {triggers[0].key}"),) if len(triggers) == 2 else (),
    )


def _known(uses: Iterable[TriggerUse | None]) -> tuple[TriggerUse, ...]:
    return tuple(use for use in uses if use is not None)


def _read_any(at: At, names: Names, reading: Reading) -> tuple[TriggerUse, ...]:
    if not at.is_list:
        fixes = (set_to(at, (at.value,), "Write it as a list"),) if at.is_map else ()
        reading.notes.error("shape.wrong_type", f"`any` takes a list of triggers, not {say_type(at)}.", at, fixes=fixes)
        return ()
    if not at.node.items:
        reading.notes.error("shape.no_trigger", "`any` names no trigger. Say what starts it.", at)
    uses: list[TriggerUse | None] = []
    for item in at.items():
        if not item.is_map or not item.node.entries:
            reading.notes.error("shape.no_trigger", f"Each entry of `any` is one trigger, not {say_type(item)}.", item)
            continue
        entries = list(item.entries())
        if len(entries) > 1:
            _several(item, entries, reading)
        uses.extend(read_trigger(one, names, reading) for one in entries)
    return _known(uses)


def read_trigger(at: At, names: Names, reading: Reading) -> TriggerUse | None:
    """One trigger at its key."""
    spec = reading.registry.triggers.get(at.key)
    if spec is None:
        known = reading.registry.triggers
        near = reading.notes.nearest(at.key, known)
        hint = f" Did you mean `{near}`?" if near else " Install the integration that has it, or choose another."
        reading.notes.error(
            "skill.unknown_trigger",
            f"Nobody provides the trigger {shown(at.key)}.{hint}",
            at,
            fixes=nearest_key(at, near, ()) if near else (),
        )
        return None
    reading.need(at.key)
    settings = read_form(at, spec.fields, None, names, reading, f"The trigger `{at.key}`")
    if at.is_map and at.key == "event":
        _check_event(at, names, reading)
    if at.is_map and at.key == "schedule":
        _check_schedule(at, reading)
    note_trigger_scope(at, spec, reading)
    return TriggerUse(at.key, settings, at.path, at.place)


def _check_event(at: At, names: Names, reading: Reading) -> None:
    kind, where = at.get("type"), at.get("where")
    known = check_event_type(kind, reading) if kind else None
    if where is not None and where.is_map:
        check_where(where, known, names, reading)


def _check_schedule(at: At, reading: Reading) -> None:
    given = [one for one in at.entries() if one.key in ("at", "every", "cron")]
    if not given:
        reading.missing_key(at, "at", "A schedule", "07:00")
    for extra in given[1:]:
        told = f"A schedule has one of `at`, `every` and `cron`; here is `{given[0].key}` already. Remove one."
        reading.notes.error("shape.bad_value", told, extra, fixes=(remove(extra),))
    days = at.get("days")
    if days is not None and given and given[0].key != "at":
        told = f"`days` belongs to `at`, not to `{given[0].key}`. Remove it, or add a `days` condition."
        reading.notes.error("shape.bad_value", told, days, fixes=(remove(days),))


def given_by(triggers: tuple[TriggerUse, ...], reading: Reading, *, any_form: bool) -> Names:
    """The names that the triggers give; of several, those that all give, and `{trigger}`."""
    every = meet([_gives(use, reading) for use in triggers])
    names = every if every is not None else Names(any_plain=True)
    return names.with_plain("trigger") if any_form else names


def _gives(use: TriggerUse, reading: Reading) -> Names:
    spec = reading.registry.triggers[use.name]
    plain = frozenset(given.name for given in spec.gives) | COMMON_NAMES
    if any(field.name == "cameras" for field in spec.fields):
        plain |= {"camera"}
    if use.name != "event":
        return Names(plain, any_plain=spec.open_payload)
    kind = use.settings.get("type")
    payload = payload_names(kind, reading.registry) if isinstance(kind, str) else None
    return Names(plain | (payload or frozenset()), any_plain=payload is None)
