"""The page of problem codes, made from the table: `docs/problem-codes.md` is this text and nothing else."""

from __future__ import annotations

from typing import Final

from .codes import CODES, GROUPS

_GROUP_TITLES: Final = {
    "shape": "The file as text and as a tree",
    "skill": "Something that nobody provides",
    "outcome": "Outcomes and their lanes",
    "ai": "The AI step",
    "safety": "What may move, by data flow",
    "severity": "How severe an alert may be",
    "scope": "What belongs to a site or to an admin",
    "limit": "Limits and schedules",
}
_HEAD: Final = """# Problem codes of workflow.v1

Every problem that `siteward validate` reports has one of these codes. A code never changes its meaning within
workflow.v1; messages may be worded better at any time, so tools compare codes. Errors refuse the file; a code marked
(warning) or (info) does not. A code marked (with a site) is only found where the file meets a site.
"""


def codes_page() -> str:
    """The text of `docs/problem-codes.md`."""
    parts = [_HEAD]
    for group in GROUPS:
        rows = [(code, told) for code, told in CODES.items() if code.startswith(f"{group}.")]
        lines = [f"## {_GROUP_TITLES[group]}", "", "| code | refuses |", "|---|---|"]
        lines += [f"| `{code}` | {told} |" for code, told in rows]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)
