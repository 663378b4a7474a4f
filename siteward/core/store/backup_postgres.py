"""A copy of a PostgreSQL database, by the tools that come with it: `pg_dump` sees one instant and holds up no writer, `pg_restore` puts all of it back in
one transaction, or nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from sqlalchemy.engine import URL, make_url

from siteward.core.store.errors import DatabaseUnusable

_DUMP: Final = ("--format=custom", "--no-owner", "--no-privileges")
_RESTORE: Final = (
    *("--clean", "--if-exists", "--no-owner", "--no-privileges"),
    *("--single-transaction", "--exit-on-error"),
)


def dump_postgres(url: str, target: Path) -> None:
    """Write the database at `url` to the new file `target`, which only its owner may read. Raises `DatabaseUnusable`, and leaves nothing then."""
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        _call("pg_dump", make_url(url), *_DUMP, f"--file={target}")
        with target.open("rb") as file:
            os.fsync(file.fileno())
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def restore_postgres(url: str, source: Path) -> None:
    """Put a dump in the place of what the database at `url` holds. Whoever calls has stopped every host on it, and says afterwards that it is
    restored (`site.restored`). Raises `DatabaseUnusable`: then it is as it was."""
    _call("pg_restore", make_url(url), *_RESTORE, str(source))


def _call(tool: str, url: URL, *arguments: str) -> None:
    """Run a tool; the password goes by the environment, where no list of processes shows it."""
    program = shutil.which(tool)
    if program is None:
        raise DatabaseUnusable(
            f"{tool} is not installed on this machine. Install PostgreSQL's client programs (postgresql-client), of the server's version or newer."
        )
    environment = os.environ | {name: value for name, value in _connection(url).items() if value}
    done = subprocess.run(
        [program, f"--dbname={url.database}", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = [line for line in done.stderr.strip().splitlines() if line] or [f"{tool} ended with {done.returncode}"]
        raise DatabaseUnusable(f"{tool} could not do it: {said[0]}", where=url.render_as_string(hide_password=True))


def _connection(url: URL) -> dict[str, str]:
    return {
        "PGHOST": url.host or "",
        "PGPORT": "" if url.port is None else str(url.port),
        "PGUSER": url.username or "",
        "PGPASSWORD": str(url.password or ""),
    }
