"""A case's picture as a model gets it: cut, drawn over where the case says so, and encoded without loss."""

from __future__ import annotations

from siteward.core.agent import Image
from siteward.core.errors import ConfigurationInvalid

from .cases import Case

_PALE, _INK = (245, 245, 245), (20, 20, 20)


def picture_of(case: Case) -> Image:
    """The picture. Raises `ConfigurationInvalid` where it cannot be read or the extra `vision` is not installed."""
    try:
        import cv2
        import numpy as np
    except ImportError as error:
        raise ConfigurationInvalid(
            "Cutting pictures needs OpenCV: install `siteward[vision]`.", code="vision.missing"
        ) from error
    whole = cv2.imread(str(case.picture), cv2.IMREAD_COLOR)
    if whole is None:
        raise ConfigurationInvalid(f"The picture {case.picture} cannot be read.", code="cases.invalid", where=case.id)
    if case.drawn is not None:
        left, top, right, bottom = case.drawn.box
        cv2.rectangle(whole, (left, top), (right, bottom), _PALE, -1)
        font = cv2.FONT_HERSHEY_SIMPLEX
        (width, height), _ = cv2.getTextSize(case.drawn.text, font, 1.0, 2)
        scale = min((right - left) * 0.9 / width, (bottom - top) * 0.6 / height)
        place = (left + round((right - left - width * scale) / 2), bottom - round((bottom - top - height * scale) / 2))
        cv2.putText(whole, case.drawn.text, place, font, scale, _INK, max(1, round(2 * scale)), cv2.LINE_AA)
    if case.box is not None:
        left, top, right, bottom = case.box
        whole = whole[top:bottom, left:right]
    if not whole.size:
        raise ConfigurationInvalid(
            f"The box of the case {case.id} lies outside its picture.", code="cases.invalid", where=case.id
        )
    _, encoded = cv2.imencode(".png", np.ascontiguousarray(whole))
    return Image(encoded.tobytes(), "image/png")
