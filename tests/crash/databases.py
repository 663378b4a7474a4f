"""Where the database of a story is: one per story, a copy of the one that its scenario was prepared in. `url` beside the world's files names it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Protocol


class Databases(Protocol):
    """Makes the places of stories, each with its database."""

    def make(self, place: Path) -> None:
        """A place with a new database, of no migration yet."""
        ...

    def copy(self, template: Path, place: Path) -> None:
        """A place as another one is, which nobody has open."""
        ...

    def drop(self, place: Path) -> None:
        """Away with it."""
        ...


class SqliteFiles:
    """The database is a file of the place."""

    def make(self, place: Path) -> None:
        place.mkdir()
        self._name(place)

    def copy(self, template: Path, place: Path) -> None:
        shutil.copytree(template, place)
        self._name(place)

    def drop(self, place: Path) -> None:
        shutil.rmtree(place)

    def _name(self, place: Path) -> None:
        (place / "url").write_text(f"sqlite:///{place}/site.db")
