"""Puts a backup in the place of a site: checked whole before anything is touched, swapped by renames, with what was there kept aside.

The backup is unpacked and checked in a hidden folder of the site. Then one small file, written last, says "from here on, forwards": a restore that is
cut off before it has changed nothing, one that is cut off after it is finished by the next who starts (`finish_restore`). The rows of a PostgreSQL site go in
one transaction just before; a restore that is cut off between the two is run again.

What a backup remembers is another past: a gate that it believes shut may have been opened since. So the restored database carries the moment of its
restore, and no answer, rule or event from before it moves anything (`engine.effects`); who was logged in is logged out.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from siteward.core.site.restored import mark_restored
from siteward.core.site_archive import (
    MANIFEST,
    MAXIMUM_MANIFEST,
    BackupDamaged,
    Manifest,
    Member,
    copy_counted,
    is_link,
    is_member,
    is_private,
    managed,
    manifest_from,
    table_of,
)
from siteward.core.site_folder import DATABASE
from siteward.core.site_rows import STAGED, has_rows, put_rows_back
from siteward.core.site_swap import (
    NEW,
    STAGING,
    RestoreFailed,
    finish_restore,
    go_forwards,
    is_cut_off,
    rows_are_next,
    sync_tree,
)
from siteward.core.store.migrate import migrate
from siteward.core.store.revision import require_known, revision_of

MOST_FILES: Final = 100_000
ROOM_LEFT: Final = 64 * 1024 * 1024
"""Bytes that a restore leaves free on the disk."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What was done. `aside` is the folder with what was there before (None: nothing was). For a PostgreSQL site `database` names the database without
    its password, and `schema` is where what it held before is kept."""

    manifest: Manifest
    aside: Path | None
    database: str | None = None
    schema: str | None = None


def verify(file: Path) -> Manifest:
    """Read a backup to its end and hold every member against the manifest. Raises `BackupDamaged`, `DatabaseNewer`."""
    with _opened(file) as archive:
        manifest = _manifest(archive, file)
        for name in manifest.members:
            with open(os.devnull, "wb") as nowhere:
                _unpack(archive, name, manifest.members[name], nowhere)
    return manifest


def restore(file: Path, folder: Path, now: datetime) -> Restored:
    """Put the backup in the place of the site in `folder`. Whoever calls holds the site's lock. Raises `BackupDamaged`, `DatabaseNewer`,
    `RestoreFailed`: then the site is as it was."""
    try:
        finish_restore(folder, again=True)
        staging = folder / STAGING
        (staging / NEW).mkdir(parents=True, mode=0o700)
        database, schema = None, None
        try:
            with _opened(file) as archive:
                manifest = _manifest(archive, file)
                _check_room(manifest, folder)
                for name, member in manifest.members.items():
                    _stage(archive, name, member, staging / (NEW if table_of(name) is None else STAGED))
            if DATABASE in manifest.members:
                prepare_database(staging / NEW / DATABASE, now)
            sync_tree(staging)
            if has_rows(manifest):
                database, schema = put_rows_back(folder, manifest, now, partial(rows_are_next, folder))
        except BaseException:
            if not is_cut_off(folder):
                shutil.rmtree(staging, ignore_errors=True)
            raise
        aside = go_forwards(folder, managed(folder), now)
        finish_restore(folder)
    except OSError as error:
        where = error.filename or folder
        raise RestoreFailed(
            f"The backup could not be put in place: {where}: {error.strerror}.", where=str(where)
        ) from error
    return Restored(manifest, aside, database, schema)


# -- reading the archive -----------------------------------------------------------------------------------------------
def _opened(file: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except OSError as error:
        raise RestoreFailed(f"{file} cannot be opened: {error.strerror}.", where=str(file)) from error
    except (zipfile.BadZipFile, ValueError, struct.error, NotImplementedError) as error:
        raise BackupDamaged(f"{file} is no backup, or is damaged: {error}.", where=str(file)) from error


def _manifest(archive: zipfile.ZipFile, file: Path) -> Manifest:
    """The manifest, once the archive holds exactly what it names and nothing that reaches out of the site's folder."""
    entries = archive.infolist()
    by_name = {entry.filename: entry for entry in entries}
    if MANIFEST not in by_name:
        raise BackupDamaged(f"{file} is no backup of Siteward: it holds no {MANIFEST}.", where=str(file))
    if len(entries) != len(by_name) or len(entries) > MOST_FILES:
        raise BackupDamaged(f"{file} holds a file twice, or too many files.", where=str(file))
    if by_name[MANIFEST].file_size > MAXIMUM_MANIFEST:
        raise BackupDamaged(f"The manifest of {file} is too large.", where=str(file))
    manifest = manifest_from(_read(archive, MANIFEST, MAXIMUM_MANIFEST))
    require_known(manifest.revision, f"The backup {file}")
    if by_name.keys() - {MANIFEST} != manifest.members.keys():
        raise BackupDamaged(f"{file} does not hold what its manifest names.", where=str(file))
    for name, member in manifest.members.items():
        entry = by_name[name]
        if not is_member(name) or is_link(entry.external_attr) or entry.is_dir():
            raise BackupDamaged(f"{file} holds {name!r}, which no backup has. Do not use this file.", where=str(file))
        if entry.file_size != member.size:
            raise BackupDamaged(f"{name} in {file} is not as it was written.", where=str(file))
    return manifest


