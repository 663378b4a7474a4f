"""What is wrong with a site, from its folder to its waits, each with what to do. Looks and changes nothing, whether a host runs or not."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from siteward.core.engine.leases import living
from siteward.core.host import Host
from siteward.core.site.configuration_yaml import SECRETS_FILE
from siteward.core.site_folder import CONFIGURATION, DATABASE
from siteward.core.store.check import LATE_SECONDS, Finding, Grade
from siteward.core.store.retention import DAY, KEPT_DAYS
from siteward.core.store.store import Store

LEAST_FREE: Final = 512 * 1024 * 1024
"""Bytes free on the disk below which a busy site fills it within days."""
LARGE_WAL: Final = 256 * 1024 * 1024
"""Bytes of the `-wal` file that no writer lets it grow to unless a reader stays open."""
MANY_UPDATES: Final = 2_000_000
OLDEST_CLOCK: Final = 1_735_689_600.0
"""2025-01-01. A clock before this was never set."""
AHEAD_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class Life:
    """Whether a host runs on the site (`process`, None where none does), and whether its address answers."""

    process: str | None
    address: str
    answers: bool


def look_at_folder(folder: Path, now: float) -> Iterator[Finding]:
    """The folder, its files and the disk below it."""
    if not os.access(folder, os.W_OK | os.X_OK):
        yield Finding(
            "folder.unwritable",
            Grade.WRONG,
            f"{folder} cannot be written by this user.",
            "Run the host as the user who owns the folder, or give it to this one (chown -R).",
        )
    for name in (SECRETS_FILE, DATABASE):
        file = folder / name
        if file.is_file() and file.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH):
            yield Finding(
                "folder.readable_by_all",
                Grade.WARNING,
                f"{name} can be read by every user of this machine.",
                f"chmod 600 {file}",
            )
    free = shutil.disk_usage(folder).free
    if free < LEAST_FREE:
        yield Finding(
            "disk.full",
            Grade.WRONG if free < LEAST_FREE / 8 else Grade.WARNING,
            f"The disk of {folder} has {free // 2**20} MiB free.",
            "Make room, or `siteward prune --older-than 7d`. On a full disk no event is accepted and nothing moves.",
        )
    wal = _size(folder / f"{DATABASE}-wal")
    if wal > LARGE_WAL:
        yield Finding(
            "database.wal",
            Grade.WARNING,
            f"{DATABASE}-wal has {wal // 2**20} MiB: somebody holds an old view of the database open.",
            "Wait for a backup that is under way; else end what else reads the file (another tool), and restart the host.",
        )
    if now < OLDEST_CLOCK:
        yield Finding(
            "clock.unset",
            Grade.WRONG,
            "The clock of this machine was never set.",
            "Set it, and let a time server keep it (systemd-timesyncd, chrony). Until then schedules and ages mean nothing.",
        )


def look_at_life(life: Life) -> Iterator[Finding]:
    """Whether the host runs and can be reached."""
    if life.process is None:
        yield Finding("host.stopped", Grade.NOTE, "No host runs on this site now.", "Start it with `siteward run`.")
    elif life.address and not life.answers:
        yield Finding(
            "host.silent",
            Grade.WRONG,
            f"The host (process {life.process}) runs and does not answer at {life.address}.",
            "Look at its log. If it says nothing for a minute, restart it: nothing is lost by that.",
        )


def look_at_processes(at_work: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Whether a site of several processes has those that it needs; `at_work` as `engine.leases.living` gives them."""
    if not at_work:
        yield Finding(
            "host.stopped",
            Grade.NOTE,
            "No process of this site is at work.",
            "Start `siteward web` and at least one `siteward engine`, or `siteward run`.",
        )
    elif not any(one["drives"] for one in at_work):
        yield Finding(
            "engine.none",
            Grade.WRONG,
            "No engine is at work: what happens is kept, and nobody acts on it.",
            "Start one with `siteward engine --name NAME`. Events that become too old until then start nothing.",
        )


async def look_at_parts(host: Host, *, running: bool) -> list[Finding]:
    """Integrations, models, cameras and gates, as a host that started now would find them. A thing that does not answer while no host runs may be
    one that the host itself brings (the gate of the demo)."""
    configuration = host.site.configuration
    things = {*configuration.gates, *(camera.id for camera in configuration.cameras)}
    found = []
    for part in (await host.health())["parts"]:
        if part["ok"]:
            continue
        thing = part["name"] in things
        grade = Grade.WARNING if thing and not running else Grade.WRONG
        what = f"{part['name']}: {part['sentence']}"
        found.append(
            Finding("thing.not_ready" if thing else "part.not_ready", grade, what, _do(thing=thing, running=running))
        )
    return found


def _do(*, thing: bool, running: bool) -> str:
    if not thing:
        return f"Correct what the sentence names (most of it stands in {CONFIGURATION}) and start the host again."
    if running:
        return f"Look at the thing itself and at its address in {CONFIGURATION}."
    return f"Look at the thing itself and at its address in {CONFIGURATION}. The demo's gate answers only while its host runs."


