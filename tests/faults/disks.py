"""Disks that are full or broken, for real: a small file system of its own, and a limit of the kernel on how large a file may be."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

SIZE = "3m"
FIRST_PAGE = 4096


class Disk(Protocol):
    """A folder on a disk that can be made unwritable and whole again."""

    folder: Path

    def fill(self) -> None: ...

    def free(self) -> None: ...


class SmallDisk:
    """A file system of three megabytes in memory; full is full (ENOSPC)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        with (self.folder / "ballast").open("ab", buffering=0) as ballast, suppress(OSError):
            for size in (4096, 1):
                with suppress(OSError):
                    while ballast.write(b"\0" * size):
                        pass

    def free(self) -> None:
        (self.folder / "ballast").unlink(missing_ok=True)


class LimitedFile:
    """Nothing can be written behind a file's first page (EFBIG): SQLite meets it as a disk error in the middle of a write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (FIRST_PAGE, self._before[1]))

    def free(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)


@contextmanager
def disk(kind: str, folder: Path) -> Iterator[Disk]:
    """A disk of this kind, and what it leaves cleaned up. Only root may mount; who is not tests the other kind."""
    folder.mkdir()
    made: Disk = LimitedFile(folder)
    if kind == "full":
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)], check=True)
        made = SmallDisk(folder)
    try:
        yield made
    finally:
        made.free()
        if kind == "full":
            subprocess.run(["umount", "-l", str(folder)], check=True)


KINDS = ("full", "broken") if os.geteuid() == 0 else ("broken",)
