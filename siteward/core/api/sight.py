"""What a person may see, as a condition on rows: nothing of a camera that is not theirs leaves the database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, false, or_, true

from siteward.core.site.permissions import Person


def seen_by(person: Person, camera: ColumnElement[Any]) -> ColumnElement[bool]:
    """Rows of no camera, or of one that the person sees."""
    if person.cameras is None:
        return true()
    own = camera.in_(sorted(person.cameras)) if person.cameras else false()
    return or_(camera.is_(None), own)
