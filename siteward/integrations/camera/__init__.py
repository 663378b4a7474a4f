"""Cameras: a folder of pictures, and a picture over HTTP."""

from __future__ import annotations

from collections.abc import Sequence

from siteward.sdk import CameraKind, hookimpl

from .folder import open_folder
from .snapshot import open_http


@hookimpl
def siteward_cameras() -> Sequence[CameraKind]:
    """The two kinds."""
    return (CameraKind("camera.folder", open_folder), CameraKind("camera.http", open_http))
