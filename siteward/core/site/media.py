"""The site's pictures: kept with their camera, given only to who sees that camera."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select

from siteward.core.errors import NotFound, SitewardError
from siteward.core.plugins.objects import Picture
from siteward.core.store.schema import media
from siteward.core.store.store import Store

from .audit import NewId
from .permissions import Person
from .rows import insert

MAXIMUM_BYTES = 8 * 1024 * 1024
_BEGINS = {"image/jpeg": b"\xff\xd8\xff", "image/png": b"\x89PNG\r\n\x1a\n"}


class BadPicture(SitewardError):
    """Bytes that are no JPEG or PNG, or too many of them."""

    code = "picture.bad"


@dataclass(frozen=True, slots=True)
class Media:
    """Keeps pictures and gives them back."""

    store: Store
    new_id: NewId

    async def keep(self, picture: Picture) -> str:
        """Store a picture; returns its media id. Raises `BadPicture`: what is served later is what it says it is."""
        begins = _BEGINS.get(picture.content_type)
        if begins is None or not picture.data.startswith(begins):
            raise BadPicture("Only JPEG and PNG pictures are kept.")
        if len(picture.data) > MAXIMUM_BYTES:
            raise BadPicture("The picture is over 8 MiB.")
        media_id = self.new_id()
        await self.store.submit(
            insert(
                media,
                {
                    "id": media_id,
                    "camera": picture.camera,
                    "content_type": picture.content_type,
                    "at": picture.at.timestamp(),
                    "data": picture.data,
                },
            )
        )
        return media_id

    async def read(self, media_id: str) -> Picture:
        """A kept picture. Raises `KeyError` where retention took it."""
        rows = await self.store.read(select(media).where(media.c.id == media_id))
        if not rows:
            raise KeyError(media_id)
        row = rows[0]
        return Picture(bytes(row["data"]), row["content_type"], datetime.fromtimestamp(row["at"], UTC), row["camera"])

    async def shown_to(self, person: Person, media_id: str) -> Picture:
        """A kept picture, for a person. Raises `NotFound`, also where they do not see its camera."""
        try:
            picture = await self.read(media_id)
        except KeyError as error:
            raise NotFound("There is no such picture (any more), or you do not see its camera.") from error
        if not person.sees(picture.camera):
            raise NotFound("There is no such picture (any more), or you do not see its camera.")
        return picture
