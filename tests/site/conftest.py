"""Each test of the site runs on both databases."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["sqlite", "postgresql"], autouse=True)
def database(request: pytest.FixtureRequest) -> None:
    """Which database `open_site` opens."""
    if request.param == "postgresql":
        request.getfixturevalue("on_postgres")
