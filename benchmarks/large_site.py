"""A site of 200 cameras whose workflows are real files, and the events that its cameras send.

`watching(count)` is the usual site: 50 of the workflows are each started by one kind of event of one camera (42 runs a second at five events a second and
camera); all further ones listen to the same cameras and are never started: half of them ask for another zone, half for a kind of event that does not come. So
what a site with 5,000 workflows costs more than one with 50 is the cost of workflows that do not want an event. `matching()` is the busiest: one workflow per
camera, and every event starts a run.
"""

from __future__ import annotations

import hashlib
import itertools
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from siteward.core.clock import SystemClock
from siteward.core.contract.registry import Provenance, SiteView
from siteward.core.events.event import Event
from tests.engine.house import House, Site, migrated

CAMERAS = 200
STARTED = 50
ZONED = ("detect.vehicle_in_zone", "detect.person_in_zone", "detect.zone_empty")
SENT = (*ZONED, "detect.line_crossed", "doorbell", "camera.online")
NEVER_SENT = "camera.offline"
_FILE = """
contract: workflow.v1
name: {name}
limits: {{ cooldown: 0s, one_at_a_time: track, per_hour: 100000 }}
when:
  {kind}: {{ {settings} }}
if:
  - site_mode: [disarmed]
then:
  - log: "seen"
"""


@dataclass
class LargeSite(Site):
    """Each camera fills a role: `cam-7` that of `place_7`."""

    def cameras_of(self, role: str) -> frozenset[str]:
        return frozenset({role.replace("place_", "cam-")})

    def roles_of(self, camera: str | None) -> frozenset[str]:
        return frozenset() if camera is None else frozenset({camera.replace("cam-", "place_")})

    def view(self, saver: str | None) -> SiteView:
        cameras = frozenset(f"place_{number}" for number in range(CAMERAS))
        return SiteView({"camera": cameras, "zone": frozenset({"apron", "lawn"})}, cameras)


def _file(number: int, kind: str, camera: int, zone: str) -> str:
    settings = f"cameras: [place_{camera}]" + (f", zone: {zone}" if kind in ZONED else "")
    return _FILE.format(name=f"Number {number}", kind=kind, settings=settings)


def watching(count: int) -> Iterator[str]:
    """The files of a site with so many workflows."""
    for number in range(min(count, STARTED)):
        yield _file(number, SENT[number % len(SENT)], number * CAMERAS // STARTED, "apron")
    for number in range(STARTED, count):
        kind = ZONED[number % len(ZONED)] if number % 2 else NEVER_SENT
        yield _file(number, kind, number % CAMERAS, "lawn")


def matching() -> Iterator[str]:
    """The files of a site where every vehicle starts a run."""
    for number in range(CAMERAS):
        yield _file(number, ZONED[0], number, "apron")


def sent(kinds: tuple[str, ...] = SENT) -> Iterator[Event]:
    """What the cameras send, one after the other, each kind in turn, for ever."""
    clock = SystemClock()
    for number in itertools.count():
        turn, camera = divmod(number, CAMERAS)
        kind = kinds[(turn + camera) % len(kinds)]
        payload = {"zone": "apron", "seconds": 5, "label": "car", "track": f"t{number}"}
        yield Event(
            f"e{clock.now().timestamp():.6f}-{number}",
            kind,
            "detector",
            Provenance.SENSOR,
            clock.now(),
            f"cam-{camera}",
            payload=payload,
        )


def with_workflows(folder: Path, files: Iterable[str]) -> House:
    """A house over a database with these workflows On, not yet opened. They are written as rows: saving 5,000 of them one by one is not what is
    measured. A database that is there already keeps its past."""
    database = folder / "site.db"
    if not database.exists():
        database.write_bytes(migrated())
    with sqlite3.connect(database) as connection:
        for number, text in enumerate(files):
            digest = hashlib.sha256(text.encode()).hexdigest()
            connection.execute(
                "INSERT INTO workflows (id, name, state, version, source, created_at, changed_at) VALUES (?, ?, 'on', 1, 'site', 0, 0)",
                (f"w{number:05}", f"Number {number}"),
            )
            connection.execute(
                'INSERT INTO workflow_versions (workflow_id, version, text, sha256, "by", at) VALUES (?, 1, ?, ?, ?, 0)',
                (f"w{number:05}", text, digest, "user:admin"),
            )
    connection.close()
    house = House(folder)
    house.clock = SystemClock()  # type: ignore[assignment]
    house.site = LargeSite()
    return house
