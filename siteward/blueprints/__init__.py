"""The blueprints that ship with Siteward. A workflow names one as `siteward/<file>`; a site's own stand in its `blueprints/` folder."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

PREFIX: Final = "siteward/"


def shipped() -> tuple[str, ...]:
    """The paths of the shipped blueprints."""
    return tuple(sorted(PREFIX + one.name for one in files(__name__).iterdir() if one.name.endswith(".yaml")))


def read_shipped(path: str) -> bytes:
    """The text of a shipped blueprint by its path. Raises LookupError where none has it."""
    if path not in shipped():
        raise LookupError(path)
    return files(__name__).joinpath(path.removeprefix(PREFIX)).read_bytes()
