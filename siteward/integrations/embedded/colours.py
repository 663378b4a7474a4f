"""The main colour of what is in the middle of a picture, by hue, saturation and value."""

from __future__ import annotations

import cv2
import numpy as np

from .detector import Pixels

_MIDDLE = 0.25
"""What is left out at each side: surroundings."""
_DARK, _BRIGHT, _PALE = 60, 165, 55
_ENOUGH = 0.3
"""The share of the middle that a colour must have."""
_HUES = (
    (8, "red"),
    (20, "orange"),
    (33, "yellow"),
    (85, "green"),
    (130, "blue"),
    (165, "unknown"),
    (180, "red"),
)
"""Upper ends of hue (0 to 179 as OpenCV counts); the violet span has no name here."""


def colour_of(picture: Pixels) -> tuple[str, float]:
    """The colour's name and its share of the middle; `unknown` where no colour has enough of it."""
    height, width = picture.shape[:2]
    y, x = int(height * _MIDDLE), int(width * _MIDDLE)
    middle = picture[y : height - y or height, x : width - x or width]
    hsv = cv2.cvtColor(np.ascontiguousarray(middle), cv2.COLOR_BGR2HSV).reshape(-1, 3).astype(np.int32)
    hue, saturation, value = hsv[:, 0], hsv[:, 1], hsv[:, 2]
    dark = value < _DARK
    pale = ~dark & (saturation < _PALE)
    coloured = ~dark & ~pale
    shares = {
        "black": float(dark.mean()),
        "white": float((pale & (value >= _BRIGHT)).mean()),
        "grey": float((pale & (value < _BRIGHT)).mean()),
    }
    lower = 0
    for upper, name in _HUES:
        span = coloured & (hue >= lower) & (hue < upper)
        brown = span & (value < 120) if name == "orange" else np.zeros_like(span)
        shares["brown"] = shares.get("brown", 0.0) + float(brown.mean())
        shares[name] = shares.get(name, 0.0) + float((span & ~brown).mean())
        lower = upper
    best = max(shares, key=lambda one: shares[one])
    return (best, shares[best]) if shares[best] >= _ENOUGH else ("unknown", 1 - shares[best])
