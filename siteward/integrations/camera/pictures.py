"""What counts as a picture: JPEG or PNG by its first bytes, of a size that a camera gives."""

from __future__ import annotations

from typing import Final

MOST_BYTES: Final = 8 * 1024 * 1024
SUFFIXES: Final = (".jpg", ".jpeg", ".png")

# The first bytes of a JPEG (ITU-T T.81, B.1.1.3: SOI and the next marker) and of a PNG (RFC 2083, 3.1).
_SIGNATURES: Final = ((b"\xff\xd8\xff", "image/jpeg"), (b"\x89PNG\r\n\x1a\n", "image/png"))


class NoPicture(ValueError):
    """The bytes are no picture; the sentence says why, without a subject."""


def content_type_of(data: bytes) -> str:
    """The content type of a picture's bytes, whatever its sender calls them. Raises `NoPicture`."""
    if not data:
        raise NoPicture("is empty")
    if len(data) > MOST_BYTES:
        raise NoPicture(f"is over {MOST_BYTES // 1024 // 1024} MiB")
    for begins, content_type in _SIGNATURES:
        if data.startswith(begins):
            return content_type
    raise NoPicture("is no JPEG or PNG picture")
