"""The tools of an Investigate: one to five, by name, each as strict as the site or stricter."""

from __future__ import annotations

from typing import Final

from .admin import note_scopes
from .fixes import nearest_value, remove, set_to
from .notes import shown
from .problems import Fix
from .reading import Reading, say_type
from .registry import Moves, ToolMode
from .tree import At

MOST_TOOLS: Final = 5
_STRICTNESS: Final = {ToolMode.AUTO: 0, ToolMode.ASK: 1, ToolMode.UNAVAILABLE: 2}


def check_tools(at: At, reading: Reading) -> None:
    """Notes what is wrong with `tools`."""
    if not at.is_list:
        fixes = (set_to(at, (at.value,), "Write it as a list"),) if at.text or at.is_map else ()
        reading.notes.error("shape.wrong_type", f"`tools` takes a list of names, not {say_type(at)}.", at, fixes=fixes)
        return
    count = len(at.node.items)
    if not count:
        reading.notes.error("ai.no_tools", "An Investigate has 1 to 5 tools, and this one has none. Name one.", at)
    if count > MOST_TOOLS:
        told = f"An Investigate has at most {MOST_TOOLS} tools, not {count}. Keep those that answer the goal."
        kept = tuple(item.value for item in at.items())[:MOST_TOOLS]
        reading.notes.error("ai.too_many_tools", told, at, fixes=(set_to(at, kept, f"Keep the first {MOST_TOOLS}"),))
    seen: set[str] = set()
    for item in at.items():
        _check_tool(item, seen, _take_out(at, item), reading)


def _take_out(at: At, item: At) -> tuple[Fix, ...]:
    return (remove(item, "Take the tool off the list"),) if len(at.node.items) > 1 else ()


def _check_tool(at: At, seen: set[str], take_out: tuple[Fix, ...], reading: Reading) -> None:
    mode_at: At | None = None
    name = at.text
    if at.is_map and len(at.node.entries) == 1:
        mode_at = next(at.entries())
        name = mode_at.key
    if name is None:
        told = f"A tool is a name or {{ name: mode }}, not {say_type(at)}."
        reading.notes.error("shape.wrong_type", told, at)
        return
    if name in seen:
        told = f"The tool {shown(name)} stands twice in the list. Keep one."
        reading.notes.error("ai.duplicate_tool", told, at, fixes=take_out)
        return
    seen.add(name)
    if _refused(at, name, mode_at, take_out, reading):
        return
    reading.need(name)
    note_scopes(mode_at or at, reading.registry.tools[name].scopes, reading)
    if mode_at is not None:
        _check_mode(mode_at, name, reading)


def _refused(at: At, name: str, mode_at: At | None, take_out: tuple[Fix, ...], reading: Reading) -> bool:
    tool, action = reading.registry.tools.get(name), reading.registry.actions.get(name)
    if (tool is not None and tool.moves) or (tool is None and action is not None and action.moves is not Moves.NO):
        told = f"{shown(name)} moves things, and no AI step may have it. Place the action after a person's reply."
        reading.notes.error("ai.moving_tool", told, at, fixes=take_out)
        return True
    if tool is not None:
        return False
    known = [one.name for one in reading.registry.tools.values() if not one.moves]
    near = reading.notes.nearest(name, known)
    hint = f" Did you mean `{near}`?" if near else " Install what has it, or take it off the list."
    fixes = (*(nearest_value(at, near) if mode_at is None else ()), *take_out)
    reading.notes.error("skill.unknown_tool", f"Nobody provides the tool {shown(name)}.{hint}", at, fixes=fixes)
    return True


def _check_mode(at: At, name: str, reading: Reading) -> None:
    modes = tuple(mode.value for mode in ToolMode)
    if at.text not in modes:
        near = reading.notes.nearest(at.text or "", modes)
        told = f"A tool's mode is auto, ask or unavailable, not {say_type(at)}."
        reading.notes.error("shape.bad_value", told, at, fixes=nearest_value(at, near))
        return
    policy = reading.site.tool_modes if reading.site else {}
    allowed = policy.get(name, reading.registry.tools[name].default_mode)
    if _STRICTNESS[ToolMode(at.text)] < _STRICTNESS[allowed]:
        told = f"The site sets {shown(name)} to {allowed.value}; a step may be stricter and never looser."
        fixes = (set_to(at, allowed.value),)
        reading.notes.error("ai.loose_tool_mode", told, at, fixes=fixes)
