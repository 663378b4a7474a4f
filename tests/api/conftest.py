"""The house, and people in it: anna is admin, gina guards the gate, olaf operates the yard, vera looks at the yard.

`SITEWARD_EVERYWHERE=1` runs these tests on PostgreSQL too (a minute more)."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from siteward.core.site.permissions import SiteRole

from .house import Browser, House, browser, open_house

DATABASES = ("sqlite", "postgresql") if os.environ.get("SITEWARD_EVERYWHERE") else ("sqlite",)


@pytest.fixture(params=DATABASES, autouse=True)
def database(request: pytest.FixtureRequest) -> None:
    """Which database the house stands on."""
    if request.param == "postgresql":
        request.getfixturevalue("on_postgres")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path) as made:
        await made.account("anna", SiteRole.ADMIN)
        await made.account("gina", SiteRole.OPERATOR, "gate-cam")
        await made.account("olaf", SiteRole.OPERATOR, "yard-cam")
        await made.account("vera", SiteRole.VIEWER, "yard-cam")
        yield made


class Visitors:
    """Gives browsers that close with the test."""

    def __init__(self, house: House, stack: AsyncExitStack) -> None:
        self._house = house
        self._stack = stack

    async def __call__(self, name: str | None = None) -> Browser:
        return await self._stack.enter_async_context(browser(self._house, name))


@pytest.fixture
async def visit(house: House) -> AsyncIterator[Visitors]:
    async with AsyncExitStack() as stack:
        yield Visitors(house, stack)
