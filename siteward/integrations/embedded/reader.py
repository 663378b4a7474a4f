"""PP-OCR over a picture: lines of text with how sure the network is of each.

Three networks (PaddleOCR, Apache-2.0, as packed by `rapidocr-onnxruntime` 1.4.4): text areas by a probability map, lines that stand on their
head, and characters by connectionist temporal classification, whose alphabet the file itself carries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from .detector import Floats, Pixels

SHORT_SIDE, LONG_SIDE, STEP = 736, 1280, 32
_AREA, _BOX, _GROW = 0.3, 0.5, 1.6
_SMALLEST = 4
_LINE_HEIGHT, _LINE_WIDTH, _LONGEST_LINE = 48, 320, 2_400
_HEAD_WIDTH, _HEAD_SURE = 192, 0.9
TEXT_SURE = 0.5
"""A line below this is not reported."""
MOST_LINES = 20


@dataclass(frozen=True, slots=True)
class ReaderFiles:
    """The three networks."""

    areas: Path
    heads: Path
    lines: Path


class TextReader:
    """The networks, loaded once. Not for several threads at a time."""

    def __init__(self, files: ReaderFiles, threads: int) -> None:
        self._areas, self._heads, self._lines = (_session(p, threads) for p in (files.areas, files.heads, files.lines))
        alphabet = self._lines.get_modelmeta().custom_metadata_map["character"].splitlines()
        self._alphabet = ("", *alphabet, " ")

    def read(self, picture: Pixels) -> list[tuple[str, float]]:
        """The lines, the largest first."""
        boxes = sorted(self._boxes(picture), key=lambda box: -cv2.contourArea(box))[:MOST_LINES]
        lines = [self._line(_upright(picture, box)) for box in boxes]
        return [(text, score) for text, score in lines if text.strip() and score >= TEXT_SURE]

    def _boxes(self, picture: Pixels) -> list[Floats]:
        height, width = picture.shape[:2]
        scale = min(max(SHORT_SIDE / min(height, width), 1.0), LONG_SIDE / max(height, width))
        size = tuple(max(STEP, round(side * scale / STEP) * STEP) for side in (width, height))
        prob = _run(self._areas, np.asarray(cv2.resize(picture, size), dtype=np.uint8))[0, 0]
        mask = cv2.dilate((prob > _AREA).astype(np.uint8), np.ones((2, 2), np.uint8))
        contours, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
        back = np.array([width / size[0], height / size[1]], dtype=np.float32)
        boxes = (_grown(np.asarray(contour, dtype=np.int32), prob) for contour in contours[:1_000])
        return [(box * back).astype(np.float32) for box in boxes if box is not None]

    def _line(self, line: Pixels) -> tuple[str, float]:
        head = _run(self._heads, _padded(line, _HEAD_WIDTH))[0]
        if head[1] > _HEAD_SURE:
            line = np.ascontiguousarray(line[::-1, ::-1])
        ratio = line.shape[1] / max(line.shape[0], 1)
        width = min(max(_LINE_WIDTH, math.ceil(_LINE_HEIGHT * ratio)), _LONGEST_LINE)
        steps = _run(self._lines, _padded(line, width))[0]
        best = steps.argmax(axis=1)
        kept = [i for i, n in enumerate(best) if n and (i == 0 or n != best[i - 1])]
        text = "".join(self._alphabet[best[i]] for i in kept)
        return text, float(np.mean([steps[i, best[i]] for i in kept])) if kept else 0.0


def _session(model: Path, threads: int) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _run(session: ort.InferenceSession, picture: NDArray[np.uint8] | Floats) -> Floats:
    """The network's first output for a picture in 0..255."""
    tensor = ((picture.astype(np.float32) / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None]
    (out,) = session.run(None, {session.get_inputs()[0].name: np.ascontiguousarray(tensor)})[:1]
    return np.asarray(out, dtype=np.float32)


def _grown(contour: NDArray[np.int32], prob: Floats) -> Floats | None:
    """The upright or slanted box of a text area, grown to hold whole letters; None where it is too small or too unlikely."""
    rectangle = cv2.minAreaRect(contour)
    (x, y), (w, h), angle = rectangle
    if min(w, h) < _SMALLEST:
        return None
    inside = np.zeros(prob.shape, np.uint8)
    cv2.drawContours(inside, [contour], -1, 1, -1)
    if cv2.mean(prob, inside)[0] < _BOX:
        return None
    grow = w * h * _GROW / (2 * (w + h))
    return np.asarray(cv2.boxPoints(((x, y), (w + 2 * grow, h + 2 * grow), angle)), dtype=np.float32)


def _upright(picture: Pixels, box: Floats) -> Pixels:
    """The line cut out and laid level, left to right."""
    order = box[np.argsort(box[:, 0])]
    left, right = order[:2][np.argsort(order[:2, 1])], order[2:][np.argsort(order[2:, 1])]
    corners = np.array([left[0], right[0], right[1], left[1]], dtype=np.float32)
    width = max(1, round(float(np.linalg.norm(corners[1] - corners[0]))))
    height = max(1, round(float(np.linalg.norm(corners[3] - corners[0]))))
    target = np.array([[0, 0], [width, 0], [width, height], [0, height]], dtype=np.float32)
    line = cv2.warpPerspective(
        picture, cv2.getPerspectiveTransform(corners, target), (width, height), borderMode=cv2.BORDER_REPLICATE
    )
    turned = np.rot90(line) if height >= 1.5 * width else line
    return np.ascontiguousarray(turned, dtype=np.uint8)


def _padded(line: Pixels, width: int) -> Floats:
    """The line 48 pixels high, the rest of `width` in the middle grey that the networks read as nothing."""
    inner = min(width, max(1, math.ceil(_LINE_HEIGHT * line.shape[1] / max(line.shape[0], 1))))
    canvas = np.full((_LINE_HEIGHT, width, 3), 127.5, dtype=np.float32)
    canvas[:, :inner] = cv2.resize(line, (inner, _LINE_HEIGHT))
    return canvas
