"""Reads a site's YAML files into plain values with the place of each, and resolves `!secret` and `!include`.

Secrets are looked up in `secrets.yaml` beside the file; an included file is read from the same folder only. The values of secrets are `Secret`
texts, whose repr hides them, so that a configuration printed by accident shows none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import yaml
from yaml.reader import ReaderError

from siteward.core.errors import ConfigurationInvalid

MAXIMUM_BYTES = 1024 * 1024
MAXIMUM_DEPTH = 32
SECRETS_FILE = "secrets.yaml"


class Secret(str):
    """A text that repr does not show."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'<secret>'"


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a value stands: the file, its line and column, both from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


Marks = dict[tuple[Any, ...], Mark]


@dataclass(frozen=True, slots=True)
class Tree:
    """The values of a file and the place of each path."""

    value: Any
    marks: Marks = field(default_factory=dict)

    def place(self, path: tuple[Any, ...]) -> Mark | None:
        """The place of `path`, or of its nearest ancestor that stands somewhere."""
        while path not in self.marks and path:
            path = path[:-1]
        return self.marks.get(path)


class _CoreLoader(yaml.SafeLoader):
    """YAML 1.2 core scalars, as workflow files have them: only true and false are booleans, `22:00` and `010` are text."""


_CoreLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag.rsplit(":", 1)[-1] in ("null", "merge")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^[-+]?(?:0|[1-9][0-9]{0,17})$", "-+0123456789"),
    ("float", r"^[-+]?(?:0|[1-9][0-9]*)\.[0-9]+$", "-+0123456789"),
):
    _CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


def read_tree(path: FilePath) -> Tree:
    """Read `path`. Raises `ConfigurationInvalid` with file, line and column."""
    reader = _Reader(path.parent)
    marks: Marks = {}
    return Tree(reader.read(path, marks, (), 0), marks)


def secrets_of(folder: FilePath) -> frozenset[str]:
    """The values of every secret of a site, so that no log shows one. Raises `ConfigurationInvalid`."""
    path = folder / SECRETS_FILE
    values = read_tree(path).value if path.is_file() else {}
    return frozenset(str(value) for value in values.values()) if isinstance(values, dict) else frozenset()


class _Reader:
    def __init__(self, folder: FilePath) -> None:
        self._folder = folder
        self._secrets: Mapping[str, Any] | None = None

    def read(self, path: FilePath, marks: Marks, at: tuple[Any, ...], depth: int) -> Any:
        text = _text_of(path)
        try:
            node = yaml.compose(text, Loader=_CoreLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            where = Mark(path.name, mark.line + 1, mark.column + 1) if mark else path.name
            raise ConfigurationInvalid(f"This is not well-formed YAML: {error.problem}.", where=str(where)) from error
        except ReaderError as error:
            raise ConfigurationInvalid(
                f"Character {error.position + 1} of the file may not stand in YAML: {error.reason}. Save the file as plain text.",
                where=path.name,
            ) from error
        if node is None:
            return {}
        return self._value(node, path.name, marks, at, depth)

    def _value(self, node: yaml.Node, file: str, marks: Marks, at: tuple[Any, ...], depth: int) -> Any:
        here = Mark(file, node.start_mark.line + 1, node.start_mark.column + 1)
        marks.setdefault(at, here)
        if depth > MAXIMUM_DEPTH:
            raise ConfigurationInvalid(f"More than {MAXIMUM_DEPTH} levels deep.", where=str(here))
        if node.tag == "!secret":
            return self._secret(node.value, here)
        if node.tag == "!include":
            return self._include(node.value, here, marks, at, depth)
        if isinstance(node, yaml.MappingNode):
            return dict(self._pairs(node, file, marks, at, depth))
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, file, marks, (*at, i), depth + 1) for i, item in enumerate(node.value)]
        return _scalar(node, here)

    def _pairs(
        self, node: yaml.MappingNode, file: str, marks: Marks, at: tuple[Any, ...], depth: int
    ) -> Iterator[tuple[str, Any]]:
        seen: set[str] = set()
        for key_node, value_node in node.value:
            mark = Mark(file, key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            key = str(key_node.value)
            if key in seen:
                raise ConfigurationInvalid(f"The key {key} stands twice here; keep one.", where=str(mark))
            if key == "<<":
                raise ConfigurationInvalid("Merge keys (<<) are not used here; write the keys out.", where=str(mark))
            seen.add(key)
            marks[(*at, key)] = mark
            yield key, self._value(value_node, file, marks, (*at, key), depth + 1)

    def _secret(self, name: Any, here: Mark) -> Secret:
        if self._secrets is None:
            path = self._folder / SECRETS_FILE
            values = _Reader(self._folder).read(path, {}, (), 0) if path.is_file() else {}
            self._secrets = values if isinstance(values, dict) else {}
        if name not in self._secrets:
            raise ConfigurationInvalid(f"There is no secret {name} in {SECRETS_FILE}; add it there.", where=str(here))
        return Secret(str(self._secrets[name]))

    def _include(self, name: Any, here: Mark, marks: Marks, at: tuple[Any, ...], depth: int) -> Any:
        path = (self._folder / str(name)).resolve()
        if self._folder.resolve() not in path.parents or not path.is_file():
            raise ConfigurationInvalid(f"There is no file {name} in this folder to include.", where=str(here))
        marks.pop(at, None)
        return self.read(path, marks, at, depth + 1)


def _text_of(path: FilePath) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigurationInvalid(f"{path.name} cannot be read: {error.strerror}.", where=path.name) from error
    if len(raw) > MAXIMUM_BYTES:
        raise ConfigurationInvalid(
            "The file is over 1 MiB; shorten it, or check that it is the right file.", where=path.name
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationInvalid("The file is not UTF-8 text.", where=path.name) from error


def _scalar(node: yaml.Node, here: Mark) -> Any:
    kind = node.tag.rsplit(":", 1)[-1]
    value = str(node.value)
    if kind == "null":
        return None
    if kind == "bool":
        return value.lower() == "true"
    if kind == "int":
        return int(value)
    if kind == "float":
        return float(value)
    if not node.tag.startswith("tag:yaml.org,2002:str"):
        raise ConfigurationInvalid(f"The tag {node.tag} is not known here.", where=str(here))
    return value
