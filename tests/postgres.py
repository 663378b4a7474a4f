"""A real PostgreSQL for tests: one server for a whole session, and a migrated database of its own for each test.

In a test, ask for the fixture and open it as any store:

    async def test_something(postgres_url: str) -> None:
        store = await Store.open(postgres_url)

A suite that knows of SQLite files only runs on PostgreSQL as it is, with `on_postgres` (see tests/site/conftest.py).

`postgres` is the server itself, for tests that stop, kill or restart it; such a test uses `own_postgres`, a server of its own. Outside pytest (a crash
matrix, a benchmark): `with server(folder) as postgres: url = postgres.database()`.

`fsync` is off, as no test cuts the power of the machine; a benchmark of durable writes says `server(folder, durable=True)`. The server listens on a free
port of 127.0.0.1 and refuses to run as root: then it runs as the user `postgres` of the Debian package. A machine without PostgreSQL fails the test.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from siteward.core.store.postgres import Postgres

READY_SECONDS = 60.0
TEMPLATE = "siteward_template"
SMALL = ("shared_buffers=32MB", "max_connections=60", "autovacuum=off")
CARELESS = ("fsync=off", "full_page_writes=off")


class Server:
    """A server in a folder."""

    def __init__(self, home: Path, *, durable: bool = False) -> None:
        self.home = home
        self.port = _free_port()
        self._durable = durable
        self._user = "postgres" if os.geteuid() == 0 else None
        self._made = 0
        self._has_template = False
        self._process: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        """Make its files and start it."""
        if self._user is not None:
            shutil.chown(self.home, self._user)
        self.call("initdb", "-D", self._data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
        self.start()

    def start(self) -> None:
        """Start, and return once it takes connections."""
        settings = (*SMALL, *(() if self._durable else CARELESS))
        more = [part for setting in settings for part in ("-c", setting)]
        place = ["-D", self._data, "-p", str(self.port), "-k", str(self.home), "-h", "127.0.0.1"]
        log = (self.home / "log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [str(_binaries() / "postgres"), *place, *more],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.home,
                user=self._user,
            )
        ends = time.monotonic() + READY_SECONDS
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > ends:
                    raise AssertionError(
                        f"PostgreSQL did not start: {(self.home / 'log').read_text()[-800:]}"
                    ) from None
                time.sleep(0.02)

    def stop(self) -> None:
        """An orderly end: connections are cut, the files are written."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """As `pg_ctl stop -m immediate`: no goodbye, and the next start recovers from the log."""
        self._end(signal.SIGQUIT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def database(self) -> str:
        """A fresh database at the newest migration; its URL."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            if not self._has_template:
                self._has_template = True
                connection.execute(f"CREATE DATABASE {TEMPLATE}")
                Postgres(self.url(TEMPLATE)).migrate()
            self._made += 1
            name = f"site_{self._made}"
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
        return self.url(name)

    def empty(self) -> str:
        """A database without tables; its URL."""
        self._made += 1
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE site_{self._made}")
        return self.url(f"site_{self._made}")

    def drop(self, url: str) -> None:
        """Away with a database, whoever is connected."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {url.rsplit('/', 1)[1]} WITH (FORCE)")

    @property
    def _data(self) -> str:
        return str(self.home / "data")

    def call(self, tool: str, *arguments: str) -> str:
        """Run one of PostgreSQL's own programs; what it printed."""
        command = [str(_binaries() / tool), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.home, user=self._user, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def server(folder: Path | None = None, *, durable: bool = False) -> Iterator[Server]:
    """A running server, gone afterwards. Its folder must be one that its user may enter: by default a new one of its own."""
    home = Path(tempfile.mkdtemp(prefix="siteward-postgres-", dir=folder))
    home.chmod(0o755)
    running = Server(home, durable=durable)
    try:
        running.make()
        yield running
    finally:
        running.kill()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """The session's server. Do not stop it: others use it."""
    with server() as running:
        yield running


@pytest.fixture
def postgres_url(postgres: Server) -> Iterator[str]:
    """A migrated database for one test."""
    url = postgres.database()
    yield url
    postgres.drop(url)


@pytest.fixture
def own_postgres() -> Iterator[Server]:
    """A server for one test, which may do with it what it likes."""
    with server() as running:
        yield running


@pytest.fixture
def on_postgres(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For tests that know of SQLite files only: whoever opens one gets a database of the server instead, the same for the same file."""
    made: dict[str, str] = {}

    def instead(url: str) -> Postgres:
        if url not in made:
            made[url] = postgres.database()
        return Postgres(made[url])

    monkeypatch.setattr("siteward.core.store.store.backend_of", instead)
    yield
    for url in made.values():
        postgres.drop(url)


def _binaries() -> Path:
    """Where the server's programs are: Debian keeps them out of the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    if found:
        return found[-1]
    place = shutil.which("postgres")
    assert place is not None, "These tests need PostgreSQL: apt-get install postgresql."
    return Path(place).parent


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
