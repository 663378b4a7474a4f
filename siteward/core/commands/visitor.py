"""A visitor of the demo who speaks to the host's own API as the pages do: makes the admin, turns the template On, plays, answers.

What it does is what a person would do, through the same routes, so it stands in the audit and on the timeline like theirs.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import aiohttp

from siteward.core.errors import SitewardError
from siteward.core.host import Host
from siteward.core.site.audit import Actor
from siteward.core.site.permissions import SiteRole

STORY_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.05
ADMIN: Final = "demo-admin"
GUARD: Final = "guard"
OVER: Final = frozenset({"done", "not_met", "failed", "unknown", "cancelled", "expired"})


class StoryFailed(SitewardError):
    """The demo's story could not be played to its end."""

    code = "demo.failed"


@dataclass(frozen=True, slots=True)
class Story:
    """What happened: what the scene shows, the run as the API gives it, and the gate's state at the end."""

    shows: str
    run: dict[str, Any]
    gate: str
    answer: str
    workflow: str
    turned_on_at: str

    @property
    def went_well(self) -> bool:
        """Whether the run ended by itself."""
        return bool(self.run["state"] == "done")

    def as_dict(self) -> dict[str, Any]:
        """The JSON of `siteward demo --once --json`."""
        return {"ok": self.went_well, "shows": self.shows, "gate": self.gate, "run": self.run}

    def timeline(self) -> list[tuple[str, str, str]]:
        """The run as lines: seconds since its start, the step, and what came of it in words."""
        began = _moment(self.run["started_at"])
        event = self.run["event"]
        lines = [
            (_moment(self.turned_on_at).strftime("%H:%M:%S"), "Turned On", f"“{self.workflow}”, by user:{ADMIN}"),
            (_moment(event["at"]).strftime("%H:%M:%S"), event["type"], f"camera {event['camera']}"),
        ]
        for step in self.run["steps"]:
            ended = step["ended_at"] or step["started_at"]
            lines.append((f"+{(_moment(ended) - began).total_seconds():.1f} s", _named(step), _result(step)))
        return lines


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _named(step: dict[str, Any]) -> str:
    """The author's name for the step, or its kind with what it acts on."""
    target = next((step["inputs"][key]["value"] for key in ("gate", "siren", "to") if key in step["inputs"]), None)
    return step["name"] or (step["kind"] if target is None else f"{step['kind']} {target}")


def _result(step: dict[str, Any]) -> str:
    """One line for a person: a model's word is told apart from what the host knows."""
    said, result = step["model"], step["result"] or {}
    if said is not None:
        sure = (
            "not measured" if said["confidence"] is None else f"{said['confidence']:.2f} ({said['confidence_source']})"
        )
        return f"{step['outcome']}. The model says: “{said['reason']}” Confidence: {sure}."
    parts = [step["status"]] if step["status"] != "done" else []
    if step["kind"] == "ask_person":
        parts.append(f"{result['by']} replied “{result['reply']}”" if result.get("by") else str(step["outcome"]))
    elif result.get("authority"):
        state = result.get("result", {}).get("state")
        parts.append(f"{state or 'done'}, allowed by {result['authority']['by'] or 'a rule'}")
    elif "message" in step["inputs"]:
        parts.append(f"“{step['inputs']['message']['value']}”")
    elif step["outcome"]:
        parts.append(str(step["outcome"]))
    return ", ".join(parts) or "done"


class Session:
    """One person's session with the API."""

    def __init__(self, http: aiohttp.ClientSession, address: str) -> None:
        self._http = http
        self._address = address
        self._csrf: str | None = None

    async def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """One request; the answer's JSON. Raises `StoryFailed` with the host's own sentence where it refuses."""
        headers = {"Origin": self._address} | ({"X-CSRF-Token": self._csrf} if self._csrf else {})
        async with self._http.request(method, f"{self._address}/api/v1{path}", json=body, headers=headers) as answer:
            told = await answer.json(content_type=None)
            if answer.status >= 400:
                raise StoryFailed(str(told.get("detail") or told.get("title") or answer.reason), where=path)
        if isinstance(told, dict) and "csrf" in told:
            self._csrf = told["csrf"]
        return told


async def play_story(host: Host, address: str, answer: str) -> Story:
    """Play the story to its end. Raises `StoryFailed`."""
    jar = aiohttp.CookieJar(unsafe=True)
    guards = aiohttp.CookieJar(unsafe=True)  # cookies of a bare address
    try:
        async with (
            asyncio.timeout(STORY_SECONDS),
            aiohttp.ClientSession(cookie_jar=jar) as one,
            aiohttp.ClientSession(cookie_jar=guards) as other,
        ):
            return await _play(host, Session(one, address), Session(other, address), answer)
    except TimeoutError:
        raise StoryFailed(f"The story did not come to its end within {STORY_SECONDS:.0f} s.") from None


async def _play(host: Host, admin: Session, guard: Session, answer: str) -> Story:
    code = await host.site.people.open_code()
    if code is None:
        raise StoryFailed("This site is set up already; the story needs a new one.")
    password = secrets.token_urlsafe(18)
    await admin.call("POST", "/setup", {"code": code, "name": ADMIN, "password": password})
    cameras = [camera.id for camera in host.site.configuration.cameras]
    await host.site.people.create(Actor(f"user:{ADMIN}"), GUARD, password, SiteRole.OPERATOR, cameras)
    await host.site.people.apply_groups()
    await guard.call("POST", "/login", {"name": GUARD, "password": password})
    workflow = (await admin.call("GET", "/workflows"))["workflows"][0]
    await admin.call("POST", f"/workflows/{workflow['id']}/state", {"state": "on", "base_version": workflow["version"]})
    turned = await admin.call("GET", f"/workflows/{workflow['id']}")
    played = await admin.call("POST", "/demo/next")
    approval = await _first_open(guard)
    replies = [one["reply"] for one in approval["replies"]]
    if answer not in replies:
        raise StoryFailed(f"The guard is asked for one of {', '.join(replies)}; {answer} is none of them.")
    await guard.call("POST", f"/approvals/{approval['id']}/reply", {"reply": answer})
    run = await _ended(admin, approval["run_id"])
    gates = (await admin.call("GET", "/gates"))["gates"]
    return Story(played["scene"], run, gates[0]["state"], answer, workflow["name"], turned["changed_at"])


async def _first_open(guard: Session) -> Any:
    while True:
        found = [one for one in (await guard.call("GET", "/approvals"))["approvals"] if one["state"] == "open"]
        if found:
            return found[0]
        await asyncio.sleep(POLL_SECONDS)


async def _ended(admin: Session, run_id: str) -> dict[str, Any]:
    while True:
        run: dict[str, Any] = await admin.call("GET", f"/runs/{run_id}")
        if run["state"] in OVER:
            return run
        await asyncio.sleep(POLL_SECONDS)
