"""Who may do what: the one table. Each route and each live topic names the permission that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from siteward.core.errors import NotAllowed


class SiteRole(StrEnum):
    """What a person is on the site."""

    ADMIN = "admin"
    OPERATOR = "operator"
    VIEWER = "viewer"


class Permission(StrEnum):
    """What a person may do. `signed_in` is everyone with a session."""

    SIGNED_IN = "signed_in"
    VIEW = "workflows.view"
    MANAGE = "workflows.manage"
    APPROVE = "workflows.approve"
    SITE_MODE = "site.mode"
    ADMIN = "site.admin"


_ALL: Final = frozenset(SiteRole)
_DOING: Final = frozenset({SiteRole.ADMIN, SiteRole.OPERATOR})

HOLDERS: Final[Mapping[Permission, frozenset[SiteRole]]] = MappingProxyType(
    {
        Permission.SIGNED_IN: _ALL,
        Permission.VIEW: _ALL,
        Permission.MANAGE: _DOING,
        Permission.APPROVE: _DOING,
        Permission.SITE_MODE: _DOING,
        Permission.ADMIN: frozenset({SiteRole.ADMIN}),
    }
)


@dataclass(frozen=True, slots=True)
class Person:
    """Someone with an account. `cameras` are the camera ids that they see; None is all of them (an admin, or an account that says so)."""

    id: str
    name: str
    role: SiteRole
    groups: frozenset[str] = frozenset()
    cameras: frozenset[str] | None = frozenset()

    @property
    def who(self) -> str:
        """How rows name this person: `user:<name>`."""
        return f"user:{self.name}"

    def may(self, permission: Permission) -> bool:
        """Whether the table gives this person the permission."""
        return self.role in HOLDERS[permission]

    def sees(self, camera: str | None) -> bool:
        """Whether this person may see what comes from `camera` (None: from no camera)."""
        return camera is None or self.cameras is None or self.role is SiteRole.ADMIN or camera in self.cameras

    @property
    def addresses(self) -> frozenset[str]:
        """What a workflow writes to reach this person: their name, their groups, and their role on the site (`role:admin`)."""
        groups = (f"{kind}:{group}" for group in self.groups for kind in ("role", "group"))
        return frozenset((self.who, f"role:{self.role.value}", *groups))

    def is_addressed(self, who: tuple[str, ...]) -> bool:
        """Whether one of `role:x`, `group:x`, `user:x` means this person."""
        return not self.addresses.isdisjoint(who)


def require(person: Person, permission: Permission) -> None:
    """Raise `NotAllowed` where the person lacks the permission."""
    if not person.may(permission):
        raise NotAllowed(
            f"Your account ({person.role.value}) does not have the permission {permission.value}. Ask an admin of this site."
        )
