"""NanoDet-g 416 over a picture: where things of the COCO classes are.

Input 1x3x416x416, BGR, normalised with the mean and deviation of ImageNet in 0..255. Outputs per stride (8, 16, 32): scores of 80 classes after the
sigmoid, and for each side of the box 11 bins whose expected value times the stride is its distance from the cell's centre
(RangiLyu/nanodet, Apache-2.0: generalised focal loss head).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float32]

SIDE = 416
CLASSES = {0: "person", 1: "bicycle", 2: "car", 3: "motorcycle", 5: "bus", 7: "truck"}
"""The COCO classes that stand at a gate. The others are not looked at: this network sees many of them where there is nothing."""
OVERLAP = 0.5
_BINS = 11
_STRIDES = {52 * 52: 8, 26 * 26: 16, 13 * 13: 32}
_MEAN = np.array([103.53, 116.28, 123.675], dtype=np.float32)
_DEVIATION = np.array([57.375, 57.12, 58.395], dtype=np.float32)
_GREY = 114


@dataclass(frozen=True, slots=True)
class Found:
    """A thing in the picture: its class, how sure the network is (0 to 1), and its box in pixels of the picture."""

    label: str
    score: float
    left: float
    top: float
    right: float
    bottom: float

    @property
    def area(self) -> float:
        """Pixels of the box."""
        return max(0.0, self.right - self.left) * max(0.0, self.bottom - self.top)

    @property
    def shorter(self) -> float:
        """Pixels of the box's shorter side."""
        return max(0.0, min(self.right - self.left, self.bottom - self.top))


@dataclass(frozen=True, slots=True)
class Raw:
    """All cells of the network: boxes (n, 4) in pixels of the picture, and scores (n, 80)."""

    boxes: Floats
    scores: Floats


class Detector:
    """The network, loaded once. Not for several threads at a time."""

    def __init__(self, model: Path, threads: int) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self._session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def raw(self, picture: Pixels, side: int = SIDE) -> Raw:
        """Look at the picture scaled so that its longer side is `side` of the network's 416 pixels, the rest grey. A smaller side
        shows a thing that fills the picture at the size at which the network learned it."""
        height, width = picture.shape[:2]
        scale = side / max(height, width)
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        small = cv2.resize(picture, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
        left, top = (SIDE - size[0]) // 2, (SIDE - size[1]) // 2
        canvas = np.full((SIDE, SIDE, 3), _GREY, dtype=np.uint8)
        canvas[top : top + size[1], left : left + size[0]] = small
        tensor = ((canvas.astype(np.float32) - _MEAN) / _DEVIATION).transpose(2, 0, 1)[None]
        boxes, scores = _cells(self._session.run(None, {"input_1": np.ascontiguousarray(tensor)}))
        shift = np.array([left, top, left, top], dtype=np.float32)
        boxes = (boxes - shift) / np.float32(scale)
        limit = np.array([width, height, width, height], dtype=np.float32)
        return Raw(np.clip(boxes, 0, limit).astype(np.float32), scores)


def found_in(raw: Raw, at_least: float) -> list[Found]:
    """The things at or above a score, the best first, overlapping boxes of one class joined."""
    found: list[Found] = []
    for index, label in CLASSES.items():
        scores = raw.scores[:, index]
        cells = np.flatnonzero(scores >= at_least)
        if not len(cells):
            continue
        boxes = raw.boxes[cells]
        corners = [[float(b[0]), float(b[1]), float(b[2] - b[0]), float(b[3] - b[1])] for b in boxes]
        kept = cv2.dnn.NMSBoxes(corners, [float(s) for s in scores[cells]], at_least, OVERLAP)
        for one in np.asarray(kept, dtype=np.int64).ravel():
            box = boxes[one]
            found.append(Found(label, float(scores[cells][one]), *(float(side) for side in box)))
    return sorted(found, key=lambda one: -one.score)


def _cells(outputs: list[Floats]) -> tuple[Floats, Floats]:
    scores = {out.shape[1]: out[0] for out in outputs if out.shape[2] == 80}
    sides = {out.shape[1]: out[0] for out in outputs if out.shape[2] == 4 * _BINS}
    boxes: list[Floats] = []
    for cells, stride in _STRIDES.items():
        bins = sides[cells].reshape(cells, 4, _BINS)
        weights = np.exp(bins - bins.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        reach = (weights @ np.arange(_BINS, dtype=np.float32)) * stride
        row, column = np.divmod(np.arange(cells), round(cells**0.5))
        x, y = (column + 0.5) * stride, (row + 0.5) * stride
        boxes.append(np.stack([x - reach[:, 0], y - reach[:, 1], x + reach[:, 2], y + reach[:, 3]], axis=1))
    return np.concatenate(boxes).astype(np.float32), np.concatenate([scores[cells] for cells in _STRIDES])
