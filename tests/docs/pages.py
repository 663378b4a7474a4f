"""The pages for readers, taken apart: code blocks with their language, and every command that a reader may type."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md")))
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_COMMAND = re.compile(r"^(?:\.venv/bin/)?(siteward|script/[\w-]+)(?= |$)")


@dataclass(frozen=True)
class Block:
    """A code block."""

    page: str
    language: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command line: where it stands, and its words."""

    page: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page}: {shlex.join(self.words)}"


def blocks() -> Iterator[Block]:
    """Every code block of every page."""
    for page in PAGES:
        for language, text in _BLOCK.findall(page.read_text()):
            yield Block(page.relative_to(ROOT).as_posix(), language, text)


def commands() -> Iterator[Command]:
    """Every command in a code block without a language, or between backticks in the text."""
    for page in PAGES:
        text = page.read_text()
        shell = [line for language, block in _BLOCK.findall(text) if not language for line in block.splitlines()]
        for line in (*shell, *_SPAN.findall(_BLOCK.sub("", text))):
            for part in line.split("&&"):
                if _COMMAND.match(part.strip()):
                    words = shlex.split(part.strip().removeprefix(".venv/bin/"), comments=True)
                    yield Command(page.relative_to(ROOT).as_posix(), tuple(words))
