"""EfficientNet-Lite0 over a picture: how likely each of the 1,000 ImageNet labels is.

Input Nx3x224x224, RGB, (value - 127) / 128. Outputs `prob` (N, 1000) and `embedding` (N, 1280).
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import onnxruntime as ort

from .detector import Floats, Pixels

SIDE = 224
KINDS: dict[str, tuple[str, ...]] = {
    "car": (
        "taxicab",
        "convertible",
        "sports car",
        "limousine",
        "minivan",
        "jeep",
        "station wagon",
        "race car",
        "ford model t",
    ),
    "truck": (
        "moving van",
        "pickup truck",
        "semi-trailer truck",
        "tow truck",
        "garbage truck",
        "fire truck",
        "police van",
        "ambulance",
        "recreational vehicle",
    ),
    "bus": ("minibus", "school bus", "trolleybus"),
    "motorcycle": ("moped", "motor scooter"),
    "bicycle": ("mountain bike", "tandem bicycle", "tricycle"),
}
"""The ImageNet labels that speak for a kind of vehicle."""


class Tagger:
    """The network, loaded once, and the names of its labels."""

    def __init__(self, model: Path, labels: Path, threads: int) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self._session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self.labels = tuple(labels.read_text(encoding="utf-8").splitlines())
        index = {label: number for number, label in enumerate(self.labels)}
        self._kinds = {kind: [index[label] for label in names] for kind, names in KINDS.items()}

    def look(self, picture: Pixels) -> Floats:
        """The probability of each label."""
        small = cv2.resize(picture, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
        tensor = ((small[:, :, ::-1].astype(np.float32) - 127) / 128).transpose(2, 0, 1)[None]
        (prob,) = self._session.run(["prob"], {"x": np.ascontiguousarray(tensor)})
        return np.asarray(prob[0], dtype=np.float32)

    def kinds(self, prob: Floats) -> dict[str, float]:
        """How much of the probability speaks for each kind of vehicle."""
        return {kind: float(prob[numbers].sum()) for kind, numbers in self._kinds.items()}

    def best(self, prob: Floats, at_least: float, most: int) -> list[tuple[str, float]]:
        """The likeliest labels, at most `most`, each at least so likely."""
        order = np.argsort(-prob)[:most]
        return [(self.labels[int(n)], float(prob[n])) for n in order if prob[n] >= at_least]
