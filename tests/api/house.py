"""A site with a real store, engine and web server; only what acts outside is scripted. Every answer is held to its route's description."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse, CookieJar, web
from jsonschema import Draft202012Validator

from siteward.core.api.app import ROUTES, make_app
from siteward.core.api.openapi import describe
from siteward.core.api.problems import CONTENT_TYPE
from siteward.core.api.routes import Route
from siteward.core.api.serving import PREFIX
from siteward.core.api.shapes import PROBLEM
from siteward.core.contract.problems import Report
from siteward.core.contract.registry import Provenance, Registry
from siteward.core.contract.validate import validate
from siteward.core.engine.engine import Engine
from siteward.core.engine.parts import Parts
from siteward.core.events.event import Event
from siteward.core.ids import TimedIds
from siteward.core.plugins.objects import Picture
from siteward.core.site.audit import HOST
from siteward.core.site.permissions import SiteRole
from siteward.core.site.services import ServicesOfSite
from siteward.core.site.site import Site
from siteward.sdk.simulated_clock import SimulatedClock
from siteward.steps import host_steps
from tests.engine.house import Looks, Outside, scripted_skills
from tests.site.building import PASSWORD, open_site

JPEG = b"\xff\xd8\xff\xe0 a picture"

CONCIERGE = """\
name: Gate concierge
when:
  detect.vehicle_in_zone: { cameras: gate, zone: drive }
then:
  - ai:
      mode: look
      prompt: What stands at the gate?
      input: picture
      decision: [delivery, other]
      delivery:
        - ask_person:
            who: role:guard
            message: "{reason}: let it in?"
            replies: [Let in, Send away]
            timeout: 2m
          Let in:
            - gate.open: { gate: gate }
          Send away:
            - log: sent away
          no_answer:
            - alert: { severity: medium, title: Nobody answered at the gate }
      other:
        - log: other
      unsure:
        - log: unsure
"""
YARD_LOG = """\
name: Yard log
when:
  detect.person_in_zone: { cameras: yard, zone: drive }
then:
  - alert: { severity: low, title: Somebody in the yard }
