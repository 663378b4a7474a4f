"""Makes the environments of the peers, each on first use and none a dependency of ours. Standard library only.

They lie under `.bench/` in the checkout (or where `SITEWARD_BENCH` says), one folder per peer, with a stamp of what is in it: a changed pin makes it anew.
    dbos            DBOS 3.4.0 with psycopg 3.3.9
    home_assistant  Home Assistant 2024.3.3 with what its automations need (`.ci/home-assistant.txt`); Python 3.11 or 3.12
    restate         the Python SDK 1.3.0 with hypercorn and aiohttp, and the server 1.7.12, a binary inside its npm package
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
DBOS: Final = ("dbos==3.4.0", "psycopg[binary]==3.3.9")
RESTATE: Final = ("restate_sdk[serde]==1.3.0", "hypercorn==0.18.0", "aiohttp==3.14.5")
RESTATE_SERVER: Final = "@restatedev/restate-server@1.7.12"
HOME_ASSISTANT: Final = ROOT / ".ci" / "home-assistant.txt"
HOME_ASSISTANT_PYTHONS: Final = ("python3.11", "python3.12")


class CannotInstall(Exception):
    """A peer could not be had; the text says what failed."""


def home() -> Path:
    """Where the environments lie."""
    return Path(os.environ.get("SITEWARD_BENCH", ROOT / ".bench")).resolve()


def dbos() -> Path:
    """The Python that has DBOS. Raises `CannotInstall`."""
    return _environment("dbos", DBOS, (sys.executable,))


def home_assistant() -> Path:
    """The Python that has Home Assistant. Raises `CannotInstall`."""
    requirements = HOME_ASSISTANT.read_text().split()
    return _environment("home_assistant", requirements, (*HOME_ASSISTANT_PYTHONS, sys.executable))


def restate() -> Path:
    """The Python that has Restate's SDK. Raises `CannotInstall`."""
    return _environment("restate", RESTATE, (sys.executable,))


def restate_server() -> Path:
    """Restate's server. Raises `CannotInstall`."""
    folder = home() / "restate_server"
    stamp = folder / "made-for"
    if not (stamp.exists() and stamp.read_text() == RESTATE_SERVER):
        npm = shutil.which("npm")
        if npm is None:
            raise CannotInstall(f"{RESTATE_SERVER} comes from npm, and there is no npm: install Node.js.")
        folder.mkdir(parents=True, exist_ok=True)
        _call((npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", RESTATE_SERVER))
        stamp.write_text(RESTATE_SERVER)
    found = sorted((folder / "node_modules" / "@restatedev").glob("restate-server-*/bin/restate-server"))
    if not found:
        raise CannotInstall(f"{RESTATE_SERVER} brought no binary for this machine.")
    return found[0]


def _environment(name: str, requirements: Sequence[str], pythons: Sequence[str]) -> Path:
    folder = home() / name
    python, stamp, wanted = folder / "bin" / "python", folder / "made-for", "\n".join(requirements)
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    base = next((found for found in map(shutil.which, pythons) if found is not None), None)
    if base is None:
        raise CannotInstall(f"{name} needs one of {', '.join(pythons)}: install it.")
    print(f"Installing {name} into {folder} ...", file=sys.stderr, flush=True)
    _call((base, "-m", "venv", "--clear", str(folder)))
    pip = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _call((*pip, "uv"))
    _call((str(folder / "bin" / "uv"), "pip", "install", "--quiet", "--python", str(python), *requirements))
    stamp.write_text(wanted)
    return python


def _call(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CannotInstall(f"{command[0]} could not be started: {error}") from error
    if done.returncode != 0:
        raise CannotInstall(f"{' '.join(command)} ended with {done.returncode}: {(done.stderr or done.stdout)[-800:]}")
