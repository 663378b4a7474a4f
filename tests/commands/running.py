"""Runs commands as a person types them, in this process: the same entry, options, output and exit codes, without Python's start each time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from siteward.core.cli import main

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "contract" / "corpus"
DONE, REFUSED, COULD_NOT = 0, 1, 2
"""The documented exit codes."""


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The output as one JSON value, with nothing beside it."""
        return json.loads(self.out)

    @property
    def sentence(self) -> str:
        """The one sentence on standard error."""
        (line,) = self.err.strip().splitlines()
        assert line.startswith("siteward: ")
        return line.removeprefix("siteward: ")


def siteward(*arguments: str | Path) -> Said:
    """Run a command. An error that is no sentence for a person is raised here."""
    result = CliRunner().invoke(main, [str(one) for one in arguments], catch_exceptions=False)
    return Said(result.exit_code, result.stdout, result.stderr)


def on(folder: Path, *arguments: str | Path) -> Said:
    """Run a command on the site in `folder`."""
    return siteward("--config", folder, *arguments)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder that a person wrote or that holds something: what must be as it was after a refusal."""
    kept = (file for file in folder.rglob("*") if file.is_file() and not file.name.startswith(".siteward"))
    return {str(file.relative_to(folder)): file.read_bytes() for file in kept}
