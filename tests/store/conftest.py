"""The store's tests run on both databases; each test has a migrated one of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from siteward.core.store.migrate import migrate
from siteward.core.store.statements import Op
from siteward.core.store.store import Store


class Held:
    """Boundaries that hold the writer's thread at the first transaction, so that a test decides which writes ride together; and that remember
    what was reached."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()
        self.reached: list[str] = []

    def reach(self, name: str) -> None:
        self.reached.append(name)
        if name == "commit.begin":
            self.begun.set()
            self.go.wait(10)


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A migrated database."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_url"))
    migrate(str(tmp_path / "site.db"))
    return f"sqlite:///{tmp_path}/site.db"


@pytest.fixture
async def store(url: str, held: Held) -> AsyncIterator[Store]:
    opened = await Store.open(url, held)
    yield opened
    held.go.set()
    await opened.close()


def put(scope: str, count: int = 1) -> Op:
    return Op("INSERT INTO counters (scope, name, bucket, count) VALUES (:s, 'n', 'b', :c)", {"s": scope, "c": count})


async def together(store: Store, held: Held, *riders: tuple[Op, ...]) -> list[object]:
    """Submit all riders so that the writer takes them in one transaction; what became of each: None, or its error."""
    first = asyncio.create_task(store.submit(put("first")))
    await asyncio.to_thread(held.begun.wait)
    tasks = [asyncio.create_task(store.submit(*ops)) for ops in riders]
    await asyncio.sleep(0)
    held.go.set()
    await first
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    return [outcome if isinstance(outcome, BaseException) else None for outcome in outcomes]


async def scopes(store: Store) -> set[str]:
    return {row["scope"] for row in await store.fetch("SELECT scope FROM counters")}
