"""The worker process: loads the networks once, then answers one request after the other until its input ends.

It is started as `python -m siteward.integrations.embedded.worker`, speaks `frames` over standard input and output, and keeps its own standard output clear of what libraries
print. When the host dies, its input ends, and so does the worker.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from .frames import packed, read_message

if TYPE_CHECKING:
    from .scene import Eyes, Scene

MOST_PIXELS = 50_000_000


def main() -> int:
    """Serve standard input. Returns the exit status."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    first = read_message(sys.stdin.buffer)
    if first is None:
        return 0
    try:
        eyes = _eyes(first[0])
    except ImportError as error:
        _say(out, {"fault": f"{error.name or error} is not installed; install `siteward[vision]`."})
        return 1
    except Exception as error:  # noqa: BLE001 (a runtime's own errors have no common type; the host gets the sentence)
        _say(out, {"fault": f"The networks could not be loaded: {error}"})
        return 1
    _say(out, {"ready": True})
    while (message := read_message(sys.stdin.buffer)) is not None:
        body, pictures = message
        _say(out, {"id": body["id"], **_answer(eyes, body, pictures)})
    return 0


def _eyes(settings: dict[str, Any]) -> Eyes:
    os.environ["OPENCV_IO_MAX_IMAGE_PIXELS"] = str(MOST_PIXELS)
    from pathlib import Path

    import cv2

    from .detector import Detector
    from .reader import ReaderFiles, TextReader
    from .scene import Eyes
    from .tagger import Tagger

    threads = int(settings["threads"])
    cv2.setNumThreads(threads)
    reader = (
        TextReader(ReaderFiles(*(Path(p) for p in settings["reader"])), threads) if settings.get("reader") else None
    )
    tagger = Tagger(Path(settings["tagger"]), Path(settings["labels"]), threads)
    return Eyes(Detector(Path(settings["detector"]), threads), tagger, reader)


def _answer(eyes: Eyes, body: dict[str, Any], pictures: list[bytes]) -> dict[str, Any]:
    import cv2
    import numpy as np

    scenes: list[Scene] = []
    try:
        for data in pictures:
            picture = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_COLOR)
            if picture is None:
                return {"unreadable": True}
            scenes.append(eyes.look(np.asarray(picture, dtype=np.uint8), text=bool(body.get("text"))))
    except cv2.error:
        return {"unreadable": True}
    scene = _main(scenes)
    return {"facts": dict(scene.facts), "scores": dict(scene.scores), "reason": scene.reason}


def _main(scenes: Sequence[Scene]) -> Scene:
    """Of several pictures the one that shows most: a vehicle before people before nothing, the clearest first."""
    return max(
        scenes,
        key=lambda scene: (
            scene.facts["vehicle"] != "none",
            scene.facts["people"] != "none",
            scene.scores["vehicle"] + scene.scores["people"],
        ),
    )


def _say(out: BinaryIO, body: dict[str, Any]) -> None:
    out.write(packed(body))
    out.flush()


if __name__ == "__main__":
    sys.exit(main())
