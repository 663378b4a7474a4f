"""Where an `!input` may not stand in the body of a blueprint.

Who is asked, what happens when nobody answers, which list authorises and what a condition is are the blueprint's own words: whoever
reads it must see them. There an input may at most choose a role of the site, which the form offers by its kind.
"""

from __future__ import annotations

from .blueprint_selectors import Selector, Selects
from .document import Path


def refused_place(path: Path, selector: Selector) -> str | None:
    """Why an input with this selector may not stand at this path of the body, or None where it may."""
    match path:
        case ():
            return "An `!input` cannot be the whole workflow. Write the workflow with inputs in it."
        case (*_, int(), "ask_person", "default"):
            return "The default of a question is no input: it decides what happens when nobody answers. Write it here."
        case (*_, int(), ("ask_person" | "call" | "for_each") as kind):
            return f"A whole `{kind}` is no input. Write it here; its texts and roles may be inputs."
        case (*_, int(), "ask_person" | "call", "escalate") | (*_, int(), "ask_person" | "call", "escalate", int()):
            return "Whom a question goes to next is no input as a whole. Write it here; its `who` may be a role input."
        case (*_, "in_list"):
            return "A whole `in_list` is no input: it may authorise. Write it here; its `list` may be a role input."
    if _is_condition(path):
        return "A condition is no input: it may authorise. Write it here; the values in it may be inputs."
    return _role_only(path, selector)


def _is_condition(path: Path) -> bool:
    """Whether a whole condition, or a list of them, stands at `path`."""
    if not any(step == "if" for step in path):
        return False
    at = path[:-1] if isinstance(path[-1], int) else path
    return at[-1] in ("if", "any", "not")


def _role_only(path: Path, selector: Selector) -> str | None:
    at = path[:-1] if isinstance(path[-1], int) else path
    match at:
        case (*_, "escalate", int(), "who"):
            return _unless(selector, "person", "Whom a question goes to next")
        case (*_, int(), kind, "who") if kind != "when":
            return _unless(selector, "person", "`who`")
        case (*_, int(), "call", "to"):
            return _unless(selector, "person", "Whom a call goes to")
        case (*_, "in_list", "list"):
            return _unless(selector, "list", "The list of an `in_list`")
        case (*_, int(), "for_each", "in"):
            return _unless(selector, None, "What a `for_each` goes through")
    return None


def _unless(selector: Selector, role: str | None, what: str) -> str | None:
    if selector.kind is Selects.ROLE and role in (None, selector.role):
        return None
    wanted = f"`selector: {{ role: {{ kind: {role} }} }}`" if role else "a `role` selector"
    return f"{what} takes an input only with {wanted}. Give the input that selector, or write the name here."
