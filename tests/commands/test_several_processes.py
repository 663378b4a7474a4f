"""`siteward web` and `siteward engine`: one site on PostgreSQL as several processes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.postgres import Server

SECONDS = 60.0
MAIN = "from siteward.core.cli import main; main()"
CONFIGURATION = """\
name: Large
zone: UTC
web: { host: 127.0.0.1, port: 0 }
cameras: []
"""


def site(folder: Path, url: str | None) -> Path:
    database = "" if url is None else f"database: {url}\n"
    (folder / "configuration.yaml").write_text(CONFIGURATION + database)
    return folder


@contextmanager
def running(folder: Path, *arguments: str, says: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command that runs, and the line by which it said that it is at work."""
    command = [sys.executable, "-c", MAIN, "--config", str(folder), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        line = ""
        while says not in line:
            line = process.stdout.readline()
            assert line, f"{arguments} ended and did not say {says!r}"
        yield process, line
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(SECONDS)
        process.stdout.close()


def names(url: str) -> set[str]:
    with psycopg.connect(url, autocommit=True) as connection:
        return {row[0] for row in connection.execute("SELECT name FROM engines").fetchall()}


def done(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", MAIN, "--config", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


@pytest.mark.parametrize("command", ["web", "engine"])
def test_a_file_is_served_by_one_process(tmp_path: Path, command: str) -> None:
    refused = done(site(tmp_path, None), command)
    assert refused.returncode == 1
    assert "PostgreSQL" in refused.stderr


def test_web_and_engines_serve_one_site_and_give_it_back(tmp_path: Path, postgres: Server) -> None:
    url = postgres.empty()
    folder = site(tmp_path, url)
    early = done(folder, "engine", "--name", "early")
    assert early.returncode == 2
    with running(folder, "web", says="is running at") as (_, greeting):
        address = greeting.split("is running at ")[1].strip()
        with running(folder, "engine", "--name", "one", says="at work"):
            assert names(url) == {"web", "one"}
            alive = done(folder, "engine", "--drain", "one")
            assert alive.returncode == 1
            assert "at work" in alive.stderr
            with running(folder, "engine", "--name", "one", says="at work"):
                pass
        with urllib.request.urlopen(address, timeout=10) as page:
            assert page.status == 200
        ends = time.monotonic() + SECONDS
        while "one" in names(url):
            assert time.monotonic() < ends
            time.sleep(0.1)
        drained = done(folder, "engine", "--drain", "one")
        assert drained.returncode == 0, drained.stderr
    assert names(url) == set()
    postgres.drop(url)


def test_an_engine_whose_name_is_taken_ends_and_says_so(tmp_path: Path, postgres: Server) -> None:
    url = postgres.database()
    folder = site(tmp_path, url)
    with (
        running(folder, "engine", "--name", "one", says="at work") as (first, _),
        running(folder, "engine", "--name", "one", says="at work") as (second, _),
    ):
        assert first.wait(SECONDS) == 2
        assert second.poll() is None
