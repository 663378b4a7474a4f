"""What a backup is: one zip file with the parts of a site that a restore needs, and a manifest that names each with its digest.

In it: `configuration.yaml`, `secrets.yaml` and every other YAML file of the folder, the folders below, and one instant of the database (an SQLite file
as a file, a server's table by table below `database/`). Not in it:
what a camera writes into the folder, logs of the demo, caches, and the lock.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from siteward.core.errors import SitewardError
from siteward.core.plugins.discovery import CUSTOM
from siteward.core.site.configuration_yaml import SECRETS_FILE
from siteward.core.site_folder import BLUEPRINTS, DATABASE, MODELS, WORKFLOWS

FORMAT: Final = 1
MANIFEST: Final = "siteward-backup.json"
MAXIMUM_MANIFEST: Final = 16 * 1024 * 1024
FOLDERS: Final = (WORKFLOWS, BLUEPRINTS, CUSTOM, MODELS)
DATABASE_FILES: Final = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", f"{DATABASE}-journal")
PRIVATE: Final = frozenset({SECRETS_FILE, DATABASE})
"""Members that only the site's owner may read."""
TABLES: Final = "database"
"""The folder in a backup with the tables of a PostgreSQL database, each as `NAME.copy` (`store.postgres_copy`)."""
_TABLE: Final = ".copy"
SKIPPED: Final = frozenset({"__pycache__", ".git"})
CHUNK: Final = 1024 * 1024
_YAML: Final = (".yaml", ".yml")
_DEEPEST: Final = 32
_LONGEST_NAME: Final = 255


class BackupDamaged(SitewardError):
    """A file that is no backup, or is not as it was written."""

    code = "backup.damaged"


@dataclass(frozen=True, slots=True)
class Member:
    """A file of a backup: its size in bytes and its SHA-256."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What stands in a backup. `revision` is the database's (None: the site had none yet); `left_out` says what of the folder is not in it."""

    siteward: str
    made_at: str
    site: str
    revision: str | None
    members: dict[str, Member]
    left_out: tuple[str, ...] = ()

    def as_json(self) -> bytes:
        """The manifest's own file."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1).encode()


def manifest_from(text: bytes) -> Manifest:
    """Read a manifest. Raises `BackupDamaged`."""
    try:
        read: Any = json.loads(text)
        form = read.pop("format")
        if form != FORMAT:
            raise BackupDamaged(f"The backup is of format {form}, which this Siteward does not know. Use a newer one.")
        members = {str(name): Member(int(one["size"]), str(one["sha256"])) for name, one in read["members"].items()}
        revision = None if read["revision"] is None else str(read["revision"])
        left_out = tuple(map(str, read["left_out"]))
        return Manifest(str(read["siteward"]), str(read["made_at"]), str(read["site"]), revision, members, left_out)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BackupDamaged("The backup's manifest cannot be read: it is damaged, or no backup of Siteward.") from error


def is_member(name: str) -> bool:
    """Whether a backup may hold a file of this name: a YAML file of the site's folder, its database, or something below the known folders.
    Everything else (a way out of the folder, a hidden file of the host's own) could only be an attack."""
    if not name or "\\" in name or "\0" in name or name.startswith("/"):
        return False
    parts = name.split("/")
    if len(parts) > _DEEPEST or any(part in ("", ".", "..") or len(part.encode()) > _LONGEST_NAME for part in parts):
        return False
    if len(parts) == 1:
        return name == DATABASE or (name.endswith(_YAML) and not name.startswith("."))
    return parts[0] in FOLDERS or table_of(name) is not None


def table_member(table: str) -> str:
    """The member that holds a table's rows."""
    return f"{TABLES}/{table}{_TABLE}"


def table_of(name: str) -> str | None:
    """The table whose rows a member holds; None for every other member."""
    folder, _, file = name.partition("/")
    if folder != TABLES or not file.endswith(_TABLE):
        return None
    table = file.removesuffix(_TABLE)
    return table if table.isidentifier() else None


def is_private(name: str) -> bool:
    """Whether only the site's owner may read a member."""
    return name in PRIVATE or table_of(name) is not None


def managed(folder: Path) -> list[str]:
    """The names directly in a site's folder that a backup holds and a restore replaces."""
    yaml = sorted(file.name for file in folder.iterdir() if file.suffix in _YAML and not file.name.startswith("."))
    return [*yaml, *(name for name in (*FOLDERS, *DATABASE_FILES) if os.path.lexists(folder / name))]


def files_of(folder: Path) -> Iterator[tuple[str, Path | None]]:
    """The files of a site beside its database, by their names in a backup; None for what is left out (a link to a folder, a device). A link to a
    file counts as the file: that is how configuration is mounted."""
    for name in managed(folder):
        if name in DATABASE_FILES:
            continue
        if name not in FOLDERS:
            yield name, folder / name if (folder / name).is_file() else None
            continue
        if (folder / name).is_symlink():
            yield name, None
            continue
        for place, below, files in os.walk(folder / name):
            here = Path(place)
            for one in sorted(below):
                if (here / one).is_symlink():
                    yield str(PurePosixPath(here.relative_to(folder), one)), None
            below[:] = sorted(one for one in below if one not in SKIPPED)
            for one in sorted(files):
                relative = str(PurePosixPath(here.relative_to(folder), one))
                yield relative, here / one if (here / one).is_file() and is_member(relative) else None


class Counted:
    """A stream to write to that tells its size and digest."""

    def __init__(self, target: IO[bytes]) -> None:
        self._target = target
        self._digest = hashlib.sha256()
        self.size = 0

    def write(self, chunk: bytes) -> None:
        """Write `chunk`."""
        self._target.write(chunk)
        self._digest.update(chunk)
        self.size += len(chunk)

    def member(self) -> Member:
        """What was written so far."""
        return Member(self.size, self._digest.hexdigest())


def copy_counted(source: IO[bytes], target: IO[bytes], most: int | None = None) -> Member:
    """Copy a stream and tell its size and digest. Stops one chunk past `most` bytes: what is longer than it says is not read to its end."""
    counted = Counted(target)
    while chunk := source.read(CHUNK):
        counted.write(chunk)
        if most is not None and counted.size > most:
            break
    return counted.member()


def is_link(external_attr: int) -> bool:
    """Whether a zip entry, by its Unix mode, is something else than a plain file."""
    kind = stat.S_IFMT(external_attr >> 16)
    return kind not in (0, stat.S_IFREG)
