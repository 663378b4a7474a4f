"""A camera gives a picture, or one sentence on why not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from siteward.core.errors import CameraDown, ConfigurationInvalid
from siteward.integrations.camera.folder import open_folder
from siteward.integrations.camera.pictures import MOST_BYTES
from siteward.integrations.camera.snapshot import open_http
from tests.integrations.world import JPEG, PNG, HostInMemory, nobody_listens, serving


def folder_with(path: Path, **pictures: bytes) -> HostInMemory:
    (path / "pictures").mkdir()
    for name, data in pictures.items():
        (path / "pictures" / f"{name}.jpg").write_bytes(data)
    return HostInMemory(str(path))


async def test_a_folder_gives_its_pictures_in_order_and_begins_again(tmp_path: Path) -> None:
    host = folder_with(tmp_path, b=JPEG + b"b", a=JPEG + b"a")
    (tmp_path / "pictures" / "notes.txt").write_text("no picture")
    camera = await open_folder("gate", {"path": "pictures"}, host)
    taken = [await camera.snapshot() for _ in range(3)]
    assert [picture.data[-1:] for picture in taken] == [b"a", b"b", b"a"]
    assert {picture.camera for picture in taken} == {"gate"}
    assert taken[0].at == host.clock.now()
    await camera.close()


async def test_a_folder_gives_the_listed_pictures_only(tmp_path: Path) -> None:
    host = folder_with(tmp_path, a=JPEG + b"a", b=JPEG + b"b", c=PNG)
    camera = await open_folder("gate", {"path": "pictures", "pictures": ["c.jpg", "a.jpg"]}, host)
    assert (await camera.snapshot()).content_type == "image/png"
    assert (await camera.snapshot()).data == JPEG + b"a"


async def test_pictures_that_come_later_are_seen(tmp_path: Path) -> None:
    host = folder_with(tmp_path)
    camera = await open_folder("gate", {"path": "pictures"}, host)
    with pytest.raises(CameraDown, match="has no pictures: put JPEG or PNG files into"):
        await camera.snapshot()
    (tmp_path / "pictures" / "new.png").write_bytes(PNG)
    assert (await camera.snapshot()).data == PNG


async def test_a_file_that_is_no_picture_is_passed_over_after_it_was_said(tmp_path: Path) -> None:
    host = folder_with(tmp_path, a=b"<html>", b=JPEG)
    camera = await open_folder("gate", {"path": "pictures"}, host)
    with pytest.raises(CameraDown, match=r"The picture a\.jpg of the camera gate is no JPEG or PNG picture"):
        await camera.snapshot()
    assert (await camera.snapshot()).data == JPEG


async def test_a_listed_file_that_is_gone_is_said(tmp_path: Path) -> None:
    host = folder_with(tmp_path)
    camera = await open_folder("gate", {"path": "pictures", "pictures": ["gone.jpg"]}, host)
    with pytest.raises(CameraDown, match=r"cannot read its picture gone\.jpg: No such file"):
        await camera.snapshot()


@pytest.mark.parametrize("settings", [{}, {"path": 3}, {"path": "p", "pictures": ["../secrets.yaml"]}, {"pth": "p"}])
async def test_wrong_settings_of_a_folder_are_said_when_it_is_opened(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationInvalid):
        await open_folder("gate", settings, HostInMemory())


def answering(*, status: int = 200, body: bytes = JPEG, content_type: str = "image/jpeg") -> Callable[..., Any]:
    async def handle(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, body=body, content_type=content_type)

    return handle


@pytest.mark.parametrize("body", [JPEG, PNG])
async def test_an_http_camera_gives_what_it_sees(body: bytes) -> None:
    # Cameras call their pictures many things; what counts is what the bytes are.
    async with serving(answering(body=body, content_type="application/octet-stream")) as url:
        camera = await open_http("yard", {"url": f"{url}/snapshot.jpg"}, HostInMemory())
        picture = await camera.snapshot()
    assert picture.data == body
    assert picture.content_type == ("image/jpeg" if body == JPEG else "image/png")
    assert picture.camera == "yard"


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (answering(status=401), "The camera yard refused us (401): check its user and password."),
        (answering(status=404), "The camera yard answered 404 instead of a picture: check its address."),
        (answering(status=302), "The camera yard answered 302 instead of a picture: check its address."),
        (answering(body=b"<html>", content_type="image/jpeg"), "is no JPEG or PNG picture: check its address."),
        (answering(body=b""), "The camera yard sent something that is empty: check its address."),
        (answering(body=JPEG + bytes(MOST_BYTES)), "8 MiB"),
    ],
)
async def test_a_camera_that_gives_no_picture_says_why_in_one_sentence(answer: Any, sentence: str) -> None:
    async with serving(answer) as url:
        camera = await open_http("yard", {"url": url}, HostInMemory())
        with pytest.raises(CameraDown) as raised:
            await camera.snapshot()
    assert sentence in raised.value.sentence
    assert "\n" not in raised.value.sentence


async def test_a_camera_that_is_off_says_so() -> None:
    camera = await open_http("yard", {"url": await nobody_listens()}, HostInMemory())
    with pytest.raises(CameraDown, match=r"The camera yard gives no picture: .* did not answer"):
        await camera.snapshot()


async def test_a_camera_that_may_not_be_reached_is_not_reached() -> None:
    camera = await open_http("yard", {"url": "http://192.0.2.9/x"}, HostInMemory())
    with pytest.raises(CameraDown, match=r"may not be reached: .* not a listed destination"):
        await camera.snapshot()


@pytest.mark.parametrize("settings", [{}, {"url": "rtsp://cam/1"}, {"url": "http://cam", "timeout": 0}])
async def test_wrong_settings_of_an_http_camera_are_said_when_it_is_opened(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationInvalid):
        await open_http("yard", settings, HostInMemory())