async def look_at_rows(store: Store, now: float, *, running: bool) -> list[Finding]:
    """Workflows, waits, events and updates. Raises `ReadFailed`."""
    found = [*await _workflows(store), *await _clock(store, now), *await _growth(store, now)]
    if not (await store.fetch("SELECT count(*) AS found FROM users WHERE role = 'admin'"))[0]["found"]:
        found.append(
            Finding(
                "people.no_admin",
                Grade.NOTE,
                "The site has no account yet.",
                "`siteward run` prints a one-time code; open its address and make the first admin with it.",
            )
        )
    late = {"before": now - LATE_SECONDS}
    waits = "SELECT count(*) AS found FROM waits w LEFT JOIN workflow_runs r ON r.id = w.run_id WHERE w.state = 'open' AND w.due_at < :before "
    overdue = (await store.fetch(waits + "AND (w.run_id IS NULL OR r.state = 'waiting')", late))[0]["found"]
    events = "SELECT count(*) AS found FROM events WHERE matched IS NULL AND accepted_at < :before"
    unmatched = (await store.fetch(events, late))[0]["found"]
    if running:
        found += _late(overdue, unmatched)
    elif overdue or unmatched:
        what = f"{overdue} waits are due and {unmatched} events are not matched yet."
        found.append(
            Finding(
                "engine.behind", Grade.NOTE, what, "The host does it when it starts; moves among them have expired."
            )
        )
    return found


def _late(overdue: int, unmatched: int) -> Iterable[Finding]:
    do = "Look at the host's log for what holds it up; restart it if it says nothing. Nothing that is late moves anything."
    if overdue:
        yield Finding(
            "engine.waits_late", Grade.WRONG, f"{overdue} waits are due for minutes and the host did not fire them.", do
        )
    if unmatched:
        yield Finding(
            "engine.events_late", Grade.WRONG, f"{unmatched} accepted events wait for minutes for their runs.", do
        )


async def _workflows(store: Store) -> list[Finding]:
    rows = await store.fetch(
        "SELECT name, attention FROM workflows WHERE attention IS NOT NULL AND state <> 'off' ORDER BY name"
    )
    found = []
    for row in rows:
        why = orjson.loads(row["attention"])
        sentence = str(why.get("sentence", ""))
        what = f"The workflow “{row['name']}” needs attention: {sentence}"
        found.append(
            Finding("workflow.attention", Grade.WRONG, what, "It takes events again by itself once that is mended.")
        )
    return found


async def _clock(store: Store, now: float) -> list[Finding]:
    newest = (
        await store.fetch("SELECT max(started_at) AS newest FROM workflow_runs WHERE state IN ('running', 'waiting')")
    )[0]["newest"]
    last = (await store.fetch("SELECT max(at) AS newest FROM outbox WHERE id = (SELECT max(id) FROM outbox)"))[0][
        "newest"
    ]
    ahead = max(newest or 0.0, last or 0.0) - now
    if ahead <= AHEAD_SECONDS:
        return []
    return [
        Finding(
            "clock.went_back",
            Grade.WRONG,
            f"The newest rows are {_for_how_long(ahead)} ahead of this machine's clock: it was set back, or was wrong before.",
            "Check the clock and its time server. Until it has caught up, cooldowns and schedules keep to the later time.",
        )
    ]


async def _growth(store: Store, now: float) -> list[Finding]:
    found = []
    updates = (await store.fetch("SELECT min(id) AS first, max(id) AS last FROM outbox"))[0]
    if updates["last"] is not None and updates["last"] - updates["first"] > MANY_UPDATES:
        found.append(
            Finding(
                "outbox.growth",
                Grade.WARNING,
                f"{updates['last'] - updates['first']} live updates are kept: what is old does not leave.",
                "`siteward prune` now. The host prunes once a day, an hour after its start, while its two clocks agree.",
            )
        )
    oldest = (await store.fetch("SELECT min(id) AS id FROM workflow_runs WHERE state NOT IN ('running', 'waiting')"))[
        0
    ]["id"]
    ended = (
        None
        if oldest is None
        else (await store.fetch("SELECT ended_at FROM workflow_runs WHERE id = :id", {"id": oldest}))
    )
    if ended and ended[0]["ended_at"] is not None and ended[0]["ended_at"] < now - (KEPT_DAYS + 10) * DAY:
        found.append(
            Finding(
                "retention.behind",
                Grade.WARNING,
                f"Runs that ended {_for_how_long(now - ended[0]['ended_at'])} ago are still there.",
                "`siteward prune`. A host that runs for more than an hour does it by itself.",
            )
        )
    return found


async def read_status(store: Store, now: float) -> dict[str, Any]:
    """The site in a few numbers; of a database on a server also who is at work on it, and its size there. Raises `ReadFailed`."""
    server: dict[str, Any] = {}
    if store.shared:
        (size,) = await store.fetch("SELECT pg_database_size(current_database()) AS bytes")
        at_work = [{"name": one["name"], "engine": one["drives"]} for one in await living(store)]
        server = {"at_work": at_work, "database_bytes": size["bytes"]}
    switched = await store.fetch(
        "SELECT state, count(*) AS found, count(attention) AS wrong FROM workflows GROUP BY state"
    )
    alive = await store.fetch(
        "SELECT state, count(*) AS found FROM workflow_runs WHERE state IN ('running', 'waiting') GROUP BY state"
    )
    day = await store.fetch(
        "SELECT r.state, count(*) AS found FROM workflows w JOIN workflow_runs r ON r.workflow_id = w.id AND r.started_at > :day "
        "WHERE r.mode IN ('on', 'test') GROUP BY r.state",
        {"day": now - DAY},
    )
    asked = "SELECT count(*) AS found FROM workflow_approvals WHERE state = 'open' AND NOT rehearsal"
    last = await store.fetch("SELECT at FROM outbox ORDER BY id DESC LIMIT 1")
    return {
        "workflows": {row["state"]: row["found"] for row in switched},
        "need_attention": sum(row["wrong"] for row in switched if row["state"] != "off"),
        "runs_alive": {row["state"]: row["found"] for row in alive},
        "runs_of_a_day": {row["state"]: row["found"] for row in day},
        "questions": (await store.fetch(asked))[0]["found"],
        "last_change_seconds_ago": None if not last else round(now - last[0]["at"], 1),
        **server,
    }


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _for_how_long(seconds: float) -> str:
    for unit, name in ((DAY, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} seconds"
