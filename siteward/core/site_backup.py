"""Writes a backup of a site, whether a host runs on it or not."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from siteward import __version__
from siteward.core.errors import SitewardError
from siteward.core.site_archive import (
    DATABASE_FILES,
    MANIFEST,
    PRIVATE,
    Counted,
    Manifest,
    Member,
    copy_counted,
    files_of,
    is_private,
    table_member,
)
from siteward.core.site_folder import DATABASE
from siteward.core.store.backup import copy_database
from siteward.core.store.postgres_driver import needing_the_driver
from siteward.core.store.revision import require_known, revision_of

LEVEL: Final = 1
"""Of compression: rows shrink to a fifth at it, pictures at none."""


class BackupFailed(SitewardError):
    """The backup could not be written. Nothing is left of it."""

    code = "backup.failed"


def back_up(
    folder: Path, target: Path, site: str, made_at: datetime, *, with_secrets: bool = True, server: str = ""
) -> Manifest:
    """Write the backup of the site in `folder` to the new file `target`, which only its owner may read. `server` is the address of its PostgreSQL database;
    empty: its database is the file in the folder, which otherwise is one from before.

    Raises `BackupFailed`, `DatabaseNewer`, `DatabaseUnusable`. The file is there whole, or not at all.
    """
    if os.path.lexists(target):
        raise BackupFailed(f"{target} exists already, and nothing was changed; name another file.", where=str(target))
    try:
        _check_room(folder, target.parent)
        with tempfile.TemporaryDirectory(prefix=".siteward-backup-", dir=target.parent) as scratch:
            whole = Path(scratch, "backup.zip")
            manifest = _write(
                folder, whole, Path(scratch, DATABASE), site, made_at, with_secrets=with_secrets, server=server
            )
            whole.rename(target)
        _sync_folder(target.parent)
    except OSError as error:
        where = error.filename or target
        raise BackupFailed(f"The backup could not be written: {where}: {error.strerror}.", where=str(where)) from error
    return manifest


def _check_room(folder: Path, place: Path) -> None:
    """The copy of the database and the archive stand side by side for a while."""
    files = (folder / name for name in DATABASE_FILES)
    needed = 2 * sum(file.stat().st_size for file in files if file.is_file())
    free = shutil.disk_usage(place).free
    if free < needed:
        raise BackupFailed(
            f"{place} has {free // 2**20} MiB free, and the backup needs up to {needed // 2**20} MiB for a while. Name a file on "
            "another disk with --to.",
            where=str(place),
        )


def _write(
    folder: Path, whole: Path, copy: Path, site: str, made_at: datetime, *, with_secrets: bool, server: str
) -> Manifest:
    members: dict[str, Member] = {}
    left_out: list[str] = []
    revision = None
    with _new(whole) as archive:
        if server:
            with needing_the_driver():
                from siteward.core.store.postgres_copy import copy_out
            revision = copy_out(server, partial(_table_into, archive, members))
        elif (folder / DATABASE).exists():
            revision = revision_of(folder / DATABASE)
            require_known(revision, f"The database {folder / DATABASE}")
            copy_database(folder / DATABASE, copy)
            members[DATABASE] = _add(archive, DATABASE, copy)
            copy.unlink()
        for name, file in files_of(folder):
            if file is None or (name in PRIVATE and not with_secrets):
                left_out.append(name)
            else:
                members[name] = _add(archive, name, file)
        manifest = Manifest(__version__, made_at.isoformat(), site, revision, members, tuple(left_out))
        archive.writestr(_entry(MANIFEST, private=True), manifest.as_json())
    return manifest


@contextmanager
def _new(whole: Path) -> Iterator[zipfile.ZipFile]:
    """A new archive, on the disk when the block ends."""
    descriptor = os.open(whole, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w+b") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
            yield archive
        file.flush()
        os.fsync(file.fileno())


def _add(archive: zipfile.ZipFile, name: str, file: Path) -> Member:
    with file.open("rb") as source, archive.open(_entry(name, private=is_private(name)), "w", force_zip64=True) as into:
        return copy_counted(source, into)


@contextmanager
def _table_into(archive: zipfile.ZipFile, members: dict[str, Member], table: str) -> Iterator[Counted]:
    """A new member for a table's rows."""
    name = table_member(table)
    with archive.open(_entry(name, private=True), "w", force_zip64=True) as into:
        counted = Counted(into)
        yield counted
    members[name] = counted.member()


def _entry(name: str, *, private: bool) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100600 if private else 0o100644) << 16
    return entry


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
