"""The `ai` step: one question in a Look, a goal with tools in an Investigate, and a decision from a list in both."""

from __future__ import annotations

from typing import Final

from .ai_fields import FROM, check_rules, read_fields
from .ai_tools import check_tools
from .caps import check_caps
from .document import Value
from .fields import check_field, read_settings
from .fixes import add_key, nearest_value, remove, set_to
from .kinds import KindShape, Lanes
from .names import AI_NAMES, Names
from .notes import listed, shown
from .outcomes import check_outcomes, listed_outcomes
from .placeholders import BadPlaceholder, Reference, parse_template
from .reading import Reading, frozen, say_type
from .registry import Field, FieldType
from .texts import check_text
from .tree import At

LOOK: Final = "look"
INVESTIGATE: Final = "investigate"
UNSURE: Final = "unsure"
INPUTS: Final = ("picture", "frames", "text", "event")

_MODE_KEYS: Final = {LOOK: ("prompt", "input"), INVESTIGATE: ("goal", "instructions", "tools", "memory")}
_COMMON: Final = ("mode", "decision", "fields", "rules", "sure", "limits", "uncalibrated", "cameras")
AI_SETTINGS: Final = (*_COMMON, *_MODE_KEYS[LOOK], *_MODE_KEYS[INVESTIGATE])

_SIMPLE: Final = {
    field.name: field
    for field in (
        Field("sure", FieldType.NUMBER, minimum=0, maximum=1),
        Field("uncalibrated", FieldType.CHOICE, options=("run", "unsure")),
        Field("cameras", FieldType.ROLES, role="camera"),
        Field("prompt", FieldType.TEXT),
        Field("goal", FieldType.TEXT),
        Field("memory", FieldType.CHOICE, options=("run", "camera")),
    )
}
_LIMITS: Final = (
    Field("tool_calls", FieldType.INTEGER, minimum=1),
    Field("model_calls", FieldType.INTEGER, minimum=1),
    Field("seconds", FieldType.NUMBER, minimum=1),
    Field("tokens", FieldType.INTEGER, minimum=1),
)
_FRAMES: Final = (
    Field("seconds", FieldType.NUMBER, minimum=1, maximum=60),
    Field("since", FieldType.CHOICE, options=("trigger",)),
)


def read_ai(at: At, lanes: Lanes, names: Names, reading: Reading) -> KindShape:
    """`ai`."""
    if not at.is_map:
        reading.notes.error("shape.wrong_type", f"`ai` takes a mapping with a mode, not {say_type(at)}.", at)
        return KindShape()
    mode = _mode(at, reading)
    settings: dict[str, Value] = {}
    for one in at.entries():
        if one.key in lanes:
            continue
        if one.key not in AI_SETTINGS:
            reading.unknown_key(one, AI_SETTINGS, "an `ai` step", (e.key for e in at.node.entries))
            continue
        settings[one.key] = one.value
        if not _belongs_elsewhere(one, mode, reading):
            _check_setting(one, names, reading)
    _check_required(at, mode, reading)
    decisions = _decisions(at, names, reading)
    ai_names = AI_NAMES | _fields_and_rules(at, mode, decisions, names, reading)
    return KindShape(
        frozen(settings),
        (*decisions, UNSURE),
        required=(*decisions, UNSURE) if decisions else (),
        gives=ai_names,
        ai_names=ai_names,
    )


def _mode(at: At, reading: Reading) -> str | None:
    mode = at.get("mode")
    modes = sorted(reading.registry.ai_modes)
    if mode is None:
        likely = next((m for m, keys in _MODE_KEYS.items() if any(at.get(key) for key in keys)), None)
        fixes = (add_key(at, "mode", likely, f"Add mode: {likely}"),) if likely else ()
        reading.notes.error("ai.no_mode", f"An `ai` step says its `mode`: {listed(modes)}.", at, fixes=fixes)
        return None
    if mode.text not in reading.registry.ai_modes:
        near = reading.notes.nearest(mode.text or "", modes)
        told = f"Nobody provides the mode {shown(mode.value)}. There are {listed(modes)}."
        reading.notes.error("ai.unknown_mode", told, mode, fixes=nearest_value(mode, near))
        return None
    reading.need(f"ai.{mode.text}")
    return mode.text


def _belongs_elsewhere(at: At, mode: str | None, reading: Reading) -> bool:
    if mode not in _MODE_KEYS:
        return False
    other = INVESTIGATE if mode == LOOK else LOOK
    if at.key not in _MODE_KEYS[other]:
        return False
    told = f"`{at.key}` belongs to {other}, and this step is a {mode}. Remove it, or change the mode."
    reading.notes.error("ai.wrong_mode_key", told, at, fixes=(remove(at),))
    return True


