"""What a workflow would do, in plain words, before anybody imports it.

What it says a file may move is exact: the data flow's moves, each with what allows it, and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from .document import Document, Path, Step
from .explain_words import (
    allowed_by,
    does_of,
    plainly,
    sensor_of,
    starts_of,
    what_it_reads,
)
from .flow import Flow, MoveUse, Visit, analyse
from .registry import Registry, SiteView
from .safety_guards import judge, target_texts
from .safety_words import describe_move


@dataclass(frozen=True, slots=True)
class Move:
    """Something that may move: the action, what it acts on (a role, or the placeholder that a run fills), what allows it, and the
    path of the step. `authorised_by` is empty where nothing does: such a file is refused."""

    action: str
    target: str
    authorised_by: tuple[str, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class Ask:
    """A question or a call: who is asked, what they read or hear, and what each answer would do."""

    who: str
    message: str
    outcomes: Mapping[str, str]
    path: Path


@dataclass(frozen=True, slots=True)
class Explanation:
    """The summary of a workflow. Each text is one line for a person."""

    name: str
    starts: tuple[str, ...]
    does: tuple[str, ...]
    moves: tuple[Move, ...]
    asks: tuple[Ask, ...]
    reads: tuple[str, ...]
    needs: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """All of it, for a terminal or a dialog."""
        moves = [
            f"{move.action} {move.target}".strip()
            + ": "
            + ("; or ".join(move.authorised_by) or "nothing allows it, so it is refused")
            for move in self.moves
        ]
        sections = (
            ("Starts when", self.starts),
            ("Does", self.does),
            ("May move", tuple(moves) or ("nothing",)),
            ("Asks", tuple(line for ask in self.asks for line in _ask_lines(ask))),
            ("Reads", self.reads),
            ("Needs", self.needs),
            ("Note", self.notes),
        )
        lines = [self.name] if self.name else []
        for title, section in sections:
            if section:
                lines.extend((f"{title}:", *(line if line.startswith("    ") else f"  - {line}" for line in section)))
        return "\n".join(lines) + "\n"


def _ask_lines(ask: Ask) -> Iterator[str]:
    yield f'{ask.who}: "{ask.message}"'
    for outcome, consequence in ask.outcomes.items():
        yield f"      {outcome}: {consequence}"


def explain(
    document: Document, registry: Registry, site: SiteView | None = None, *, flow: Flow | None = None
) -> Explanation:
    """The summary of a document. `flow` spares a second analysis where the caller has one."""
    flow = flow if flow is not None else analyse(document, registry, site)
    visits = [visit for visit in flow.visits if visit.context is None and not visit.point.dead]
    return Explanation(
        document.name,
        tuple(starts_of(document)),
        tuple(dict.fromkeys(line for visit in visits if (line := does_of(visit.step, registry)))),
        tuple(_moves(document, flow, site)),
        tuple(_asks(visits, flow)),
        tuple(dict.fromkeys(what_it_reads(document, visits, registry))),
        tuple(_needs(document)),
        tuple(dict.fromkeys(_notes(document, visits, flow, registry))),
    )


def reachable_moves(flow: Flow) -> tuple[MoveUse, ...]:
    """The moves that some path reaches, each step once."""
    found: dict[Path, MoveUse] = {}
    for use in flow.moves:
        if not use.visit.point.dead:
            found.setdefault(use.step.path, use)
    return tuple(found.values())


def _moves(document: Document, flow: Flow, site: SiteView | None) -> Iterator[Move]:
    for use in reachable_moves(flow):
        grants = judge(use, site).grants
        said = tuple(dict.fromkeys(allowed_by(grant, document) for grant in grants))
        for target in _targets(use):
            yield Move(use.action.name, target, said, use.step.path)


def _targets(use: MoveUse) -> tuple[str, ...]:
    return target_texts(use.step, use.action.target, use.visit.point) if use.action.target else ("",)


def _asks(visits: Iterable[Visit], flow: Flow) -> Iterator[Ask]:
    for visit in visits:
        step = visit.step
        if step.kind not in ("ask_person", "call"):
            continue
        setting = "replies" if step.kind == "ask_person" else "outcomes"
        answers = step.settings.get(setting)
        outcomes = [*(str(one) for one in answers)] if isinstance(answers, tuple) else []
        said = {outcome: _consequence(step, outcome, flow) for outcome in outcomes}
        said["no answer"] = _no_answer(step, flow)
        who = step.settings.get("who", step.settings.get("to"))
        message = step.settings.get("message", step.settings.get("goal", step.settings.get("script", "")))
        yield Ask(plainly(who), plainly(message), said, step.path)


def _no_answer(step: Step, flow: Flow) -> str:
    default = step.settings.get("default")
    if isinstance(default, str):
        return f"counts as {default}: {_consequence(step, default, flow)}"
    return _consequence(step, "no_answer", flow)


def _consequence(step: Step, outcome: str, flow: Flow) -> str:
    lane = step.lane(outcome)
    if lane is None:
        return "ends this path"
    moves = [describe_move(use.action, target) for use in flow.moves_in(step, outcome) for target in _targets(use)]
    if moves:
        return "may do: " + ", ".join(dict.fromkeys(moves))
    return "goes on with " + ", ".join(dict.fromkeys(inner.kind for inner in lane.steps)) + ", moves nothing"


def _needs(document: Document) -> Iterator[str]:
    for kind, names in document.needs.items():
        if names:
            yield f"{kind}: {', '.join(names)}"


def _notes(document: Document, visits: Iterable[Visit], flow: Flow, registry: Registry) -> Iterator[str]:
    for use in document.triggers:
        said = sensor_of(use, registry)
        if said:
            yield said
    if flow.provenance.value == "ai":
        yield "What starts it may come from AI, so every move needs a person or a rule on an identity."
    for visit in visits:
        if visit.step.kind == "call" and visit.step.settings.get("confirm") not in ("digit", "spoken"):
            yield "A call is not confirmed: its outcomes may only tell."
