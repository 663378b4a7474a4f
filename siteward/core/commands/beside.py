"""A site opened beside the host that may run it: for commands that look, which leave everything as the host has it.

What the configuration says by now is held in memory, and the database is neither made, migrated nor brought to it: a file that was edited for the
next start must not reach a running host through somebody who only lists its runs.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from siteward.core.errors import ConfigurationInvalid
from siteward.core.host import Host, open_host
from siteward.core.site.configuration import read_configuration
from siteward.core.site_folder import CONFIGURATION, DATABASE, database_url
from siteward.core.site_rows import database_of
from siteward.core.store.store import Store


@asynccontextmanager
async def host_beside(folder: Path) -> AsyncIterator[Host]:
    """The site to look at; where no host ever ran, over an empty database that is thrown away. Raises as `open_host`, and `DatabaseOlder`."""
    configuration = await asyncio.to_thread(read_configuration, folder / CONFIGURATION)
    if configuration.database or (folder / DATABASE).exists():
        name = f"beside-{os.getpid()}"
        opened = open_host(
            folder, configuration=configuration, applies=False, migrates=False, replica=name, drives=False
        )
        async with opened as host:
            yield host
        return
    with tempfile.TemporaryDirectory(prefix="siteward-") as scratch:
        scratched = Path(scratch) / DATABASE
        async with open_host(folder, configuration=configuration, applies=False, database=scratched) as host:
            yield host


@asynccontextmanager
async def store_beside(folder: Path) -> AsyncIterator[Store | None]:
    """The site's rows alone; None where no host ever ran. Only where the database is matters here: whatever else is wrong with the configuration,
    the rows can be seen. Raises what the store raises."""
    configured = await asyncio.to_thread(database_beside, folder)
    if not configured and not (folder / DATABASE).exists():
        yield None
        return
    store = await Store.open(database_url(folder, configured), migrates=False)
    try:
        yield store
    finally:
        await store.close()


def database_beside(folder: Path) -> str:
    """The address that the configuration names, if it can be read at all; empty: the file in the folder. Raises `ConfigurationInvalid` where it cannot be
    read and no such file is there."""
    try:
        return database_of(folder)
    except ConfigurationInvalid:
        if not (folder / DATABASE).exists():
            raise
        return ""
