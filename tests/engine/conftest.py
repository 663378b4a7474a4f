"""Every engine test runs in three worlds: as it is, with each run dropped from memory after each step, and on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .house import House


@pytest.fixture(params=["in-memory", "always-suspend", "postgresql"])
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    """A house with a running engine."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    made = House(tmp_path, always_suspend=request.param == "always-suspend", url=url)
    await made.open()
    assert made.store.path.startswith("postgresql") == (request.param == "postgresql")
    yield made
    await made.close()
