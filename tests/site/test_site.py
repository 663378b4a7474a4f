"""Roles, lists, mode, pictures and who may answer."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select

from siteward.core.engine.site_services import SiteServices
from siteward.core.errors import NotAllowed, NotFound
from siteward.core.plugins.objects import Picture
from siteward.core.site.approvals import check_may_answer
from siteward.core.site.audit import Actor
from siteward.core.site.lists import Origin, normalised
from siteward.core.site.media import BadPicture
from siteward.core.site.mode import UnknownMode
from siteward.core.site.permissions import HOLDERS, Permission, Person, SiteRole
from siteward.core.site.services import ServicesOfSite
from siteward.core.store.schema import audit, outbox, site_list_rows

from .building import StandingClock, open_site, someone

JPEG = b"\xff\xd8\xff\xe0 picture"
ANNA = Actor("user:anna", "10.0.0.1")


@pytest.mark.parametrize(
    ("role", "groups", "cameras", "may"),
    [
        (SiteRole.ADMIN, (), (), True),
        (SiteRole.OPERATOR, ("guard",), ("gate-cam",), True),
        (SiteRole.OPERATOR, ("guard",), None, True),
        (SiteRole.OPERATOR, ("guard",), ("yard-cam",), False),
        (SiteRole.OPERATOR, ("guard",), (), False),
        (SiteRole.OPERATOR, (), ("gate-cam",), False),
        (SiteRole.VIEWER, ("guard",), ("gate-cam",), False),
        (SiteRole.VIEWER, ("guard",), None, False),
    ],
)
def test_who_may_answer(role: SiteRole, groups: tuple[str, ...], cameras: tuple[str, ...] | None, may: bool) -> None:
    person = Person("1", "pat", role, frozenset(groups), None if cameras is None else frozenset(cameras))
    if may:
        check_may_answer(person, ("role:guard",), "gate-cam")
    else:
        with pytest.raises(NotAllowed):
            check_may_answer(person, ("role:guard",), "gate-cam")


def test_every_permission_has_holders_and_an_admin_has_all() -> None:
    assert set(HOLDERS) == set(Permission)
    assert all(SiteRole.ADMIN in holders for holders in HOLDERS.values())


def test_a_viewer_only_looks() -> None:
    viewer = Person("1", "vera", SiteRole.VIEWER)
    assert {p for p in Permission if viewer.may(p)} == {Permission.SIGNED_IN, Permission.VIEW}


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("B-AB 123", "plate", "BAB123"),
        ("b ab·123", "plate", "BAB123"),
        ("\uff22AB123", "plate", "BAB123"),
        (" - ", "plate", ""),
        ("+49 (30) 1-2", "number", "+4930" + "12"),
        ("  Ada   LOVELACE ", "text", "ada lovelace"),
    ],
)
def test_values_are_matched_without_their_spelling(value: str, kind: str, expected: str) -> None:
    assert normalised(value, kind) == expected


async def test_a_list_matches_its_rows_however_the_plate_is_spelled(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        assert await site.lists.matches("expected", "bab 123", confirmed_only=True)
        assert not await site.lists.matches("expected", "B-AB 124", confirmed_only=True)
        assert not await site.lists.matches("expected", " ", confirmed_only=False)
        assert not await site.lists.matches("no_such_list", "B-AB 123", confirmed_only=False)


@pytest.mark.parametrize("origin", [Origin.AI, Origin.FEED, Origin.IMPORT])
async def test_a_row_nobody_stands_for_does_not_count_until_confirmed(tmp_path: Path, origin: Origin) -> None:
    async with open_site(tmp_path) as site:
        await site.lists.add(ANNA, "expected", {"plate": "X1"}, origin)
        assert await site.lists.matches("expected", "X1", confirmed_only=False)
        assert not await site.lists.matches("expected", "X1", confirmed_only=True)
        row = (await site.store.read(select(site_list_rows).where(site_list_rows.c.match == "X1")))[0]
        await site.lists.confirm(ANNA, row["id"])
        assert await site.lists.matches("expected", "X1", confirmed_only=True)
        with pytest.raises(NotFound):
            await site.lists.confirm(ANNA, row["id"])


async def test_a_row_stops_matching_when_it_expires(tmp_path: Path) -> None:
    clock = StandingClock()
    async with open_site(tmp_path, clock) as site:
        await site.lists.add(ANNA, "expected", {"plate": "X1"}, Origin.PERSON, clock.now().timestamp() + 60)
        assert await site.lists.matches("expected", "X1", confirmed_only=True)
        clock.advance(60)
        assert not await site.lists.matches("expected", "X1", confirmed_only=True)


async def test_rows_that_people_wrote_outlive_a_restart_and_configured_ones_are_not_doubled(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        await site.lists.add(ANNA, "expected", {"plate": "X1"}, Origin.PERSON)
    async with open_site(tmp_path) as site:
        assert sorted(row["plate"] for row in await site.lists.rows("expected")) == ["B-AB 123", "X1"]


async def test_the_site_mode_is_changed_with_its_audit_row_and_told(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        assert await site.mode.read() == "disarmed"
        await site.mode.set(ANNA, "armed_away")
        assert await site.mode.read() == "armed_away"
        (row,) = await site.store.read(select(audit))
        assert (row["who"], row["before"], row["after"]) == (
            "user:anna",
            '{"mode": "disarmed"}',
            '{"mode": "armed_away"}',
        )
        assert [r["topic"] for r in await site.store.read(select(outbox))] == ["site.mode"]
        with pytest.raises(UnknownMode):
            await site.mode.set(ANNA, "asleep")


async def test_a_picture_is_given_to_who_sees_its_camera(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        taken = datetime(2026, 3, 2, tzinfo=UTC)
        media_id = await site.media.keep(Picture(JPEG, "image/jpeg", taken, "gate-cam"))
        gate = await someone(site.people, "gina", cameras=("gate-cam",))
        yard = await someone(site.people, "yuri", cameras=("yard-cam",))
        assert (await site.media.shown_to(gate, media_id)).data == JPEG
        with pytest.raises(NotFound):
            await site.media.shown_to(yard, media_id)
        with pytest.raises(NotFound):
            await site.media.shown_to(gate, "no-such-picture")


@pytest.mark.parametrize(
    ("data", "kind"), [(b"<script>", "image/jpeg"), (JPEG, "text/html"), (JPEG, "image/png"), (b"", "image/png")]
)
async def test_only_pictures_are_kept(tmp_path: Path, data: bytes, kind: str) -> None:
    async with open_site(tmp_path) as site:
        with pytest.raises(BadPicture):
            await site.media.keep(Picture(data, kind, datetime(2026, 3, 2, tzinfo=UTC)))


async def test_the_engine_gets_its_answers(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        services: SiteServices = ServicesOfSite(site)
        await someone(site.people, "anna", SiteRole.ADMIN)
        await someone(site.people, "gina")
        assert services.cameras_of("gate") == {"gate-cam"}
        assert services.cameras_of("nowhere") == frozenset()
        assert services.roles_of("yard-cam") == {"yard"}
        assert services.fresh_for("gate:gate") == 30
        assert services.fresh_for("site_mode") == 60
        assert services.tells() == {"destination:desk"}
        assert services.authority_lists() == {"gate:gate": {"expected"}}
        assert services.people(("role:guard",)) == {"gina"}
        assert services.people(("role:admin",)) == {"anna"}
        assert await services.in_list("expected", "BAB123", confirmed_only=True)
        assert await services.may_answer("user:gina", ("role:guard",), "gate-cam")
        assert not await services.may_answer("user:gina", ("role:guard",), "yard-cam")
        assert not await services.may_answer("user:nobody", ("role:guard",), None)


async def test_the_validator_sees_the_site_with_the_savers_eyes(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        await someone(site.people, "gina")
        services = ServicesOfSite(site)
        assert services.view(None).visible_cameras == {"gate", "yard"}
        assert services.view("user:gina").visible_cameras == {"gate"}
        assert services.view("user:nobody").visible_cameras == frozenset()
        assert services.view(None).roles["gate"] == {"gate"}
        assert {"role:guard", "group:guard", "user:gina", "role:admin"} <= services.view(None).roles["person"]