"""


@dataclass
class ScriptedDemo:
    """A player that accepts a vehicle at the gate."""

    house: House

    async def play_next(self) -> str:
        await self.house.vehicle()
        return "a van at the gate"


@dataclass
class House:
    """The host that the pages are given."""

    site: Site
    services: ServicesOfSite
    engine: Engine
    clock: SimulatedClock
    outside: Outside
    looks: Looks
    registry: Registry
    demo: ScriptedDemo | None = None
    gate: str = "closed"
    numbers: list[int] = field(default_factory=lambda: [0])
    address: str = ""

    def validate(self, text: str, saver: str | None) -> Report:
        return validate(text, self.registry, self.services.view(saver))

    async def gate_state(self, role: str) -> str:
        return self.gate

    async def metrics(self) -> bytes:
        return b"# nothing is counted here\n"

    async def health(self) -> Mapping[str, Any]:
        return {"ok": True, "parts": []}

    # -- arranging -----------------------------------------------------------------------------------------------------
    async def happens(self, type: str, camera: str, payload: Mapping[str, Any]) -> str | None:
        """An event with a picture arrives; the run that it made."""
        self.numbers[0] += 1
        taken = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
        picture = await self.site.media.keep(Picture(JPEG, "image/jpeg", taken, camera))
        event_id, now = f"{camera}-event-{self.numbers[0]}", self.clock.now()
        event = Event(event_id, type, "detector", Provenance.SENSOR, now, camera, payload=payload, picture=picture)
        runs = await self.engine.accept(event)
        await self.engine.drain()
        return runs[0] if runs else None

    async def vehicle(self) -> str | None:
        payload = {"zone": "drive", "seconds": 5, "label": "van", "track": f"t{self.numbers[0]}"}
        return await self.happens("detect.vehicle_in_zone", "gate-cam", payload)

    async def walker(self) -> str | None:
        return await self.happens(
            "detect.person_in_zone", "yard-cam", {"zone": "drive", "seconds": 5, "label": "person"}
        )

    async def account(self, name: str, role: SiteRole, *cameras: str) -> None:
        await self.site.people.create(HOST, name, PASSWORD, role, cameras)


@dataclass
class Answered:
    """An answer, read."""

    status: int
    headers: Mapping[str, str]
    text: str
    json: Any


class Browser:
    """Someone at the pages: keeps the cookie, sends the session's token, and holds every answer to its route's description."""

    def __init__(self, house: House, session: ClientSession) -> None:
        self._house = house
        self.session = session
        self.csrf: str | None = None

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answered:
        """Send a request below /api/v1."""
        sent = {"X-CSRF-Token": self.csrf} if self.csrf and method != "GET" else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.session.request(
            method, self._house.address + PREFIX + path, json=body, headers=sent
        ) as response:
            raw = await response.read()
        text = raw.decode(errors="replace")
        answered = Answered(
            response.status, response.headers, text, json.loads(raw) if "json" in response.content_type else None
        )
        _hold_to_description(method, path, answered, response.content_type)
        return answered

    async def get(self, path: str) -> Any:
        """The JSON of a GET that must succeed."""
        answered = await self.ask("GET", path)
        assert answered.status == 200, answered.text
        return answered.json

    async def post(self, path: str, body: Any = None, *, method: str = "POST") -> Any:
        """The JSON of a write that must succeed."""
        answered = await self.ask(method, path, body)
        assert answered.status in (200, 201), answered.text
        return answered.json

    async def log_in(self, name: str) -> Browser:
        self.csrf = (await self.post("/login", {"name": name, "password": PASSWORD}))["csrf"]
        return self

    async def live(self, last: int | None = None, origin: str | None = None) -> ClientWebSocketResponse:
        """Open the live stream."""
        address = self._house.address + PREFIX + "/live" + ("" if last is None else f"?last={last}")
        return await self.session.ws_connect(address, origin=origin or self._house.address)


def route_of(method: str, path: str) -> Route | None:
    """The route behind an address, fixed addresses before patterns."""
    plain = path.split("?")[0]
    own = [route for route in ROUTES if route.method == method]
    exact = [route for route in own if route.path == plain]
    patterns = [r for r in own if re.fullmatch(re.sub(r"{\w+}", "[^/]+", r.path), plain)]
    return next(iter(exact + patterns), None)


DESCRIPTION = describe(ROUTES)


def _hold_to_description(method: str, path: str, answered: Answered, content_type: str) -> None:
    route = route_of(method, path)
    if route is None:
        return
    documented = DESCRIPTION["paths"][PREFIX + route.path][method.lower()]["responses"]
    assert str(answered.status) in documented, f"{method} {path} answers {answered.status}, which is not described"
    if content_type == CONTENT_TYPE:
        Draft202012Validator(dict(PROBLEM)).validate(answered.json)
        assert answered.json["status"] == answered.status
    elif answered.json is not None:
        Draft202012Validator(dict(route.gives)).validate(answered.json)


@asynccontextmanager
async def open_house(folder: Path, *, demo: bool = True) -> AsyncIterator[House]:
    """A house that is served on loopback."""
    clock, outside, looks = SimulatedClock(), Outside(), Looks()
    skills = scripted_skills(outside, looks)
    async with open_site(folder, clock) as site:
        random = Random(2)
        services = ServicesOfSite(site)
        parts = Parts(
            store=site.store,
            skills=skills,
            host_steps=host_steps(),
            site=services,
            host=_Pictures(site),  # type: ignore[arg-type]
            clock=clock,
            ids=TimedIds(clock, random),
            random=random,
            validate=lambda text, registry, view: validate(text, registry, view),
        )
        engine = Engine(parts)
        await engine.start()
        house = House(site, services, engine, clock, outside, looks, skills.registry)
        house.demo = ScriptedDemo(house) if demo else None
        runner = web.AppRunner(make_app(house), access_log=None, shutdown_timeout=1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            host, port = runner.addresses[0][:2]
            house.address = f"http://{host}:{port}"
            yield house
        finally:
            await runner.cleanup()
            await engine.stop()


@dataclass
class _Pictures:
    """What the scripted modes may use of a host: its kept pictures."""

    site: Site

    async def stored_picture(self, media_id: str) -> Picture:
        return await self.site.media.read(media_id)


@asynccontextmanager
async def browser(house: House, name: str | None = None) -> AsyncIterator[Browser]:
    """A browser of its own, logged in as `name` if one is given."""
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
        made = Browser(house, session)
        yield made if name is None else await made.log_in(name)
