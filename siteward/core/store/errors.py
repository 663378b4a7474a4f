"""What can go wrong with the store, one class per kind that a caller treats differently."""

from __future__ import annotations

from siteward.core.errors import SitewardError


class LostRace(SitewardError):
    """A conditional write found that its row is no longer as it was read. Nothing of that write was kept."""

    code = "store.lost_race"


class WriteRefused(SitewardError):
    """The database refused this write (a constraint, a broken statement). Nothing of it was kept; others were not touched."""

    code = "store.write_refused"


class CommitFailed(SitewardError):
    """The commit gave no good answer: the write may or may not be kept. Read the rows before acting on it."""

    code = "store.commit_failed"


class ReadFailed(SitewardError):
    """The database could not be read now. Nothing is known; ask again later."""

    code = "store.read_failed"


class StoreClosed(SitewardError):
    """The store is closed, or was never opened."""

    code = "store.closed"


class DatabaseNewer(SitewardError):
    """The database was written by a newer Siteward."""

    code = "store.newer"


class DatabaseOlder(SitewardError):
    """The database is of an older Siteward, and this is not the moment to bring it up to date."""

    code = "store.older"


class DatabaseInUse(SitewardError):
    """A process of the site is at work on the database."""

    code = "store.in_use"


class RowsRefused(SitewardError):
    """Rows of a backup that are not as this database takes them."""

    code = "store.rows_refused"


class DatabaseUnusable(SitewardError):
    """The database cannot be opened (no such folder, no right to write, not a database)."""

    code = "store.unusable"
