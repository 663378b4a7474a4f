"""One-click fixes of safety problems. Each leaves a file in which the same problem is gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .document import Document, Path, Step, Value
from .flow import MoveUse
from .flow_conditions import names_read
from .problems import Edit, EditKind, Fix

TIMEOUT = "60s"


def ask_first(use: MoveUse, document: Document, who: str, unseen: Sequence[str]) -> tuple[Fix, ...]:
    """Put a question around the move, asked of `who` (`asked_already`)."""
    step = value_at(document.root, use.step.path)
    if not isinstance(step, Mapping):
        return ()
    shown = "".join(f" {{{name}}}" for name in unseen)
    target = use.step.settings.get(use.action.target or "")
    subject = f" {target}" if isinstance(target, str) and not names_read(target) else ""
    question: dict[str, Value] = {
        "who": who,
        "message": f"{use.action.name}{subject}?{shown}",
        "replies": ("Yes", "No"),
        "timeout": TIMEOUT,
    }
    asked: dict[str, Value] = {"ask_person": question, "Yes": (step,)}
    return (Fix(f"Ask {who} first", (Edit(EditKind.SET, use.step.path, asked),)),)


def drop_default(asks: Path) -> tuple[Fix, ...]:
    """Take the default out: without one, nobody answering ends the path."""
    return (Fix("Remove the default", (Edit(EditKind.REMOVE, (*asks, "ask_person", "default")),)),)


def confirm_call(asks: Path, document: Document) -> tuple[Fix, ...]:
    """Let the callee confirm the outcome by a digit."""
    call = value_at(document.root, (*asks, "call"))
    if not isinstance(call, Mapping):
        return ()
    kind = EditKind.SET if "confirm" in call else EditKind.INSERT
    return (Fix("Confirm by a digit", (Edit(kind, (*asks, "call", "confirm"), "digit"),)),)


def show_values(asks: Path, document: Document, unseen: Sequence[str]) -> tuple[Fix, ...]:
    """Show the values in the question that allows the move."""
    path = (*asks, "ask_person", "message")
    message = value_at(document.root, path)
    if not isinstance(message, str) or not unseen:
        return ()
    added = ", ".join(f"{{{name}}}" for name in unseen)
    return (Fix(f"Show {added} in the question", (Edit(EditKind.SET, path, f"{message} ({added})"),)),)


def asked_already(steps: Iterable[Step]) -> str:
    """Somebody whom one of these steps asks, else the role that every site has."""
    for step in steps:
        who = step.settings.get("who")
        if step.kind == "ask_person" and isinstance(who, str) and not names_read(who):
            return who
    return "role:guard"


def value_at(root: Value, path: Path) -> Value:
    """The value at a path of the tree, None where there is none."""
    found: Value = root
    for part in path:
        if isinstance(found, Mapping) and isinstance(part, str):
            found = found.get(part)
        elif isinstance(found, tuple | list) and isinstance(part, int) and part < len(found):
            found = found[part]
        else:
            return None
    return found
