"""A demo site whose story was played once, by the command itself; tests work on copies of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .running import DONE, Said, siteward


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Said]:
    """The folder, and what `demo --once --json --keep` said."""
    folder = tmp_path_factory.mktemp("played") / "site"
    said = siteward("demo", "--once", "--json", "--keep", folder)
    assert said.code == DONE, said
    return folder, said


@pytest.fixture
def site(story: tuple[Path, Said], tmp_path: Path) -> Path:
    """A copy of the played site."""
    folder = tmp_path / "site"
    shutil.copytree(story[0], folder)
    return folder
