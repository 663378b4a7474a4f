"""The rows of a PostgreSQL site within a restore: into the database that the restored configuration names, since that is the one the site will use."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Final

from sqlalchemy import Connection, make_url, text

from siteward.core.errors import ConfigurationInvalid
from siteward.core.site.configuration import POSTGRESQL
from siteward.core.site.configuration_yaml import SECRETS_FILE, read_tree
from siteward.core.site.restored import mark_restored
from siteward.core.site_archive import BackupDamaged, Manifest, table_member, table_of
from siteward.core.site_folder import CONFIGURATION
from siteward.core.site_swap import NEW, STAGING, RestoreFailed
from siteward.core.store.errors import RowsRefused
from siteward.core.store.postgres_driver import needing_the_driver

STAGED: Final = "rows"
"""The folder below the staging folder that holds the members of tables: they never go into the site's folder."""


def database_of(folder: Path) -> str:
    """The address that the configuration in `folder` names, whatever else is wrong with it; empty: the file in the folder. Raises
    `ConfigurationInvalid` where it cannot be read at all."""
    tree = read_tree(folder / CONFIGURATION).value
    named = tree.get("database") if isinstance(tree, dict) else None
    return named if isinstance(named, str) and named.startswith(POSTGRESQL) else ""


def has_rows(manifest: Manifest) -> bool:
    """Whether a backup holds a server's tables."""
    return any(table_of(name) for name in manifest.members)


def put_rows_back(
    folder: Path, manifest: Manifest, now: datetime, committing: Callable[[], None]
) -> tuple[str, str | None]:
    """Put the staged rows into the database, marked as restored; gives its name and the schema that keeps what was there. `committing` is called just
    before it counts. Raises `RestoreFailed`, `BackupDamaged`, `DatabaseInUse`, `DatabaseUnusable`: then the database is as it was."""
    with needing_the_driver():
        from siteward.core.store.postgres_copy import copy_in
    url = _address(folder)
    name = make_url(url).render_as_string()
    if manifest.revision is None:
        raise BackupDamaged("The backup holds rows and does not say of which version.")
    rows = folder / STAGING / STAGED
    members = filter(None, map(table_of, manifest.members))
    tables = {table: partial(_opened, rows / table_member(table)) for table in members}
    try:
        aside = copy_in(url, manifest.revision, tables, now, partial(_mark, now=now), committing)
    except RowsRefused as error:
        raise BackupDamaged(f"{error.sentence} Use another backup.", where=error.where) from error
    return name, aside


def _opened(file: Path) -> IO[bytes]:
    return file.open("rb")


def _address(folder: Path) -> str:
    """What the staged configuration names, with the folder's own secrets where the backup was made without them."""
    staged, own = folder / STAGING / NEW, folder / SECRETS_FILE
    borrowed = not (staged / SECRETS_FILE).exists() and own.is_file()
    if borrowed:
        shutil.copyfile(own, staged / SECRETS_FILE)
    try:
        url = database_of(staged)
    except ConfigurationInvalid as error:
        raise RestoreFailed(
            f"The configuration in the backup does not say where its database is: {error.sentence}", where=CONFIGURATION
        ) from error
    finally:
        if borrowed:
            (staged / SECRETS_FILE).unlink()
    if not url:
        raise RestoreFailed(
            "The backup holds the rows of a PostgreSQL database, and its configuration.yaml names none.",
            where=CONFIGURATION,
        )
    return url


def _mark(connection: Connection, now: datetime) -> None:
    # Who was at work then is not at work now.
    connection.execute(text("DELETE FROM engines"))
    connection.execute(text("DELETE FROM leases"))
    mark_restored(lambda query, params: connection.execute(text(query), params), now.timestamp())
