"""A camera that answers an HTTP request with its newest picture, as nearly every network camera can."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import voluptuous as vol

from siteward.sdk import Camera, CameraDown, ConfigurationInvalid, EgressRefused, Host, Picture, Unreachable

from .pictures import NoPicture, content_type_of

PURPOSE: Final = "camera"

_SETTINGS: Final = vol.Schema(
    {
        vol.Required("url"): vol.Match(r"^https?://[^\s]+$", msg="an http or https address"),
        vol.Optional("timeout", default=10): vol.All(vol.Any(int, float), vol.Range(min=1, max=60)),
    }
)
_UNAUTHORISED: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class HttpCamera:
    """One address that gives a picture."""

    def __init__(self, camera: str, url: str, timeout: float, host: Host) -> None:
        self._camera = camera
        self._url = url
        self._timeout = timeout
        self._host = host

    async def snapshot(self) -> Picture:
        """The newest picture. Raises `CameraDown` with one sentence for whatever is wrong with the camera or the way to it."""
        try:
            status, data = await self._host.http("GET", self._url, purpose=PURPOSE, timeout=self._timeout)
        except Unreachable as error:
            raise self._down(f"gives no picture: {error.sentence}") from error
        except EgressRefused as error:
            raise self._down(f"may not be reached: {error.sentence}") from error
        if status in _UNAUTHORISED:
            raise self._down(f"refused us ({status}): check its user and password.")
        if status != HTTPStatus.OK:
            raise self._down(f"answered {status} instead of a picture: check its address.")
        try:
            content_type = content_type_of(data)
        except NoPicture as error:
            raise self._down(f"sent something that {error}: check its address.") from error
        return Picture(data, content_type, self._host.clock.now(), self._camera)

    async def close(self) -> None:
        """Nothing is held."""

    def _down(self, sentence: str) -> CameraDown:
        return CameraDown(f"The camera {self._camera} {sentence}", where=self._camera)


async def open_http(camera: str, settings: Mapping[str, Any], host: Host) -> Camera:
    """Open an HTTP camera. Raises `ConfigurationInvalid`; whether it answers shows at its first picture."""
    try:
        checked = _SETTINGS(dict(settings))
    except vol.Invalid as error:
        raise ConfigurationInvalid(f"The settings of the camera {camera} are wrong: {error}.", where=camera) from error
    return HttpCamera(camera, checked["url"], float(checked["timeout"]), host)
