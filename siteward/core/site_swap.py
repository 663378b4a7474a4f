"""The swap at the end of a restore: by renames, forwards only, and finished by the next who starts where it was cut off."""

from __future__ import annotations

import json
import os
import shutil
from datetime import datetime
from pathlib import Path
from typing import Final

from siteward.core.errors import SitewardError

STAGING: Final = ".siteward-restore"
NEW: Final = "new"
_FORWARDS: Final = "forwards.json"
_ROWS: Final = "rows-may-be-in-place"


class RestoreFailed(SitewardError):
    """The backup could not be put in place."""

    code = "restore.failed"


def go_forwards(folder: Path, old: list[str], now: datetime) -> Path | None:
    """The point of no return: the steps that are left, on the disk before the first of them. `old` are the names that make room; gives the folder that
    keeps them, None where there are none."""
    stem = now.strftime("replaced-%Y%m%d-%H%M%S")
    names = [stem, *(f"{stem}-{number}" for number in range(1, 100))]
    aside = next(name for name in names if not os.path.lexists(folder / name))
    new = sorted(one.name for one in (folder / STAGING / NEW).iterdir())
    half = folder / STAGING / "half.json"
    with half.open("w", encoding="utf-8") as file:
        json.dump({"aside": aside, "old": old, "new": new}, file)
        file.flush()
        os.fsync(file.fileno())
    half.rename(folder / STAGING / _FORWARDS)
    _sync(folder / STAGING)
    return folder / aside if old else None


def is_cut_off(folder: Path) -> bool:
    """Whether a restore in this folder got past its point of no return and not to its end: the site is half the one and half the other."""
    return any((folder / STAGING / name).exists() for name in (_FORWARDS, _ROWS))


def rows_are_next(folder: Path) -> None:
    """Called just before the database on a server takes the rows of a restore: from here on it, and not yet the folder, may be the restored one."""
    (folder / STAGING / _ROWS).touch()
    _sync(folder / STAGING)


def finish_restore(folder: Path, *, again: bool = False) -> bool:
    """Bring a restore that was cut off to its end, or clear away one that had changed nothing yet; whether there was one to finish. Whoever calls
    holds the site's lock. Raises `RestoreFailed`, also for one that was cut off just when the database took its rows: it must be run `again` from the start."""
    staging = folder / STAGING
    if not (staging / _FORWARDS).exists():
        if (staging / _ROWS).exists() and not again:
            raise RestoreFailed(
                f"A restore in {folder} was cut off when its rows went into the database. Run the same `siteward restore FILE` again: it begins "
                "anew, and keeps what is there.",
                where=str(folder),
            )
        shutil.rmtree(staging, ignore_errors=True)
        return False
    try:
        steps = json.loads((staging / _FORWARDS).read_bytes())
        aside = folder / steps["aside"]
        for name in steps["old"]:
            aside.mkdir(mode=0o700, exist_ok=True)
            if os.path.lexists(folder / name) and not os.path.lexists(aside / name):
                (folder / name).rename(aside / name)
        _sync(folder)
        for name in steps["new"]:
            if os.path.lexists(staging / NEW / name):
                (staging / NEW / name).rename(folder / name)
        _sync(folder)
        (staging / _FORWARDS).unlink()
        shutil.rmtree(staging)
    except OSError as error:
        raise RestoreFailed(
            f"A restore is under way in {folder} and cannot be finished: {error.filename}: {error.strerror}. Mend that and run "
            "`siteward restore` or `siteward run` again: they go on with it.",
            where=str(folder),
        ) from error
    return True


def sync_tree(place: Path) -> None:
    """Put everything below `place` on the disk."""
    for here, _, files in os.walk(place, topdown=False):
        for name in files:
            _sync(Path(here, name))
        _sync(Path(here))


def _sync(place: Path) -> None:
    opened = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
