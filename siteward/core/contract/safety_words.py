"""The sentences of the safety problems: what is wrong on this path and what to write instead."""

from __future__ import annotations

from collections.abc import Sequence

from .flow import MoveUse
from .registry import ActionSpec


def describe_move(action: ActionSpec, target: str) -> str:
    """A move in words: `opens main_gate`, `calls home_assistant on front_door`."""
    verb = _VERBS.get(action.name)
    if verb is not None:
        return f"{verb} {target}".strip()
    return f"does {action.name} on {target}" if target else f"does {action.name}"


_VERBS = {
    "gate.open": "opens",
    "gate.close": "closes",
    "siren": "sounds",
    "site_mode": "sets the site to",
    "webhook": "sends a request to",
    "mqtt.publish": "publishes to",
    "home_assistant": "calls Home Assistant for",
}


def sentence(code: str, use: MoveUse, target: str, unseen: Sequence[str] = ()) -> str:
    """The sentence of one problem."""
    move = describe_move(use.action, target)
    names = ", ".join(f"{{{name}}}" for name in unseen)
    match code:
        case "safety.no_guard":
            return (
                f"This {move} with nothing before it that allows it. Put it into a lane of an If, of an Ask a person, or of a "
                "call that is confirmed."
            )
        case "safety.ai_unguarded":
            return (
                f"This {move} after AI had its say. Ask a person after the AI, or put it into the true lane of an If that finds "
                "the trigger's plate, badge, face or code in a list; times, modes and places only narrow."
            )
        case "safety.no_answer_moves":
            return f"This {move} although nobody answered. Nobody answering never moves anything: ask somebody else here, or only tell."
        case "safety.default_moves":
            return f"The default lane {move}, and a default is what happens when nobody answers. Choose another default or none."
        case "safety.unconfirmed_call":
            return (
                f"This {move} on what a model heard in a call. Write `confirm: digit` or `confirm: spoken` in the call."
            )
        case "safety.always_unguarded":
            return f"`always` runs after every path, and this {move}. Give it a guard of its own inside `always`: an If or an Ask a person."
        case "safety.list_not_allowed":
            return f"This {move} by a list that the site does not accept for it. Choose one of the site's lists for it, or ask a person."
        case "safety.ai_argument" if unseen:
            return (
                f"This {move} with {names}, which AI said and whoever allows the move was not shown. Show it in the question "
                "(in a call: in the script), or write a fixed value."
            )
        case _:
            return (
                f"This {move} on the word of somebody whom AI looked up in a list. Only what that row names may move: "
                "write a column of the call's own row as the target."
            )
