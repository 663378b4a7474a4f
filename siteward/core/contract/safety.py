"""The safety rules of workflow.v1: AI informs and recommends; people and plain rules move things."""

from __future__ import annotations

from collections.abc import Iterator

from .document import Document, Path, Step, Value
from .flow import Flow, MoveUse, Visit, analyse
from .flow_conditions import names_read
from .flow_moves import moves_things, recipient_fields
from .problems import Fix, Problem, Severity
from .registry import Registry, SiteView
from .safety_fixes import ask_first, asked_already, confirm_call, drop_default, show_values
from .safety_guards import Judgement, judge, target_texts
from .safety_words import sentence


def check(
    document: Document, registry: Registry, site: SiteView | None = None, *, flow: Flow | None = None
) -> list[Problem]:
    """Every safety problem of a document, each once. `flow` spares a second analysis where the caller has one."""
    flow = flow if flow is not None else analyse(document, registry, site)
    found: dict[tuple[str, Path], Problem] = {}
    for problem in (*_moves(document, flow, site), *_recipients(document, flow, registry, site)):
        found.setdefault((problem.code, problem.path), problem)
    return list(found.values())


def _moves(document: Document, flow: Flow, site: SiteView | None) -> Iterator[Problem]:
    who = asked_already(visit.step for visit in flow.visits)
    for use in flow.moves:
        judgement = judge(use, site)
        if judgement.code is not None:
            yield _problem(document, use, judgement, who)


def _problem(document: Document, use: MoveUse, judgement: Judgement, who: str) -> Problem:
    code = str(judgement.code)
    path: Path = (*use.step.path, use.step.kind)
    if code == "safety.default_moves" and judgement.asks is not None:
        path = (*judgement.asks, "ask_person", "default")
    target = ", ".join(target_texts(use.step, use.action.target, use.visit.point)) if use.action.target else ""
    message = sentence(code, use, target, judgement.unseen)
    return Problem(code, Severity.ERROR, message, path, document.place_of(path), _fixes(document, use, judgement, who))


def _fixes(document: Document, use: MoveUse, judgement: Judgement, who: str) -> tuple[Fix, ...]:
    asks = judgement.asks
    point = use.visit.point
    carried = tuple(name for name in names_read(use.step.settings) if point.ai_names((name,)))
    match judgement.code:
        case "safety.default_moves" if asks is not None:
            return drop_default(asks)
        case "safety.unconfirmed_call" if asks is not None and not carried:
            return (*confirm_call(asks, document), *ask_first(use, document, who, carried))
        case "safety.ai_argument" if asks is not None:
            return show_values(asks, document, judgement.unseen)
        case _:
            return ask_first(use, document, who, carried)


def _recipients(document: Document, flow: Flow, registry: Registry, site: SiteView | None) -> Iterator[Problem]:
    tells = site.tells if site is not None else frozenset[str]()
    for visit in flow.visits:
        for path, value in _addressed(visit.step, registry, tells):
            names = sorted(visit.point.ai_names(names_read(value)))
            if names:
                yield _recipient(document, visit, (*visit.step.path, visit.step.kind, *path), names)


def _recipient(document: Document, visit: Visit, path: Path, names: list[str]) -> Problem:
    said = ", ".join(f"{{{name}}}" for name in names)
    what = "the replies" if "replies" in path else "whom this reaches"
    message = f"AI must not choose {what}, and {said} is what AI said. Write it out, or name a role such as role:guard."
    return Problem("safety.ai_recipient", Severity.ERROR, message, path, document.place_of(path))


def _addressed(step: Step, registry: Registry, tells: frozenset[str]) -> Iterator[tuple[Path, Value]]:
    """The settings of a step that say whom it reaches and what they may answer."""
    settings = step.settings
    if step.kind == "ask_person":
        yield ("who",), settings.get("who")
        yield from _each("replies", settings.get("replies"))
        yield ("default",), settings.get("default")
        yield from _each("escalate", settings.get("escalate"))
    elif step.kind == "call":
        yield ("who",), settings.get("who")
        yield ("line",), settings.get("line")
        # A callee may be looked up in a list by what AI said; then only that row's own door may move.
        if isinstance(settings.get("to"), str):
            yield ("to",), settings.get("to")
        yield from _each("outcomes", settings.get("outcomes"))
    elif (action := registry.actions.get(step.kind)) is not None and not moves_things(action, settings, tells):
        for name in recipient_fields(action):
            yield (name,), settings.get(name)


def _each(name: str, value: Value) -> Iterator[tuple[Path, Value]]:
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            yield (name, index), item
    else:
        yield (name,), value
