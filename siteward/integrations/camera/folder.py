"""A camera that is a folder: each snapshot is its next picture."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import voluptuous as vol

from siteward.sdk import Camera, CameraDown, Clock, ConfigurationInvalid, Host, Picture

from .pictures import SUFFIXES, NoPicture, content_type_of

_SETTINGS: Final = vol.Schema({vol.Required("path"): str, vol.Optional("pictures", default=list): [str]})


class FolderCamera:
    """The pictures of one folder in their order; after the last the first comes again. A picture's time is that of the
    snapshot, since it stands for what the camera sees now."""

    def __init__(self, camera: str, folder: Path, names: Sequence[str], clock: Clock) -> None:
        self._camera = camera
        self._folder = folder
        self._names = tuple(names)
        self._clock = clock
        self._next = 0

    async def snapshot(self) -> Picture:
        """The next picture. Raises `CameraDown` where the folder or the file is gone, or is no picture; the one after it comes next."""
        names = self._names or await asyncio.to_thread(_pictures_in, self._folder)
        if not names:
            raise CameraDown(
                f"The camera {self._camera} has no pictures: put JPEG or PNG files into {self._folder}.",
                where=self._camera,
            )
        name = names[self._next % len(names)]
        self._next += 1
        try:
            data = await asyncio.to_thread((self._folder / name).read_bytes)
            content_type = content_type_of(data)
        except OSError as error:
            raise CameraDown(
                f"The camera {self._camera} cannot read its picture {name}: {error.strerror}.", where=self._camera
            ) from error
        except NoPicture as error:
            raise CameraDown(f"The picture {name} of the camera {self._camera} {error}.", where=self._camera) from error
        return Picture(data, content_type, self._clock.now(), self._camera)

    async def close(self) -> None:
        """Nothing is held."""


def _pictures_in(folder: Path) -> tuple[str, ...]:
    if not folder.is_dir():
        return ()
    return tuple(sorted(one.name for one in folder.iterdir() if one.suffix.lower() in SUFFIXES))


async def open_folder(camera: str, settings: Mapping[str, Any], host: Host) -> Camera:
    """Open a folder camera. Raises `ConfigurationInvalid`; an empty folder only matters when a picture is asked for."""
    try:
        checked = _SETTINGS(dict(settings))
    except vol.Invalid as error:
        raise ConfigurationInvalid(f"The settings of the camera {camera} are wrong: {error}.", where=camera) from error
    if strange := [name for name in checked["pictures"] if Path(name).name != name]:
        raise ConfigurationInvalid(
            f"The camera {camera} lists {strange[0]}: name files of its folder, without a path.", where=camera
        )
    folder = Path(host.config_dir, checked["path"])
    return FolderCamera(camera, folder, checked["pictures"], host.clock)
