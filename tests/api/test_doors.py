"""Every route with every role; and what a person who does not see a camera learns of it: nothing."""

import asyncio
import re
from pathlib import Path

import pytest

from siteward.core.api.app import ROUTES
from siteward.core.api.routes import Route
from siteward.core.api.security import HEADERS
from siteward.core.api.serving import PREFIX
from siteward.core.site.permissions import HOLDERS, Permission, SiteRole
from tests.site.building import PASSWORD

from .conftest import Visitors
from .house import CONCIERGE, YARD_LOG, House, browser, open_house

PUBLIC = {("GET", "/session"), ("POST", "/setup"), ("POST", "/login"), ("GET", "/alive")}
PEOPLE = {SiteRole.ADMIN: "anna", SiteRole.OPERATOR: "gina", SiteRole.VIEWER: "vera"}


def filled(route: Route) -> str:
    return re.sub(r"{\w+}", "nothing-of-this-name", route.path)


def test_exactly_these_routes_are_public() -> None:
    assert {(route.method, route.path) for route in ROUTES if route.permission is None} == PUBLIC


def test_every_permission_guards_a_route() -> None:
    assert {route.permission for route in ROUTES} - {None} == set(Permission)


def test_what_writes_is_never_open_to_viewers() -> None:
    writes = {
        route.path for route in ROUTES if route.writes and route.permission in (Permission.VIEW, Permission.SIGNED_IN)
    }
    assert writes == {"/logout", "/workflows/validate"}


async def test_nobody_gets_through_a_door_without_logging_in(house: House, visit: Visitors) -> None:
    nobody = await visit()
    for route in ROUTES:
        if route.permission is None:
            continue
        answered = await nobody.ask(route.method, filled(route), {} if route.body is not None else None)
        assert (answered.status, answered.json["code"]) == (401, "session.missing"), route.path
    socket = await nobody.session.get(house.address + PREFIX + "/live")
    assert socket.status == 401


@pytest.mark.parametrize("role", list(SiteRole))
async def test_every_door_opens_to_whom_the_table_says(house: House, visit: Visitors, role: SiteRole) -> None:
    person = await visit(PEOPLE[role])
    for route in sorted(ROUTES, key=lambda route: route.path == "/logout"):
        if route.permission is None:
            continue
        answered = await person.ask(route.method, filled(route), {} if route.body is not None else None)
        refused = answered.status == 403 and answered.json["code"] == "not_allowed"
        assert refused is (role not in HOLDERS[route.permission]), (
            f"{role} at {route.method} {route.path}: {answered.text}"
        )


