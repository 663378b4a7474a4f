"""What host and worker say to each other: length, JSON, then the pictures' bytes. Small, so that neither side imports the other's world."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

MOST_BYTES = 64 * 1024 * 1024
_HEAD = struct.Struct(">II")


def packed(body: Mapping[str, Any], blobs: Sequence[bytes] = ()) -> bytes:
    """One message: the body (which gets the blobs' lengths) and the blobs."""
    text = json.dumps({**body, "lengths": [len(blob) for blob in blobs]}).encode()
    data = b"".join(blobs)
    return _HEAD.pack(len(text), len(data)) + text + data


def head_size() -> int:
    """Bytes to read first."""
    return _HEAD.size


def sizes(head: bytes) -> tuple[int, int]:
    """The lengths of the JSON and of the blobs. Raises `ValueError` where they cannot be."""
    text, data = _HEAD.unpack(head)
    if text + data > MOST_BYTES:
        raise ValueError("The message is too large.")
    return int(text), int(data)


def unpacked(text: bytes, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """The body and its blobs."""
    body: dict[str, Any] = json.loads(text)
    blobs, at = [], 0
    for length in body.get("lengths", ()):
        blobs.append(data[at : at + length])
        at += length
    return body, blobs


def read_message(stream: BinaryIO) -> tuple[dict[str, Any], list[bytes]] | None:
    """The next message of a blocking stream; None at its end."""
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    text, data = sizes(head)
    return unpacked(stream.read(text), stream.read(data))
