"""One host at a time in a site's folder: two would both own its runs."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self

from siteward.core.errors import SitewardError

NAME = ".siteward.lock"


class SiteInUse(SitewardError):
    """Another host runs this site."""

    code = "site.in_use"


class FolderUnwritable(SitewardError):
    """The site's folder cannot be written."""

    code = "site.unwritable"


class SiteLock:
    """A lock on a folder that the kernel drops when the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._file = -1

    def __enter__(self) -> Self:
        """Take the lock. Raises `SiteInUse`, with the number of the process that holds it, and `FolderUnwritable`."""
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise FolderUnwritable(
                f"{self._path} cannot be written: {error.strerror}. The host needs a folder that it may write.",
                where=str(self._path),
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 32).decode(errors="replace").strip()
            os.close(self._file)
            self._file = -1
            raise SiteInUse(
                f"The site in {self._path.parent} is already running (process {holder or 'unknown'}). Stop that one first, or "
                "use another folder with --config DIR.",
                where=str(self._path.parent),
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