async def test_a_write_without_the_sessions_token_is_refused(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    anna.csrf = None
    for route in ROUTES:
        if route.writes and route.permission is not None:
            answered = await anna.ask(route.method, filled(route), {} if route.body is not None else None)
            assert (answered.status, answered.json["code"]) == (403, "csrf.missing"), route.path


async def test_another_persons_token_does_not_help(house: House, visit: Visitors) -> None:
    anna, gina = await visit("anna"), await visit("gina")
    anna.csrf = gina.csrf
    assert (await anna.ask("PUT", "/site/mode", {"mode": "armed_home"})).json["code"] == "csrf.missing"


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
async def test_a_page_of_another_origin_cannot_write(house: House, visit: Visitors, origin: str) -> None:
    anna = await visit("anna")
    answered = await anna.ask("PUT", "/site/mode", {"mode": "armed_home"}, Origin=origin)
    assert (answered.status, answered.json["code"]) == (403, "origin.foreign")
    nobody = await visit()
    answered = await nobody.ask("POST", "/login", {"name": "anna", "password": PASSWORD}, Origin=origin)
    assert answered.json["code"] == "origin.foreign"
    assert await house.services.site_mode() == "disarmed"


async def test_every_answer_carries_the_security_headers(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    index = await anna.session.get(house.address + "/")
    version = re.search(r"/ui/([0-9a-f]+)/", await index.text())
    assert version is not None
    pages = [
        "/",
        f"/ui/{version[1]}/app/main.js",
        "/ui/none/app/main.js",
        "/nowhere",
        PREFIX + "/me",
        PREFIX + "/nowhere",
    ]
    for page in pages:
        response = await anna.session.get(house.address + page)
        for name, value in HEADERS.items():
            assert response.headers[name] == value, page
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


async def test_the_session_cookie_is_out_of_reach_of_scripts_and_other_sites(house: House, visit: Visitors) -> None:
    nobody = await visit()
    answered = await nobody.ask("POST", "/login", {"name": "anna", "password": PASSWORD})
    cookie = answered.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie
    assert answered.headers["Cache-Control"] == "no-store"


async def test_who_lacks_the_camera_learns_nothing_of_it(house: House, visit: Visitors) -> None:
    anna, gina, vera, olaf = await visit("anna"), await visit("gina"), await visit("vera"), await visit("olaf")
    for text in (CONCIERGE, YARD_LOG):
        saved = await anna.post("/workflows", {"text": text})
        await anna.post(f"/workflows/{saved['id']}/state", {"state": "on", "base_version": 1})
    streams = {name: await person.live() for name, person in (("vera", vera), ("olaf", olaf), ("gina", gina))}
    run, yard_run = await house.vehicle(), await house.walker()
    assert run is not None and yard_run is not None
    (ask,) = (await gina.get("/approvals"))["approvals"]
    workflow = ask["workflow_id"]
    secrets = (run, ask["id"], ask["picture"], "a parcel van", "gate-cam-event")
    everything = (
        "/workflows", f"/workflows/{workflow}/runs", "/runs", f"/runs/{run}", "/approvals", f"/approvals/{ask['id']}",
        "/alerts", "/gates", "/cameras", f"/media/{ask['picture']}", "/health",
    )  # fmt: skip
    for person in (vera, olaf):
        for path in everything:
            answered = await person.ask("GET", path)
            own = path.rsplit("/", 1)[-1]
            for secret in secrets:
                assert secret not in answered.text.replace(own, ""), (path, secret)
        assert [r["id"] for r in (await person.get("/runs"))["runs"]] == [yard_run]
        assert (await person.get("/workflows"))["workflows"][0]["asks"] == 0
    assert (await olaf.ask("POST", f"/approvals/{ask['id']}/reply", {"reply": "Let in"})).status == 404
    assert (await olaf.ask("POST", f"/runs/{run}/cancel")).status == 404
    assert (await olaf.ask("POST", f"/workflows/{workflow}/try", {"event_ids": ["gate-cam-event-1"]})).status == 404
    told = {name: await _drained(stream) for name, stream in streams.items()}
    assert run in told["gina"] and yard_run not in told["gina"]
    for name in ("vera", "olaf"):
        assert yard_run in told[name]
        assert not [secret for secret in secrets if secret in told[name]]


async def _drained(stream: object) -> str:
    texts = []
    while True:
        try:
            texts.append(await asyncio.wait_for(stream.receive_str(), 0.3))  # type: ignore[attr-defined]
        except TimeoutError:
            return "\n".join(texts)


async def test_no_address_of_the_demo_exists_on_a_real_site(tmp_path: Path) -> None:
    async with open_house(tmp_path, demo=False) as house:
        await house.account("anna", SiteRole.ADMIN)
        async with browser(house, "anna") as anna:
            assert (await anna.ask("POST", "/demo/next")).status == 404


async def test_bytes_that_are_no_text_open_nothing_and_break_nothing(house: House, visit: Visitors) -> None:
    """Headers as no browser sends them, on a plain connection; afterwards the site answers and writes as before."""
    anna = await visit("anna")
    port = int(house.address.rsplit(":", 1)[1])
    cookies = "; ".join(f"{cookie.key}={cookie.value}" for cookie in anna.session.cookie_jar).encode()
    for lines in (
        b"Cookie: siteward_session=\xff\xfe\r\n",
        b"Cookie: %b\r\nX-CSRF-Token: \xff\xfe\r\n" % cookies,
        b"Cookie: %b\r\nX-CSRF-Token: %b\r\nIdempotency-Key: \xff\xfe\r\n" % (cookies, (anna.csrf or "").encode()),
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = b'{"mode":"disarmed"}'
        writer.write(
            b"PUT /api/v1/site/mode HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
            b"Connection: close\r\nContent-Length: %d\r\n%b\r\n%b" % (port, len(body), lines, body)
        )
        async with asyncio.timeout(5):
            status = (await reader.readline()).split()[1]
        writer.close()
        assert status in (b"400", b"401", b"403"), status
    assert (await anna.ask("PUT", "/site/mode", {"mode": "disarmed"})).status == 200
