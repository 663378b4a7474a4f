"""Setting up by the one-time code, logging in and out."""

import asyncio
import io
from pathlib import Path

import pytest

from siteward.core.site.throttle import FREE_FAILURES
from tests.site.building import PASSWORD

from .conftest import Visitors
from .house import House, browser, open_house


async def test_the_first_visitor_sets_up_with_the_code_and_is_logged_in(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, browser(house) as visitor:
        assert (await visitor.get("/session")) == {"me": None, "setup": True}
        code = await house.site.people.open_code()
        me = await visitor.post("/setup", {"code": code, "name": "anna", "password": PASSWORD})
        assert me["person"]["role"] == "admin"
        assert "site.admin" in me["permissions"]
        assert (await visitor.get("/session"))["me"]["person"]["name"] == "anna"


async def test_of_many_who_set_up_at_once_one_gets_in(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        code = await house.site.people.open_code()

        async def claim(name: str) -> int:
            async with browser(house) as visitor:
                body = {"code": code, "name": name, "password": PASSWORD}
                return (await visitor.ask("POST", "/setup", body)).status

        statuses = await asyncio.gather(*(claim(f"person{number}") for number in range(6)))
        assert sorted(statuses) == [200, 403, 403, 403, 403, 403]
        assert len(await house.site.people.everyone()) == 1


async def test_a_wrong_code_is_refused_and_guessing_is_slowed_down(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, browser(house) as visitor:
        body = {"code": "AAAA-AAAA-AAAA", "name": "eve", "password": PASSWORD}
        statuses = [(await visitor.ask("POST", "/setup", body)).status for _ in range(FREE_FAILURES + 1)]
        assert statuses == [403] * FREE_FAILURES + [429]


async def test_failed_log_ins_say_one_thing_and_are_slowed_down(house: House, visit: Visitors) -> None:
    nobody = await visit()
    answers = [await nobody.ask("POST", "/login", {"name": name, "password": "x"}) for name in ("anna", "nobody")]
    assert [(a.status, a.json["detail"]) for a in answers] == [(401, "The name or the password is not right.")] * 2
    for _ in range(FREE_FAILURES - 2):
        await nobody.ask("POST", "/login", {"name": "anna", "password": "x"})
    slowed = await nobody.ask("POST", "/login", {"name": "anna", "password": PASSWORD})
    assert slowed.status == 429
    assert int(slowed.headers["Retry-After"]) > 0


async def test_logging_out_ends_the_session(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    cookies = {cookie.key: cookie.value for cookie in anna.session.cookie_jar}
    await anna.post("/logout")
    anna.session.cookie_jar.update_cookies(cookies)
    assert (await anna.ask("GET", "/me")).status == 401


async def test_an_admin_makes_and_closes_accounts(house: House, visit: Visitors) -> None:
    anna = await visit("anna")
    made = {"name": "ben", "password": PASSWORD, "role": "viewer", "cameras": ["gate-cam"]}
    assert (await anna.ask("POST", "/people", made)).status == 201
    assert (await anna.ask("POST", "/people", made)).status == 409
    ben = await visit("ben")
    assert [c["id"] for c in (await ben.get("/cameras"))["cameras"]] == ["gate-cam"]
    await anna.post("/people/ben", method="DELETE")
    assert (await ben.ask("GET", "/me")).status == 401
    assert (await anna.ask("DELETE", "/people/ben")).status == 404
    assert (await anna.ask("DELETE", "/people/anna")).status == 403


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"name": "anna"}, 400, "request.invalid"),
        ({"name": "anna", "password": PASSWORD, "role": "admin"}, 400, "request.invalid"),
        ({"name": 1, "password": PASSWORD}, 400, "request.invalid"),
        ([], 400, "request.invalid"),
        ({"name": "a" * 41, "password": "x"}, 400, "request.invalid"),
    ],
)
async def test_a_body_that_is_not_as_described_is_refused(
    house: House, visit: Visitors, body: object, status: int, code: str
) -> None:
    answered = await (await visit()).ask("POST", "/login", body)
    assert (answered.status, answered.json["code"]) == (status, code)


async def test_what_is_no_json_or_too_large_is_refused(house: House, visit: Visitors) -> None:
    nobody = await visit()
    address = house.address + "/api/v1/login"
    async with nobody.session.post(address, data=b"name=anna") as response:
        assert response.status == 415
    async with nobody.session.post(address, data=b"{", headers={"Content-Type": "application/json"}) as response:
        assert response.status == 400
    async with nobody.session.post(
        address, data=io.BytesIO(b" " * 2**21), headers={"Content-Type": "application/json"}
    ) as response:
        assert response.status == 413
    async with nobody.session.put(address) as response:
        assert (response.status, response.headers["Allow"]) == (405, "POST")


async def test_guesses_sent_at_once_are_slowed_down_like_those_sent_in_turn(house: House, visit: Visitors) -> None:
    nobody = await visit()
    body = {"name": "anna", "password": "x"}
    answers = await asyncio.gather(*(nobody.ask("POST", "/login", body) for _ in range(40)))
    assert sum(answer.status == 401 for answer in answers) == FREE_FAILURES
    assert sum(answer.status == 429 for answer in answers) == 40 - FREE_FAILURES


async def test_a_right_code_with_a_weak_password_is_no_guess(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, browser(house) as visitor:
        code = await house.site.people.open_code()
        body = {"code": code, "name": "anna", "password": "short"}
        statuses = {(await visitor.ask("POST", "/setup", body)).status for _ in range(FREE_FAILURES + 2)}
        assert statuses == {422}
