"""`ask_person` and `call`: who is reached, what may come of it, and what happens when nobody answers."""

from __future__ import annotations

from typing import Final

from .ai_fields import read_fields
from .fields import read_settings
from .fixes import nearest_value, remove
from .flow_values import ASK_NAMES, CALL_NAMES
from .kinds import KindShape, Lanes
from .names import Names
from .notes import listed, shown
from .outcomes import check_outcomes, listed_outcomes
from .reading import Reading, frozen, say_type
from .registry import Field, FieldType
from .roles import check_who
from .tree import At

ATTACHMENTS: Final = ("picture", "frames", "clip")
NO_ANSWER: Final = "no_answer"

_ASK_FIELDS: Final = (
    Field("who", FieldType.WHO, required=True),
    Field("message", FieldType.TEXT, required=True),
    Field("timeout", FieldType.DURATION),
    Field("attach", FieldType.CHOICES, options=ATTACHMENTS),
)
_ASK_OWN: Final = ("replies", "default", "escalate")
ASK_SETTINGS: Final = (*(field.name for field in _ASK_FIELDS), *_ASK_OWN)

_CALL_FIELDS: Final = (
    Field("line", FieldType.ROLE, role="line"),
    Field("goal", FieldType.TEXT, required=True),
    Field("script", FieldType.TEXT),
    Field("confirm", FieldType.CHOICE, options=("digit", "spoken", "none"), default="none"),
    Field("retries", FieldType.INTEGER, minimum=0, maximum=10),
    Field("max_seconds", FieldType.NUMBER, minimum=1, maximum=3600),
)
_CALL_OWN: Final = ("who", "to", "outcomes", "fields")
CALL_SETTINGS: Final = (*(field.name for field in _CALL_FIELDS), *_CALL_OWN)

_ESCALATE_FIELDS: Final = (
    Field("after", FieldType.DURATION, required=True),
    Field("who", FieldType.WHO, required=True),
)


def read_ask(at: At, lanes: Lanes, names: Names, reading: Reading) -> KindShape:
    """`ask_person`."""
    if not at.is_map:
        reading.notes.error("shape.wrong_type", f"`ask_person` takes a mapping, not {say_type(at)}.", at)
        return KindShape(ends=True)
    where = "`ask_person`"
    settings = dict(read_settings(at, _ASK_FIELDS, names, reading, where, also=(*_ASK_OWN, *lanes)))
    settings |= {one.key: one.value for one in at.entries() if one.key in _ASK_OWN}
    replies = at.get("replies")
    if replies is None:
        reading.missing_key(at, "replies", where, ("Yes", "No"))
    else:
        check_outcomes(replies, ("ask_person", "id", "name", *ASK_SETTINGS), names, reading)
    known = listed_outcomes(replies)
    _check_default(at.get("default"), known, reading)
    escalate = at.get("escalate")
    if escalate is not None:
        _check_escalate(escalate, names, reading)
    return KindShape(frozen(settings), (*known, NO_ANSWER), gives=frozenset(ASK_NAMES), ends=True)


def _check_default(at: At | None, replies: tuple[str, ...], reading: Reading) -> None:
    if at is None or at.text in replies:
        return
    near = reading.notes.nearest(at.text or "", replies)
    hint = f" Did you mean `{near}`?" if near else f" The replies are {listed(replies)}." if replies else ""
    reading.notes.error(
        "outcome.bad_default",
        f"The default {shown(at.value)} is none of the replies.{hint}",
        at,
        fixes=(*nearest_value(at, near), remove(at, "Remove the default")),
    )


def _check_escalate(at: At, names: Names, reading: Reading) -> None:
    if not at.is_list:
        told = f"`escalate` takes a list of {{ after: 60s, who: … }}, not {say_type(at)}."
        reading.notes.error("shape.wrong_type", told, at)
        return
    if not at.node.items:
        reading.notes.error("shape.empty_list", "`escalate` is empty. Leave it out.", at, fixes=(remove(at),))
    for item in at.items():
        if item.is_map:
            read_settings(item, _ESCALATE_FIELDS, names, reading, "An escalation")
        else:
            told = f"An escalation is {{ after: 60s, who: … }}, not {say_type(item)}."
            reading.notes.error("shape.wrong_type", told, item)


def read_call(at: At, lanes: Lanes, names: Names, reading: Reading) -> KindShape:
    """`call`."""
    reading.need("call")
    if not at.is_map:
        reading.notes.error("shape.wrong_type", f"`call` takes a mapping, not {say_type(at)}.", at)
        return KindShape(ends=True)
    settings = dict(read_settings(at, _CALL_FIELDS, names, reading, "`call`", also=(*_CALL_OWN, *lanes)))
    settings |= {one.key: one.value for one in at.entries() if one.key in _CALL_OWN}
    _check_callee(at, names, reading)
    outcomes = at.get("outcomes")
    if outcomes is None:
        reading.missing_key(at, "outcomes", "`call`", ("yes", "no"))
    else:
        check_outcomes(outcomes, ("call", "id", "name", *CALL_SETTINGS), names, reading)
    fields = at.get("fields")
    given = frozenset(CALL_NAMES) | (_check_call_fields(fields, reading) if fields else frozenset())
    return KindShape(frozen(settings), (*listed_outcomes(outcomes), NO_ANSWER), gives=given, ends=True)


def _check_callee(at: At, names: Names, reading: Reading) -> None:
    callees = [one for one in (at.get("who"), at.get("to")) if one is not None]
    if not callees:
        reading.missing_key(at, "who", "`call`", "role:guard")
    for callee in callees:
        check_who(callee, names, reading)
    if len(callees) > 1:
        told = "A call has `who` or `to`, not both. Remove one."
        reading.notes.error("shape.bad_value", told, callees[1], fixes=(remove(callees[1]),))


def _check_call_fields(at: At, reading: Reading) -> frozenset[str]:
    return frozenset(read_fields(at, None, reading))
