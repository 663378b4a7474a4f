"""The words of `explain`: triggers, steps, authorities and reads, each in one line for a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from .document import Condition, Document, Step, TriggerUse, Value
from .flow import Visit
from .flow_state import Grant, GrantKind
from .flow_values import alert_source
from .registry import Provenance, Registry
from .safety_fixes import value_at


def plainly(value: Value) -> str:
    """A setting in a sentence."""
    if isinstance(value, tuple | list):
        return ", ".join(plainly(item) for item in value)
    if isinstance(value, Mapping):
        return " ".join(f"{key} {plainly(item)}" for key, item in value.items())
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def starts_of(document: Document) -> Iterator[str]:
    """What starts a run, and what must hold then."""
    for use in document.triggers:
        said = ", ".join(f"{key} {plainly(item)}" for key, item in use.settings.items())
        yield f"{use.name}: {said}" if said else use.name
    if document.conditions:
        yield "only if " + " and ".join(_condition(condition) for condition in document.conditions)


def _condition(condition: Condition) -> str:
    if condition.inner:
        word = " or " if condition.name == "any" else " and "
        inner = word.join(_condition(one) for one in condition.inner)
        return f"({inner})" if condition.name == "any" else f"not ({inner})"
    if condition.name == "in_list":
        return f"{plainly(condition.settings.get('value'))} is in the list {plainly(condition.settings.get('list'))}"
    return f"{condition.name} {plainly(condition.settings)}".strip()


def does_of(step: Step, registry: Registry) -> str:
    """What a step does, by its kind and by whom it reaches; empty for what only branches."""
    settings = step.settings
    match step.kind:
        case "if" | "for_each" | "ask_person":
            return ""
        case "ai":
            question = settings.get("prompt", settings.get("goal", ""))
            decisions = plainly(settings.get("decision"))
            return f"AI ({plainly(settings.get('mode'))}) decides {decisions or 'nothing'}: {plainly(question)}".rstrip(
                ": "
            )
        case "call":
            return f"phones {plainly(settings.get('who', settings.get('to')))}"
        case "wait_for":
            return "waits for " + " or ".join(use.name for use in step.triggers)
    spec = registry.actions.get(step.kind)
    target = plainly(settings.get(spec.target)) if spec is not None and spec.target is not None else ""
    return f"{step.kind} {target}".strip()


def allowed_by(grant: Grant, document: Document) -> str:
    """What allows a move, in words and with its line."""
    line = f"(line {document.place_of(grant.path).line})"
    match grant.kind:
        case GrantKind.REPLY:
            who = plainly(value_at(document.root, (*grant.path, "ask_person", "who")))
            return f'{who} replies "{grant.lane}" {line}'
        case GrantKind.CALL:
            call = value_at(document.root, (*grant.path, "call"))
            callee = plainly(call.get("who", call.get("to"))) if isinstance(call, Mapping) else ""
            return f'{callee} confirms "{grant.lane}" on the phone {line}'
        case GrantKind.AUTHORISING:
            lists = sorted({name for way in grant.ways for name in way})
            found = f"is in the list {' or '.join(lists)}" if lists else "is one that the file names"
            return f"the identity that the trigger read {found} {line}"
        case _:
            return f"a plain rule is {grant.lane} {line}"


def sensor_of(use: TriggerUse, registry: Registry) -> str:
    """Says where a trigger's identity is a sensor's reading, which can be wrong like any reading."""
    if use.name == "event":
        contracted = registry.events.get(str(use.settings.get("type")))
        if contracted is None or contracted.provenance is not Provenance.SENSOR:
            return ""
        names = [given.name for given in contracted.gives if given.authorises]
        return (
            f"{', '.join(names)} of {contracted.type} is what a sensor read: not AI, and it can misread."
            if names
            else ""
        )
    if use.name == "alert":
        source = use.settings.get("source")
        return (
            f"Alerts of {plainly(source)} count as not AI."
            if alert_source(source, registry) is not Provenance.AI
            else ""
        )
    spec = registry.triggers.get(use.name)
    if spec is None or spec.provenance is not Provenance.SENSOR:
        return ""
    return f"{use.name} is what a sensor saw: not AI, and it can be wrong."


def what_it_reads(document: Document, visits: Iterable[Visit], registry: Registry) -> Iterator[str]:
    """Personal data, pictures, lists and windows of events that the file reads."""
    for use in document.triggers:
        yield from _trigger_reads(use, registry)
    yield from _condition_reads(document.conditions)
    for visit in visits:
        step = visit.step
        yield from _condition_reads(step.conditions)
        for use in step.triggers:
            yield from _trigger_reads(use, registry)
        if step.kind == "ai":
            yield from _ai_reads(step, registry)
        elif step.kind == "for_each":
            source = step.settings.get("in")
            if isinstance(source, str) and source.startswith("list:"):
                yield f"the list {source.removeprefix('list:')}"
            elif isinstance(source, Mapping):
                yield f"earlier events ({plainly(source)})"


def _trigger_reads(use: TriggerUse, registry: Registry) -> Iterator[str]:
    contracted = registry.events.get(str(use.settings.get("type"))) if use.name == "event" else None
    spec = registry.triggers.get(use.name)
    yield from (*(contracted.scopes if contracted else ()), *(spec.scopes if spec else ()))


def _condition_reads(conditions: Iterable[Condition]) -> Iterator[str]:
    for condition in conditions:
        if condition.name == "in_list":
            yield f"the list {plainly(condition.settings.get('list'))}"
        elif condition.name == "count":
            yield f"earlier events ({plainly(condition.settings.get('events'))})"
        yield from _condition_reads(condition.inner)


def _ai_reads(step: Step, registry: Registry) -> Iterator[str]:
    cameras = plainly(step.settings.get("cameras")) or "the trigger's camera"
    if step.settings.get("mode") == "look":
        source = step.settings.get("input", "picture")
        if source != "event" and not (isinstance(source, Mapping) and "text" in source):
            yield f"pictures of {cameras}"
    tools = step.settings.get("tools")
    for tool in tools if isinstance(tools, tuple) else ():
        name = next(iter(tool), "") if isinstance(tool, Mapping) else str(tool)
        spec = registry.tools.get(name)
        yield f"by the tool {name}"
        yield from spec.scopes if spec is not None else ()
