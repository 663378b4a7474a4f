"""The house of a fault test: a running engine over real parts, and guest code that misbehaves until the test lets go of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.engine.house import House

from .guests import Guest


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A house with a running engine."""
    made = House(tmp_path)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def guest() -> AsyncIterator[Guest]:
    """Guest code that never returns, until the test is over."""
    made = Guest()
    yield made
    await made.let_go()
