"""Event types and their payloads: what an event's name promises."""

from __future__ import annotations

from .fixes import nearest_key, nearest_value
from .names import COMMON_NAMES, Names
from .notes import listed, shown
from .reading import Reading, say_type
from .registry import Registry
from .texts import check_texts
from .tree import At


def payload_names(kind: str, registry: Registry) -> frozenset[str] | None:
    """What an event of this type gives; None where its payload is open or nobody knows it."""
    event = registry.events.get(kind)
    if event is not None:
        return frozenset(given.name for given in event.gives) | COMMON_NAMES | {"camera"}
    trigger = registry.triggers.get(kind)
    if trigger is not None and not trigger.open_payload:
        return frozenset(given.name for given in trigger.gives) | COMMON_NAMES
    return None


def check_event_type(at: At, reading: Reading) -> frozenset[str] | None:
    """Notes an event type that nobody sends; returns what its events give where that is known."""
    if at.text is None:
        return None
    known = {*reading.registry.events, *reading.registry.triggers}
    if at.text not in known:
        near = reading.notes.nearest(at.text, known)
        hint = f" Did you mean `{near}`?" if near else " Install what sends it, or correct the name."
        reading.notes.error(
            "skill.unknown_trigger", f"Nobody sends {shown(at.text)} events.{hint}", at, fixes=nearest_value(at, near)
        )
        return None
    if at.text in reading.registry.events:
        reading.need(at.text)
    return payload_names(at.text, reading.registry)


def check_where(at: At, known: frozenset[str] | None, names: Names, reading: Reading) -> None:
    """Notes what is wrong with `where: {field: value}`."""
    if not at.is_map:
        reading.notes.error("shape.wrong_type", f"`where` takes payload fields and values, not {say_type(at)}.", at)
        return
    for one in at.entries():
        if known is not None and one.key not in known:
            near = reading.notes.nearest(one.key, known)
            reading.notes.error(
                "shape.unknown_key",
                f"These events have no field {shown(one.key)}. They have {listed(known)}.",
                one,
                fixes=nearest_key(one, near, (e.key for e in at.node.entries)),
            )
        check_texts(one, names, reading)
