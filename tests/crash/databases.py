"""Where the database of a story is: one per story, a copy of the one that its scenario was prepared in. `url` beside the world's files names it."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import psycopg
from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import NullPool

from tests.postgres import Server, server


class Databases(Protocol):
    """Makes the places of stories, each with its database."""

    def make(self, place: Path) -> None:
        """A place with a new database."""
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


class PostgresDatabases:
    """The database is one of a server, which outlives every process that is killed."""

    def __init__(self, running: Server) -> None:
        self._server = running
        self._numbers = itertools.count()

    def make(self, place: Path) -> None:
        place.mkdir()
        (place / "url").write_text(self._server.database())

    def copy(self, template: Path, place: Path) -> None:
        shutil.copytree(template, place)
        name = f"story_{os.getpid()}_{next(self._numbers)}"
        with psycopg.connect(self._server.url("postgres"), autocommit=True) as connection:
            original = (template / "url").read_text().rpartition("/")[2]
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {original}")
        (place / "url").write_text(self._server.url(name))

    def drop(self, place: Path) -> None:
        self._server.drop((place / "url").read_text())
        shutil.rmtree(place)


@contextmanager
def databases(kind: str) -> Iterator[Databases]:
    """Databases of a kind, `sqlite` or `postgres`, with what they need."""
    if kind == "sqlite":
        yield SqliteFiles()
        return
    with server() as running:
        yield PostgresDatabases(running)


def reader(url: str) -> Engine:
    """A way to read a database from outside, with a connection for each look."""
    return create_engine(url.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool)
