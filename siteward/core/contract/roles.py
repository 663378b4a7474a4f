"""Roles and people: what a file may name, and what only a site may know.

A file names cameras, gates and people by role. An id is refused as `scope.camera_id`: digits alone, a UUID, twelve or more
hexadecimal digits with a digit among them, a device word with three or more digits (`cam-0012`), or a dotted entity id
(`lock.front_door`). A phone number, an e-mail address, a URL, an IP address and a path or topic with slashes are
`scope.literal_address`.
"""

from __future__ import annotations

import re
from typing import Final

from .fixes import as_text, set_to
from .names import Names
from .notes import listed, shown
from .reading import Reading, say_type
from .texts import check_text
from .tree import At

ROLE_KINDS: Final = ("camera", "person", "gate", "siren", "list", "zone", "line", "destination", "entity")
_ID: Final = re.compile(
    r"\d+"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?=[0-9a-f]*\d)[0-9a-f]{12,}"
    r"|(?:cam|camera|gate|siren|door|user|person|device|dev|id)[-_ #]?\d{3,}"
    r"|[a-z_]+\.[a-z0-9_]+",
    re.ASCII | re.IGNORECASE,
)
_ADDRESS: Final = re.compile(
    r"[a-z][a-z0-9+.-]*://.*"
    r"|(?:mailto|tel|sip|sips):.+"
    r"|www\..+"
    r"|[^@\s]+@[^@\s]+"
    r"|\+?[\d()][\d\s()./-]{5,}"
    r"|\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?"
    r"|[\w.-]*/.*"
    r"|[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|local|lan|io|de)(?::\d+)?",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
_WHO: Final = re.compile(r"(role|user|group):(\S(?:.*\S)?)")
_LONGEST: Final = 100


def check_role(at: At, kind: str, names: Names, reading: Reading) -> None:
    """Notes what is wrong with a role of a kind (`camera`, `gate`, …)."""
    text = at.text
    if text is None:
        reading.notes.error(
            "shape.wrong_type",
            f"`{at.key}` takes the name of a {kind} role, not {say_type(at)}.",
            at,
            fixes=as_text(at),
        )
    elif "{" in text or "}" in text:
        check_text(at, names, reading)
    elif _refused_as_place(at, text, kind, reading):
        return
    elif not text.strip() or len(text) > _LONGEST or not text.isprintable():
        reading.notes.error("shape.bad_value", f"{shown(text)} is not a role name. Write a short plain name.", at)
    else:
        reading.use(kind, text)
        _check_mapped(at, kind, text, reading)


def _refused_as_place(at: At, text: str, kind: str, reading: Reading) -> bool:
    is_number = text.isdigit() and not (kind == "person" and len(text) > 6)
    if not is_number and _ADDRESS.fullmatch(text):
        reading.notes.error(
            "scope.literal_address",
            f"{shown(text)} is an address. Name a {kind} of the site instead; the site knows where it is.",
            at,
        )
        return True
    if kind != "list" and _ID.fullmatch(text):
        reading.notes.error(
            "scope.camera_id",
            f"{shown(text)} is an id. Name the {kind} by its role; a site maps the role to its own {kind}.",
            at,
        )
        return True
    return False


def _check_mapped(at: At, kind: str, name: str, reading: Reading) -> None:
    site = reading.site
    if site is None:
        return
    mapped = site.roles.get(kind, frozenset())
    if name not in mapped:
        near = reading.notes.nearest(name, mapped)
        hint = f" Did you mean `{near}`?" if near else f" Mapped here: {listed(mapped)}." if mapped else ""
        fixes = (set_to(at, near),) if near else ()
        reading.notes.error(
            "scope.unmapped_role", f"The site has not mapped the {kind} role {shown(name)}.{hint}", at, fixes=fixes
        )
    elif kind == "camera" and name not in site.visible_cameras:
        reading.notes.error(
            "scope.camera_not_visible",
            f"You may not see the camera {shown(name)}. Ask an admin, or choose another.",
            at,
        )


def check_roles(at: At, kind: str, names: Names, reading: Reading) -> None:
    """Notes what is wrong with one role or a list of them."""
    if not at.is_list:
        check_role(at, kind, names, reading)
        return
    if not at.node.items:
        reading.notes.error(
            "shape.empty_list", f"`{at.key}` is empty. Name a {kind} role, or leave `{at.key}` out.", at
        )
    for item in at.items():
        check_role(item, kind, names, reading)


def check_who(at: At, names: Names, reading: Reading) -> None:
    """Notes what is wrong with whom to ask or tell: one, or a list."""
    if at.is_list and at.node.items:
        for item in at.items():
            _check_one_who(item, names, reading)
    else:
        _check_one_who(at, names, reading)


def _check_one_who(at: At, names: Names, reading: Reading) -> None:
    text = at.text
    if text is None:
        reading.notes.error(
            "shape.wrong_type",
            f"`{at.key}` takes role:…, user:… or group:…, not {say_type(at)}.",
            at,
            fixes=as_text(at),
        )
        return
    if "{" in text or "}" in text:
        check_text(at, names, reading)
        return
    found = _WHO.fullmatch(text)
    if found is None:
        if _ADDRESS.fullmatch(text):
            _refused_as_place(at, text, "person", reading)
            return
        fixes = (set_to(at, f"role:{text}"),) if re.fullmatch(r"[\w-]+", text) else ()
        reading.notes.error(
            "shape.bad_value", f"{shown(text)} names nobody. Write role:…, user:… or group:….", at, fixes=fixes
        )
        return
    if _refused_as_place(at, found[2], "person", reading):
        return
    reading.use("person", text)
    _check_mapped(at, "person", text, reading)
