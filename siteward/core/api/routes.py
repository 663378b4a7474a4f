"""What a route is: its address, the one permission that it needs, what it takes and gives, and the function that answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from siteward.core.site.audit import Actor
from siteward.core.site.permissions import Permission, Person
from siteward.core.site.sessions import Session
from siteward.core.store.writer import Op

from .host import ApiHost
from .shapes import Shape, record

NOTHING: Shape = record({})


@dataclass(frozen=True, slots=True)
class Call:
    """One request, checked: `session` is None on a public route only, `body` is as the route's shape says."""

    host: ApiHost
    session: Session | None
    address: str | None
    secure: bool
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any

    @property
    def person(self) -> Person:
        """Who asks. Only on routes that are not public."""
        if self.session is None:
            raise LookupError("a public route has no person")
        return self.session.person

    @property
    def actor(self) -> Actor:
        """Who asks, as rows name them."""
        return Actor(self.person.who, self.address)

    def audited(self, what: str, **after: Any) -> Callable[[str], tuple[Op, ...]]:
        """The audit row of an act, for whoever commits the act: given the target's id, the rows to commit with it."""
        return lambda target: (self.host.site.audit.row(self.actor, what, target, after=after),)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a route gives: JSON, or bytes with their content type. `cookie` sets the session's token, an empty one removes it."""

    json: Any = None
    status: int = 200
    data: bytes | None = None
    content_type: str = "application/json"
    cookie: str | None = None
    cache: str = "no-store"


Handler = Callable[[Call], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Route:
    """A route. `permission` None is public. No answer takes longer than `seconds`. `query` describes each query parameter; `body` is None where none is read."""

    method: str
    path: str
    permission: Permission | None
    summary: str
    answer: Handler
    gives: Shape = field(default_factory=lambda: NOTHING)
    body: Shape | None = None
    query: Mapping[str, Shape] = field(default_factory=lambda: MappingProxyType({}))
    refuses: tuple[int, ...] = ()
    status: int = 200
    seconds: float = 30.0

    @property
    def writes(self) -> bool:
        """Whether it changes something."""
        return self.method in ("POST", "PUT", "DELETE")
