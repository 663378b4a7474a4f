"""A worker that behaves as it is told: for the tests of the host's side."""

from __future__ import annotations

import os
import sys
import time

from siteward.integrations.embedded.frames import packed, read_message


def main() -> None:
    """Answer `echo`; otherwise fail in the way that the request or the settings name."""
    first = read_message(sys.stdin.buffer)
    assert first is not None
    if "fault" in first[0]:
        say({"fault": first[0]["fault"]})
        return
    if first[0].get("mute"):
        return
    say({"ready": True})
    while (message := read_message(sys.stdin.buffer)) is not None:
        body, blobs = message
        match body["do"]:
            case "echo":
                say({"id": body["id"], "pid": os.getpid(), "lengths_seen": [len(blob) for blob in blobs]})
            case "hang":
                time.sleep(600)
            case "die":
                os._exit(3)
            case "half":
                sys.stdout.buffer.write(packed({"id": body["id"]})[:5])
                sys.stdout.buffer.flush()
                os._exit(0)
            case "flood":
                sys.stdout.buffer.write(b"\xff" * 64)
                sys.stdout.buffer.flush()
            case "stale":
                say({"id": body["id"] - 1})


def say(body: dict[str, object]) -> None:
    """One message to the host."""
    sys.stdout.buffer.write(packed(body))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
