"""Several engines over a fresh PostgreSQL database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .several import Several


@pytest.fixture
async def several(tmp_path: Path, postgres_url: str) -> AsyncIterator[Several]:
    """The processes of a site, none of them started."""
    made = Several(tmp_path, postgres_url)
    yield made
    await made.close()
