"""Real engines on a real PostgreSQL under load, killed and frozen at random: every run ends once, and the gate opens at most once and never late."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.postgres import Server

from .checks import violations
from .life import ASKING, STORY, WEB
from .several import Several

ROOT = Path(__file__).parents[2]
EVENTS = 300
KILLS = 8
SEED = 20261130
PATIENCE_SECONDS = 150.0


class Lives:
    """The processes of a site."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        command = [
            sys.executable,
            "-W",
            "error",
            "-m",
            "tests.replicas.life",
            name,
            self.url,
            str(self.folder),
            str(EVENTS),
        ]
        with (self.folder / f"{name}.err").open("ab") as said:
            self.running[name] = subprocess.Popen(command, cwd=ROOT, stderr=said)

    def send(self, name: str, number: signal.Signals) -> None:
        self.running[name].send_signal(number)

    def kill(self, name: str) -> None:
        process = self.running.pop(name)
        process.kill()
        process.wait()

    def ask(self, query: str) -> int:
        with psycopg.connect(self.url, autocommit=True) as connection:
            row = connection.execute(query).fetchone()  # a test's own words
        return int(row[0]) if row else 0

    def until(self, true: Callable[[], bool]) -> None:
        ends = time.monotonic() + PATIENCE_SECONDS
        while not true():
            assert time.monotonic() < ends, self.said()
            for name, process in self.running.items():
                assert process.poll() is None, f"{name} ended by itself: {self.said()}"
            time.sleep(0.1)

    def said(self) -> str:
        return "\n".join(f"{file.name}: {file.read_text()[-1500:]}" for file in self.folder.glob("*.err"))

    def over(self) -> bool:
        left = "SELECT count(*) FROM workflow_runs WHERE state IN ('running', 'waiting')"
        unmatched = "SELECT count(*) FROM events WHERE matched IS NULL"
        return (self.folder / "sent").exists() and self.ask(left) == 0 and self.ask(unmatched) == 0

    def end(self) -> None:
        (self.folder / "over").touch()
        for process in self.running.values():
            assert process.wait(60) == 0, self.said()


@pytest.fixture
async def lives(tmp_path: Path, postgres: Server) -> Lives:
    """A site with its workflows On, and nobody at work."""
    url = postgres.database()
    several = Several(tmp_path, url)
    house = await several.engine("first")
    house.site.approved = frozenset({"destination:ticketing"})
    for text in (STORY, ASKING):
        await house.save(text)
    await several.close()
    return Lives(tmp_path, url)


def test_engines_that_are_killed_at_random_keep_every_promise(lives: Lives) -> None:
    by_chance = random.Random(SEED)
    for name in (WEB, "a", "b"):
        lives.start(name)
    for _ in range(KILLS):
        before = lives.ask("SELECT count(*) FROM workflow_runs")
        goal = min(before + by_chance.randrange(10, 40), EVENTS)
        lives.until(lambda goal=goal: lives.ask("SELECT count(*) FROM workflow_runs") >= goal)  # type: ignore[misc]
        time.sleep(by_chance.random() / 5)
        name = by_chance.choice("ab")
        lives.kill(name)
        lives.start(name)
    lives.until(lives.over)
    lives.end()
    assert violations(lives.folder, lives.url, EVENTS) == []


def test_an_engine_that_was_frozen_under_load_loses_its_runs_and_moves_nothing_late(lives: Lives) -> None:
    for name in (WEB, "a", "b"):
        lives.start(name)
    lives.until(lambda: (lives.folder / "relay.log").exists())
    mine = "SELECT count(*) FROM workflow_runs r JOIN engines e ON e.id = r.lease_owner WHERE e.name = 'a' AND r.state = 'running'"
    lives.until(lambda: lives.ask(mine) > 0)
    lives.send("a", signal.SIGSTOP)
    lives.until(lives.over)
    lives.send("a", signal.SIGCONT)
    time.sleep(1.0)
    lives.end()
    assert violations(lives.folder, lives.url, EVENTS) == []
