"""The demo site's folder: written once, never over something that is there."""

from __future__ import annotations

import socket
from importlib.resources import files
from pathlib import Path
from typing import Final

from siteward.core.site_folder import BLUEPRINTS, CONFIGURATION, WORKFLOWS

_PORT_MARK: Final = "@GATE_PORT@"


def free_port() -> int:
    """A TCP port of this machine that nobody listens on now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write_demo_site(folder: Path) -> bool:
    """Write configuration and workflows of the demo into `folder`, with a free port for its gate. False where a site is there already.

    Raises `OSError` where the folder cannot be written.
    """
    if (folder / CONFIGURATION).exists():
        return False
    source = files("siteward.integrations.demo")
    (folder / WORKFLOWS).mkdir(parents=True, exist_ok=True)
    (folder / BLUEPRINTS).mkdir(exist_ok=True)
    for file in (source / WORKFLOWS).iterdir():
        if file.name.endswith(".yaml"):
            (folder / WORKFLOWS / file.name).write_bytes(file.read_bytes())
    text = (source / "site" / CONFIGURATION).read_text(encoding="utf-8").replace(_PORT_MARK, str(free_port()))
    # Last, and in one go: a folder without a configuration is written anew.
    new = folder / (CONFIGURATION + ".new")
    new.write_text(text, encoding="utf-8")
    new.replace(folder / CONFIGURATION)
    return True