def _check_setting(at: At, names: Names, reading: Reading) -> None:
    field = _SIMPLE.get(at.key)
    if field is not None:
        check_field(at, field, names, reading)
    elif at.key == "instructions":
        _check_instructions(at, reading)
    elif at.key == "input":
        _check_input(at, names, reading)
    elif at.key == "tools":
        check_tools(at, reading)
    elif at.key == "limits":
        if at.is_map:
            read_settings(at, _LIMITS, names, reading, "The limits of an `ai` step")
            check_caps(at, reading)
        else:
            reading.notes.error("shape.wrong_type", f"`limits` takes a mapping, not {say_type(at)}.", at)


def _check_instructions(at: At, reading: Reading) -> None:
    if at.text is None:
        reading.notes.error("shape.wrong_type", f"`instructions` takes text, not {say_type(at)}.", at)
        return
    try:
        template = parse_template(at.text)
    except BadPlaceholder:
        check_text(at, Names(any_plain=True), reading)
        return
    read = [part.name for part in template if isinstance(part, Reference)]
    if read:
        told = f"`instructions` are the author's alone and hold no data; {shown('{' + read[0] + '}')} may stand in the goal."
        literal = at.text
        for name in dict.fromkeys(read):
            literal = literal.replace("{" + name + "}", name)
        fixes = (set_to(at, literal, "Write the bare word"),)
        reading.notes.error("ai.placeholder_in_instructions", told, at, fixes=fixes)


def _check_input(at: At, names: Names, reading: Reading) -> None:
    if at.is_list:
        if not at.node.items:
            reading.notes.error(
                "shape.empty_list", "`input` is empty. Name what the model sees.", at, fixes=(remove(at),)
            )
        for item in at.items():
            _check_one_input(item, names, reading)
    else:
        _check_one_input(at, names, reading)


def _check_one_input(at: At, names: Names, reading: Reading) -> None:
    if not at.is_map:
        if at.text not in INPUTS:
            near = reading.notes.nearest(at.text or "", INPUTS)
            told = f"An input is one of {listed(INPUTS)}, not {say_type(at)}."
            reading.notes.error("shape.bad_value", told, at, fixes=nearest_value(at, near))
        return
    for one in at.entries():
        if one.key == "frames" and one.is_map:
            read_settings(one, _FRAMES, names, reading, "`frames`")
        elif one.key == "text":
            check_field(one, Field("text", FieldType.TEXT), names, reading)
        elif one.key in INPUTS:
            if one.node.value is not None or one.is_list or (one.is_map and one.node.entries):
                told = f"`{one.key}` has no such settings. Write `input: {one.key}`."
                reading.notes.error("shape.wrong_type", told, one)
        else:
            reading.unknown_key(one, INPUTS, "`input`", (e.key for e in at.node.entries))
    if not at.node.entries:
        reading.notes.error("shape.bad_value", f"`input` names nothing. Name one of {listed(INPUTS)}.", at)


def _check_required(at: At, mode: str | None, reading: Reading) -> None:
    where = "An `ai` step"
    if at.get("decision") is None:
        reading.missing_key(at, "decision", where)
    if mode == LOOK and at.get("prompt") is None:
        reading.missing_key(at, "prompt", "A Look", "What does the picture show?")
    if mode == INVESTIGATE:
        if at.get("goal") is None:
            reading.missing_key(at, "goal", "An Investigate")
        if at.get("tools") is None:
            told = "An Investigate has 1 to 5 tools, and this one has none. Add `tools`."
            reading.notes.error("ai.no_tools", told, at)


def _decisions(at: At, names: Names, reading: Reading) -> tuple[str, ...]:
    decision = at.get("decision")
    if decision is None:
        return ()
    check_outcomes(decision, ("ai", "id", "name", *AI_SETTINGS), names, reading)
    taken = {UNSURE, "no_answer", "ai", "id", "name", *AI_SETTINGS}
    return tuple(one for one in listed_outcomes(decision) if one not in taken)


def _fields_and_rules(
    at: At, mode: str | None, decisions: tuple[str, ...], names: Names, reading: Reading
) -> frozenset[str]:
    fields_at, rules_at = at.get("fields"), at.get("rules")
    fields = read_fields(fields_at, names, reading) if fields_at else {}
    if rules_at is not None:
        check_rules(rules_at, fields, decisions, reading, has_fields=fields_at is not None)
    elif fields_at is not None and mode == INVESTIGATE:
        told = "No rule reads these fields, so the model decides by itself and an outcome may contradict them. Add `rules`."
        reading.notes.warning("ai.fields_without_rules", told, fields_at)
    vocabulary = reading.site.field_vocabulary if reading.site and mode == LOOK else None
    if vocabulary is not None and fields_at is not None and fields_at.is_map:
        for one in fields_at.entries():
            filled = fields.get(one.key)
            if one.key not in vocabulary and filled is not None and filled.type != FROM:
                told = f"The site's Look model cannot fill {shown(one.key)}. It can fill {listed(vocabulary)}."
                reading.notes.warning("ai.field_not_seen", told, one)
    return frozenset((fields_at and fields_at.is_map and (e.key for e in fields_at.node.entries)) or ())
