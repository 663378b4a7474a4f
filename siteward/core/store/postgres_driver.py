"""PostgreSQL's driver is an extra: a site on SQLite needs none, so what speaks through it is imported where it is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from siteward.core.store.errors import DatabaseUnusable


@contextmanager
def needing_the_driver() -> Iterator[None]:
    """Around such an import: says what to install where the driver is missing. Raises `DatabaseUnusable`."""
    try:
        yield
    except ImportError as error:
        if "psycopg" not in str(error) and "pq wrapper" not in str(error):
            raise
        raise DatabaseUnusable("PostgreSQL needs its driver: pip install 'siteward[postgres]'.") from error
