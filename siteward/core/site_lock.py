"""One host at a time in a site's folder: two would both own its runs."""

from __future__ import annotations

import fcntl
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from siteward.core.errors import SitewardError

NAME = ".siteward.lock"
GLANCE_SECONDS = 0.05
LONGEST = 512


class SiteInUse(SitewardError):
    """Another host runs this site."""

    code = "site.in_use"


class FolderUnwritable(SitewardError):
    """The site's folder cannot be written."""

    code = "site.unwritable"


@dataclass(frozen=True, slots=True)
class Holder:
    """Who runs a site: the process's number as text, and the address of its pages (empty until it serves them)."""

    process: str
    address: str = ""


def holder(folder: Path) -> Holder | None:
    """Who runs the site in `folder`, None where nobody does. Nothing is written, and whoever may not read the lock's file sees nobody."""
    try:
        file = os.open(folder / NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _told(file)
    finally:
        os.close(file)
    return None


def _told(file: int) -> Holder:
    process, _, address = os.pread(file, LONGEST, 0).decode(errors="replace").strip().partition("\n")
    return Holder(process or "unknown", address)


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
        if not self._taken():
            process = _told(self._file).process
            os.close(self._file)
            self._file = -1
            raise SiteInUse(
                f"The site in {self._path.parent} is already running (process {process}). Stop that one first, or "
                "use another folder with --config DIR.",
                where=str(self._path.parent),
            )
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        return self

    def _taken(self) -> bool:
        """Whether the lock is ours. Who only asks for its holder has it for an instant, which a second try outlasts."""
        for pause in (GLANCE_SECONDS, 0.0):
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(pause)
            else:
                return True
        return False

    def tell(self, address: str) -> None:
        """Say where the pages of this host are, for the commands beside it."""
        os.pwrite(self._file, f"{os.getpid()}\n{address}\n".encode(), 0)

    def __exit__(self, *_: object) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
