"""Statements for the site's own rows, made from the tables' own columns, so that reserved names are quoted in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Table

from siteward.core.store.writer import Op


def _quoted(name: str) -> str:
    return f'"{name}"'


def _known(table: Table, names: Mapping[str, Any]) -> None:
    unknown = set(names) - {column.name for column in table.columns}
    if unknown:
        raise KeyError(f"{table.name} has no column {', '.join(sorted(unknown))}")


def insert(table: Table, values: Mapping[str, Any], *, only_if: str | None = None) -> Op:
    """Insert one row; with `only_if` (a condition in SQL), only where it holds, and losing the race fails the write."""
    _known(table, values)
    columns = ", ".join(_quoted(name) for name in values)
    marks = ", ".join(f":{name}" for name in values)
    if only_if is None:
        return Op(f"INSERT INTO {_quoted(table.name)} ({columns}) VALUES ({marks})", dict(values), 1)
    return Op(f"INSERT INTO {_quoted(table.name)} ({columns}) SELECT {marks} WHERE {only_if}", dict(values), 1)


def upsert(table: Table, values: Mapping[str, Any]) -> Op:
    """Insert a row or replace the one with the same primary key."""
    _known(table, values)
    keys = [column.name for column in table.primary_key.columns]
    columns = ", ".join(_quoted(name) for name in values)
    marks = ", ".join(f":{name}" for name in values)
    rest = [name for name in values if name not in keys]
    change = ", ".join(f"{_quoted(name)} = excluded.{_quoted(name)}" for name in rest)
    then = f"DO UPDATE SET {change}" if rest else "DO NOTHING"
    on = ", ".join(_quoted(key) for key in keys)
    return Op(f"INSERT INTO {_quoted(table.name)} ({columns}) VALUES ({marks}) ON CONFLICT ({on}) {then}", dict(values))


def update(table: Table, values: Mapping[str, Any], where: Mapping[str, Any], *, expect: int | None = 1) -> Op:
    """Change the rows where every column of `where` equals its value (None: is null); another count than `expect` fails the write."""
    _known(table, values)
    sets = ", ".join(f"{_quoted(name)} = :{name}" for name in values)
    condition, found = _where(table, where)
    return Op(f"UPDATE {_quoted(table.name)} SET {sets} WHERE {condition}", {**values, **found}, expect)


def delete(table: Table, where: Mapping[str, Any], *, expect: int | None = None) -> Op:
    """Remove the rows where every column of `where` equals its value."""
    condition, found = _where(table, where)
    return Op(f"DELETE FROM {_quoted(table.name)} WHERE {condition}", found, expect)


def _where(table: Table, where: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    _known(table, where)
    parts = [f"{_quoted(n)} IS NULL" if v is None else f"{_quoted(n)} = :is_{n}" for n, v in where.items()]
    return " AND ".join(parts), {f"is_{name}": value for name, value in where.items() if value is not None}
