"""Setting up, logging in, and accounts."""

from __future__ import annotations

from typing import Final

from siteward.core.errors import AuthFailed, NotFound
from siteward.core.site.passwords import WeakPassword
from siteward.core.site.people import BadName
from siteward.core.site.permissions import HOLDERS, Permission, Person, SiteRole
from siteward.core.site.sessions import Session

from .routes import NOTHING, Answer, Call, Route
from .shapes import boolean, choice, listing, nullable, record, text

PERSON: Final = record(
    {
        "name": text(),
        "role": choice(list(SiteRole)),
        "groups": listing(text()),
        "cameras": nullable(listing(text())),
    }
)
ME: Final = record(
    {
        "person": PERSON,
        "permissions": listing(choice(list(Permission))),
        "csrf": text(),
        "site": text(),
        "demo": boolean(),
    }
)
_NAME: Final = text(least=1, most=40)
_PASSWORD: Final = text(least=1, most=256)


def as_person(person: Person) -> dict[str, object]:
    """A person as the pages get them; `cameras` null is all of them."""
    return {
        "name": person.name,
        "role": person.role.value,
        "groups": sorted(person.groups),
        "cameras": None if person.cameras is None else sorted(person.cameras),
    }


def _me(call: Call, session: Session) -> dict[str, object]:
    held = [permission.value for permission in HOLDERS if session.person.may(permission)]
    return {
        "person": as_person(session.person),
        "permissions": held,
        "csrf": session.csrf,
        "site": call.host.site.configuration.name,
        "demo": call.host.demo is not None,
    }


async def _open(call: Call, person: Person) -> Answer:
    token, session = await call.host.site.sessions.open(person, call.address)
    return Answer(_me(call, session), cookie=token)


async def session_state(call: Call) -> Answer:
    """Who is logged in, if anyone, and whether the first admin is still to be made: what a page asks first."""
    shown = None if call.session is None else _me(call, call.session)
    return Answer({"me": shown, "setup": not await call.host.site.people.has_admin()})


async def setup(call: Call) -> Answer:
    """Make the first admin and log in."""
    throttle = call.host.site.throttle
    throttle.begin(call.address)
    try:
        person = await call.host.site.people.claim_first_admin(
            call.body["code"], call.body["name"], call.body["password"], call.address
        )
    except (BadName, WeakPassword):
        throttle.succeeded(call.address)  # the code was right
        raise
    throttle.succeeded(call.address)
    return await _open(call, person)


async def log_in(call: Call) -> Answer:
    """Log in."""
    throttle = call.host.site.throttle
    throttle.begin(call.address)
    person = await call.host.site.people.log_in(call.body["name"], call.body["password"])
    throttle.succeeded(call.address)
    return await _open(call, person)


async def log_out(call: Call) -> Answer:
    """End the session."""
    if call.session is not None:
        await call.host.site.sessions.end(call.session, call.address)
    return Answer({}, cookie="")


async def me(call: Call) -> Answer:
    """Who is logged in, and what they may do."""
    if call.session is None:
        raise AuthFailed("Log in first.", code="session.missing")
    return Answer(_me(call, call.session))


async def everyone(call: Call) -> Answer:
    """All accounts."""
    return Answer({"people": [as_person(person) for person in await call.host.site.people.everyone()]})


async def create(call: Call) -> Answer:
    """Make an account."""
    body = call.body
    person = await call.host.site.people.create(
        call.actor, body["name"], body["password"], SiteRole(body["role"]), body["cameras"]
    )
    return Answer(as_person(person), status=201)


async def close(call: Call) -> Answer:
    """Close an account and end its sessions."""
    if await call.host.site.people.named(f"user:{call.path['name']}") is None:
        raise NotFound(f"There is no account {call.path['name']}.")
    await call.host.site.people.disable(call.actor, call.path["name"])
    return Answer({})


ROUTES: Final = (
    Route(
        "GET",
        "/session",
        None,
        "Who is logged in, if anyone",
        session_state,
        record({"me": nullable(ME), "setup": boolean()}),
    ),
    Route(
        "POST",
        "/setup",
        None,
        "Make the first admin with the one-time code",
        setup,
        ME,
        record({"code": text(least=1, most=40), "name": _NAME, "password": _PASSWORD}),
        refuses=(403, 422, 429),
    ),
    Route(
        "POST",
        "/login",
        None,
        "Log in",
        log_in,
        ME,
        record({"name": _NAME, "password": _PASSWORD}),
        refuses=(401, 429),
    ),
    Route("POST", "/logout", Permission.SIGNED_IN, "Log out", log_out, NOTHING),
    Route("GET", "/me", Permission.SIGNED_IN, "Who is logged in", me, ME),
    Route("GET", "/people", Permission.ADMIN, "All accounts", everyone, record({"people": listing(PERSON)})),
    Route(
        "POST",
        "/people",
        Permission.ADMIN,
        "Make an account",
        create,
        PERSON,
        record(
            {
                "name": _NAME,
                "password": _PASSWORD,
                "role": choice(list(SiteRole)),
                "cameras": nullable(listing(text(least=1, most=64), most=500)),
            }
        ),
        refuses=(409, 422),
        status=201,
    ),
    Route("DELETE", "/people/{name}", Permission.ADMIN, "Close an account", close, NOTHING, refuses=(403, 404)),
)
