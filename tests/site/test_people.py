"""Accounts and sessions: one first admin, whoever comes second; a session ends when it should."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import func, select

from siteward.core.errors import AuthFailed, Conflict, NotAllowed
from siteward.core.site.audit import HOST
from siteward.core.site.passwords import WeakPassword
from siteward.core.site.people import BadName, SetupClosed
from siteward.core.site.permissions import SiteRole
from siteward.core.site.sessions import LIFETIME_SECONDS
from siteward.core.site.throttle import FREE_FAILURES, WINDOW_SECONDS, Throttle, TooManyAttempts
from siteward.core.store.errors import LostRace
from siteward.core.store.schema import audit, sessions, users

from .building import PASSWORD, StandingClock, open_site, someone


async def test_the_first_visitor_with_the_code_becomes_admin(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        code = await site.people.open_code()
        assert code is not None
        person = await site.people.claim_first_admin(f" {code.lower()} ", "anna", PASSWORD, "10.0.0.1")
        assert person.role is SiteRole.ADMIN
        assert person.sees("any-camera")
        assert await site.people.open_code() is None


async def test_a_second_claim_is_refused_even_with_the_right_code(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        code = await site.people.open_code()
        assert code is not None
        await site.people.claim_first_admin(code, "anna", PASSWORD, None)
        with pytest.raises(SetupClosed):
            await site.people.claim_first_admin(code, "eve", PASSWORD, None)


async def test_two_claims_at_the_same_moment_make_one_admin(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        code = await site.people.open_code()
        assert code is not None
        claims = [site.people.claim_first_admin(code, name, PASSWORD, None) for name in ("anna", "eve", "mallory")]
        outcomes = await asyncio.gather(*claims, return_exceptions=True)
        assert sum(not isinstance(outcome, BaseException) for outcome in outcomes) == 1
        assert sum(isinstance(outcome, SetupClosed) for outcome in outcomes) == 2
        assert (await site.store.read(select(func.count().label("n")).select_from(users)))[0]["n"] == 1


async def test_a_wrong_code_makes_nobody(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        with pytest.raises(SetupClosed):
            await site.people.claim_first_admin("AAAA-AAAA-AAAA", "eve", PASSWORD, None)
        assert not await site.people.has_admin()


@pytest.mark.parametrize("name", ["", "Anna", "a b", "../x", "a" * 41, "ädam"])
async def test_a_bad_name_is_refused(tmp_path: Path, name: str) -> None:
    async with open_site(tmp_path) as site:
        with pytest.raises(BadName):
            await someone(site.people, name)


async def test_a_short_password_is_refused(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        with pytest.raises(WeakPassword):
            await site.people.create(HOST, "ben", "short", SiteRole.VIEWER)


async def test_a_name_is_given_once(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        await someone(site.people, "ben")
        with pytest.raises(Conflict):
            await someone(site.people, "ben")


async def test_the_password_opens_and_nothing_else_does(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        await someone(site.people, "ben")
        assert (await site.people.log_in("ben", PASSWORD)).name == "ben"
        for name, password in (("ben", "not the password"), ("nobody", PASSWORD), ("ben", "")):
            with pytest.raises(AuthFailed):
                await site.people.log_in(name, password)


async def test_passwords_are_stored_as_argon2id(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        await someone(site.people, "ben")
        assert (await site.store.read(select(users.c.password)))[0]["password"].startswith("$argon2id$")


async def test_the_configuration_puts_people_into_groups(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        gina = await someone(site.people, "gina")
        ben = await someone(site.people, "ben")
        assert gina.is_addressed(("role:guard",)) and gina.is_addressed(("group:guard",))
        assert not ben.is_addressed(("role:guard",)) and ben.is_addressed(("user:ben",))


async def test_an_account_without_cameras_sees_none(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        blind = await someone(site.people, "ben", cameras=())
        everything = await someone(site.people, "zoe", cameras=None)
        assert not blind.sees("gate-cam") and blind.sees(None)
        assert everything.sees("gate-cam")


async def test_the_last_admin_cannot_be_closed_out(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        await someone(site.people, "anna", SiteRole.ADMIN)
        with pytest.raises(NotAllowed):
            await site.people.disable(HOST, "anna")
        await someone(site.people, "bert", SiteRole.ADMIN)
        await site.people.disable(HOST, "anna")
        with pytest.raises(AuthFailed):
            await site.people.log_in("anna", PASSWORD)


async def test_a_session_is_found_by_its_token_and_stored_as_a_hash(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        ben = await someone(site.people, "ben")
        token, session = await site.sessions.open(ben, "10.0.0.1")
        found = await site.sessions.find(token)
        assert found is not None and found.person == ben
        rows = await site.store.read(select(sessions))
        assert token not in str([dict(row) for row in rows])
        assert session.is_forged(None) and session.is_forged("x") and not session.is_forged(session.csrf)


async def test_a_session_ends_by_time_by_logging_out_and_with_the_account(tmp_path: Path) -> None:
    clock = StandingClock()
    async with open_site(tmp_path, clock) as site:
        await someone(site.people, "anna", SiteRole.ADMIN)
        ben = await someone(site.people, "ben")
        first, opened = await site.sessions.open(ben, None)
        await site.sessions.end(opened, None)
        assert await site.sessions.find(first) is None
        second, _ = await site.sessions.open(ben, None)
        await site.people.disable(HOST, "ben")
        assert await site.sessions.find(second) is None
        zoe = await someone(site.people, "zoe")
        third, _ = await site.sessions.open(zoe, None)
        clock.advance(LIFETIME_SECONDS)
        assert await site.sessions.find(third) is None


async def test_what_was_done_stands_in_the_audit_and_no_secret_does(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        code = await site.people.open_code()
        assert code is not None
        anna = await site.people.claim_first_admin(code, "anna", PASSWORD, "10.0.0.1")
        token, _ = await site.sessions.open(anna, "10.0.0.1")
        rows = [dict(row) for row in await site.store.read(select(audit).order_by(audit.c.id))]
        assert [(row["who"], row["what"], row["from_address"]) for row in rows] == [
            ("user:anna", "user.create", "10.0.0.1"),
            ("user:anna", "session.open", "10.0.0.1"),
        ]
        for secret in (PASSWORD, token, code):
            assert secret not in str(rows)


async def test_an_act_that_fails_leaves_no_audit_row(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        await someone(site.people, "ben")
        before = await site.store.read(select(audit))
        with pytest.raises(Conflict) as caught:
            await someone(site.people, "ben")
        assert isinstance(caught.value.__cause__, LostRace)
        assert await site.store.read(select(audit)) == before


def test_an_address_that_guesses_waits_and_others_do_not() -> None:
    clock = StandingClock()
    throttle = Throttle(clock)
    for _ in range(FREE_FAILURES):
        throttle.begin("10.0.0.9")
    with pytest.raises(TooManyAttempts) as caught:
        throttle.begin("10.0.0.9")
    assert 0 < caught.value.retry_after <= WINDOW_SECONDS
    throttle.begin("10.0.0.10")
    clock.advance(WINDOW_SECONDS)
    throttle.begin("10.0.0.9")


def test_a_whole_network_of_ipv6_guesses_as_one_address() -> None:
    throttle = Throttle(StandingClock())
    for number in range(FREE_FAILURES):
        throttle.begin(f"2001:db8::{number:x}")
    with pytest.raises(TooManyAttempts):
        throttle.begin("2001:db8::ffff")
    throttle.begin("2001:db8:0:1::1")


def test_who_gets_in_starts_anew() -> None:
    throttle = Throttle(StandingClock())
    for _ in range(FREE_FAILURES):
        throttle.begin("10.0.0.9")
    throttle.succeeded("10.0.0.9")
    throttle.begin("10.0.0.9")


async def test_an_account_made_by_another_process_is_asked_once_it_logged_in(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site, open_site(tmp_path) as elsewhere:
        await someone(elsewhere.people, "gina")
        assert "gina" not in site.people.known
        await site.people.log_in("gina", PASSWORD)
        assert site.people.known["gina"].groups == {"guard"}
