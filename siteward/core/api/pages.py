"""The pages as files: read once at start, served under a name made from their content, so that a browser keeps them for good and a new version
is asked for at once."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aiohttp import web

_TYPES: Final = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".html": "text/html",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
}
_PLACE: Final = b"/ui/@/"
_WORTH_PACKING: Final = 1024


@dataclass(frozen=True, slots=True)
class _File:
    data: bytes
    packed: bytes | None
    content_type: str


class Pages:
    """The files of a folder. `index.html` names the others as `/ui/@/…`; the mark becomes the version."""

    def __init__(self, folder: Path) -> None:
        found = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix in _TYPES and "node_modules" not in path.parts
        }
        digest = hashlib.sha256()
        for name, data in found.items():
            digest.update(name.encode() + b"\0" + data + b"\0")
        self.version = digest.hexdigest()[:16]
        index = found.pop("index.html").replace(_PLACE, f"/ui/{self.version}/".encode())
        self._index = _file("index.html", index)
        self._files: Mapping[str, _File] = {name: _file(name, data) for name, data in found.items()}

    async def index(self, request: web.Request) -> web.StreamResponse:
        """The one page; it is asked for again each time."""
        return _answer(request, self._index, "no-cache")

    async def file(self, request: web.Request) -> web.StreamResponse:
        """A file of the pages, of this version only."""
        found = self._files.get(request.match_info["name"])
        if found is None or request.match_info["version"] != self.version:
            raise web.HTTPNotFound
        return _answer(request, found, "public, max-age=31536000, immutable")


def _file(name: str, data: bytes) -> _File:
    packed = gzip.compress(data, 9, mtime=0) if len(data) >= _WORTH_PACKING else None
    return _File(data, packed, _TYPES[Path(name).suffix])


def _answer(request: web.Request, file: _File, cache: str) -> web.Response:
    packs = file.packed is not None and "gzip" in request.headers.get("Accept-Encoding", "")
    headers = {"Cache-Control": cache, "Vary": "Accept-Encoding"}
    if packs:
        headers["Content-Encoding"] = "gzip"
    body = file.packed if packs else file.data
    charset = "utf-8" if file.content_type.startswith("text/") else None
    return web.Response(body=body, content_type=file.content_type, charset=charset, headers=headers)
