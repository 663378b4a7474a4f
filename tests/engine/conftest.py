"""Every engine test runs twice: as it is, and with each run dropped from memory after each step."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .house import House


@pytest.fixture(params=[False, True], ids=["in-memory", "always-suspend"])
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    """A house with a running engine."""
    made = House(tmp_path, always_suspend=request.param)
    await made.open()
    yield made
    await made.close()
