"""Accounts: the first admin by a one-time code, users, their groups and the cameras that they see."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import func, select

from siteward.core.clock import Clock
from siteward.core.errors import AuthFailed, Conflict, NotAllowed, SitewardError
from siteward.core.store.errors import LostRace
from siteward.core.store.schema import groups, user_cameras, users
from siteward.core.store.store import Store
from siteward.core.store.writer import Op

from .audit import Actor, Audit, NewId
from .passwords import Passwords
from .permissions import Person, SiteRole
from .rows import delete, insert

ALL_CAMERAS = "*"
PEOPLE = "siteward_people"
"""What is poked where an account changed."""
_NAME = re.compile(r"^[a-z][a-z0-9._-]{0,39}$")
_CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


class BadName(SitewardError):
    """An account name that is not allowed."""

    code = "user.bad_name"


class SetupClosed(SitewardError):
    """The first admin exists already, or the code is wrong."""

    code = "setup.closed"


def setup_code(choose: Callable[[Sequence[str]], str]) -> str:
    """A one-time code of 60 bits in three groups that a person can type; `choose` is the random source's choice."""
    letters = [choose(_CODE_LETTERS) for _ in range(12)]
    return "-".join("".join(letters[i : i + 4]) for i in (0, 4, 8))


class People:
    """The accounts of a site. `code` is the one-time code of this start, given while there is no admin."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        new_id: NewId,
        audit: Audit,
        passwords: Passwords,
        *,
        code: str,
        configured_groups: Callable[[], dict[str, tuple[str, ...]]],
    ) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._audit = audit
        self._passwords = passwords
        self._code = code
        self._configured_groups = configured_groups
        self._known: dict[str, Person] = {}
        self.revision = 0

    @property
    def known(self) -> Mapping[str, Person]:
        """Everyone by name, as of the last change (for questions that cannot wait for a read)."""
        return self._known

    async def refresh(self) -> None:
        """Read everyone anew; called at start and after each change here."""
        self._known = {person.name: person for person in await self.everyone()}
        self.revision += 1

    async def _changed(self) -> None:
        """Other processes of the site know everybody too."""
        await self.refresh()
        self._store.notify(PEOPLE)

    async def has_admin(self) -> bool:
        """Whether somebody set the site up."""
        rows = await self._store.read(
            select(func.count().label("admins")).select_from(users).where(users.c.role == SiteRole.ADMIN.value)
        )
        return bool(rows[0]["admins"])

    async def open_code(self) -> str | None:
        """The code to print at start, None once there is an admin."""
        return None if await self.has_admin() else self._code

    async def claim_first_admin(self, code: str, name: str, password: str, address: str | None) -> Person:
        """Make the first admin. The row is written only while there is none, so a second claim loses whenever it comes.

        Raises `SetupClosed`, `BadName`, `WeakPassword`.
        """
        given = code.strip().upper().replace(" ", "")
        if await self.has_admin():
            raise SetupClosed("This site is set up already. Log in, or ask its admin for an account.")
        if not hmac.compare_digest(given.encode(), self._code.encode()):
            raise SetupClosed(
                "This is not the code of this start. Read the newest one in the terminal that started Siteward."
            )
        row = await self._row(name, password, SiteRole.ADMIN)
        claim = insert(users, row, only_if='NOT EXISTS (SELECT 1 FROM "users" WHERE "role" = \'admin\')')
        try:
            await self._store.submit(claim, *self._made(row, None, Actor(f"user:{name}", address)))
        except LostRace as error:
            raise SetupClosed("This site is set up already. Log in, or ask its admin for an account.") from error
        await self._changed()
        return await self._by_id(str(row["id"]))

    async def create(
        self, actor: Actor, name: str, password: str, role: SiteRole, cameras: Sequence[str] | None = ()
    ) -> Person:
        """Make an account. `cameras` are camera ids, None for all. Raises `BadName`, `WeakPassword`, `Conflict` (the name is taken)."""
        row = await self._row(name, password, role)
        taken = insert(users, row, only_if='NOT EXISTS (SELECT 1 FROM "users" WHERE "name" = :name)')
        try:
            await self._store.submit(taken, *self._made(row, cameras, actor))
        except LostRace as error:
            raise Conflict(f"There is an account {name} already. Choose another name.") from error
        await self._changed()
        return await self._by_id(str(row["id"]))

    async def log_in(self, name: str, password: str) -> Person:
        """The person, where name and password are right. Raises `AuthFailed` with one sentence for every reason."""
        rows = await self._store.read(select(users).where(users.c.name == name))
        stored = rows[0]["password"] if rows and not rows[0]["disabled"] else None
        if not await self._passwords.matches(stored, password):
            raise AuthFailed("The name or the password is not right.")
        if name not in self._known:
            await self.refresh()  # the account was made by another process, such as `siteward user add`
        return await self._by_id(rows[0]["id"])

    async def person(self, user_id: str) -> Person | None:
        """The account as it is now; None where it is gone or disabled."""
        rows = await self._store.read(select(users).where(users.c.id == user_id))
        if not rows or rows[0]["disabled"]:
            return None
        return await self._by_id(user_id)

    async def everyone(self) -> tuple[Person, ...]:
        """All accounts that are not disabled, by name."""
        rows = await self._store.read(select(users.c.id).where(users.c.disabled.is_(False)).order_by(users.c.name))
        return tuple([await self._by_id(row["id"]) for row in rows])

    async def named(self, who: str) -> Person | None:
        """The person behind `user:<name>`, None where there is none."""
        kind, _, name = who.partition(":")
        rows = await self._store.read(select(users.c.id).where(users.c.name == name, users.c.disabled.is_(False)))
        return await self._by_id(rows[0]["id"]) if rows and kind == "user" else None

    async def apply_groups(self) -> None:
        """Make the groups of everyone what the configuration says."""
        known = {row["name"]: row["id"] for row in await self._store.read(select(users.c.name, users.c.id))}
        ops = [delete(groups, {"user_id": user_id}) for user_id in known.values()]
        for group, names in self._configured_groups().items():
            ops += [
                insert(groups, {"group": group, "user_id": known[name]})
                for name in dict.fromkeys(names)
                if name in known
            ]
        if ops:
            await self._store.submit(*ops)
        await self.refresh()

    async def disable(self, actor: Actor, name: str) -> None:
        """Close an account; its sessions end with it. Raises `NotAllowed` for the last admin."""
        person = await self.named(f"user:{name}")
        if person is None:
            raise Conflict(f"There is no account {name}.")
        last = Op(
            'UPDATE "users" SET "disabled" = TRUE WHERE "id" = :id AND NOT "disabled" AND ("role" != \'admin\' OR EXISTS '
            '(SELECT 1 FROM "users" AS other WHERE other."role" = \'admin\' AND NOT other."disabled" AND other."id" != :id))',
            {"id": person.id},
            1,
        )
        try:
            await self._store.submit(
                last,
                Op('DELETE FROM "sessions" WHERE "user_id" = :id', {"id": person.id}),
                self._audit.row(actor, "user.disable", person.who),
            )
        except LostRace as error:
            raise NotAllowed(f"{name} is the last admin of this site. Make another admin first.") from error
        await self._changed()

    async def _row(self, name: str, password: str, role: SiteRole) -> dict[str, object]:
        if not _NAME.match(name):
            raise BadName(
                "A name is small letters, digits, . _ and -, begins with a letter and has at most 40 characters."
            )
        return {
            "id": self._new_id(),
            "name": name,
            "role": role.value,
            "password": await self._passwords.hash(password),
            "disabled": False,
            "created_at": self._clock.now().timestamp(),
        }

    def _made(self, row: dict[str, object], cameras: Sequence[str] | None, actor: Actor) -> list[Op]:
        own = [group for group, names in self._configured_groups().items() if row["name"] in names]
        seen = [ALL_CAMERAS] if cameras is None else list(dict.fromkeys(cameras))
        ops = [insert(groups, {"group": group, "user_id": row["id"]}) for group in own]
        ops += [insert(user_cameras, {"user_id": row["id"], "camera": camera}) for camera in seen]
        after = {"role": row["role"], "groups": own, "cameras": seen}
        return [*ops, self._audit.row(actor, "user.create", f"user:{row['name']}", after=after)]

    async def _by_id(self, user_id: str) -> Person:
        user = (await self._store.read(select(users).where(users.c.id == user_id)))[0]
        mine = await self._store.read(select(groups.c.group).where(groups.c.user_id == user_id))
        seen = await self._store.read(select(user_cameras.c.camera).where(user_cameras.c.user_id == user_id))
        cameras = frozenset(row["camera"] for row in seen)
        everything = ALL_CAMERAS in cameras or user["role"] == SiteRole.ADMIN.value
        return Person(
            user["id"],
            user["name"],
            SiteRole(user["role"]),
            frozenset(row["group"] for row in mine),
            None if everything else cameras,
        )