def _read(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    try:
        with archive.open(name) as member:
            return member.read(most + 1)
    except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError, struct.error) as error:
        raise BackupDamaged(f"{name} in the backup cannot be read: {error}.") from error


def _unpack(archive: zipfile.ZipFile, name: str, member: Member, target: object) -> None:
    try:
        with archive.open(name) as source:
            found = copy_counted(source, target, member.size)  # type: ignore[arg-type]
    except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError, struct.error) as error:
        raise BackupDamaged(f"{name} in the backup cannot be read: {error}.") from error
    if found != member:
        raise BackupDamaged(f"{name} in the backup is not as it was written. Use another backup.", where=name)


def _stage(archive: zipfile.ZipFile, name: str, member: Member, place: Path) -> None:
    target = place / name
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = 0o600 if is_private(name) else 0o644
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as file:
        _unpack(archive, name, member, file)


def _check_room(manifest: Manifest, folder: Path) -> None:
    needed, free = sum(member.size for member in manifest.members.values()), shutil.disk_usage(folder).free
    if needed + ROOM_LEFT > free:
        raise RestoreFailed(
            f"The backup unpacks to {needed // 2**20} MiB, and {folder} has {free // 2**20} MiB free. Make room first.",
            where=str(folder),
        )


# -- the database ------------------------------------------------------------------------------------------------------
def prepare_database(database: Path, now: datetime) -> None:
    """Check the unpacked database, bring it to this version and mark it as restored. Raises `BackupDamaged`, `DatabaseNewer`."""
    revision = revision_of(database)
    if revision is None:
        raise BackupDamaged("The database in the backup holds no tables of Siteward.")
    require_known(revision, "The database in the backup")
    _check_sound(database)
    migrate(str(database))
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        mark_restored(connection.execute, now.timestamp())
        connection.execute("COMMIT")
    database.chmod(0o600)


def _check_sound(database: Path) -> None:
    try:
        with closing(sqlite3.connect(database, isolation_level=None)) as connection:
            (said,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.Error as error:
        said = str(error)
    if said != "ok":
        raise BackupDamaged(
            f"The database in the backup is damaged ({'; '.join(said.split(chr(10)))}). Use another backup."
        )


def as_row(restored: Restored) -> Mapping[str, object]:
    """What was restored, for JSON."""
    manifest = restored.manifest
    return {
        "site": manifest.site,
        "made_at": manifest.made_at,
        "siteward": manifest.siteward,
        "files": len(manifest.members),
        "replaced": None if restored.aside is None else str(restored.aside),
        "database": restored.database,
        "replaced_schema": restored.schema,
    }
