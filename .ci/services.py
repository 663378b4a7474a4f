"""Starts every outside service that Siteward's tests use or will use, once and empty, and prints what each costs.

A service that does not come up fails the run: a later test that needs it would otherwise be left out in silence.
Standard library only, so that it runs before anything is installed. Usage: services.py SCRATCH_DIR
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
READY_WITHIN = 120.0


class Down(Exception):
    """A service did not come up; the text says which and what it printed last."""


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def accepts(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2):
            return True
    except urllib.error.HTTPError:
        return True  # 401 is an answer: the server is up
    except OSError:
        return False


def tree_mib(pid: int) -> float:
    """Resident memory of a process and its children, MiB."""
    listing = subprocess.run(["ps", "-eo", "pid=,ppid=,rss="], capture_output=True, text=True, check=True).stdout
    rows = [tuple(map(int, line.split())) for line in listing.splitlines()]
    wanted, total = {pid}, 0
    while grown := {child for child, parent, _ in rows if parent in wanted} - wanted:
        wanted |= grown
    for process, _, rss in rows:
        total += rss if process in wanted else 0
    return total / 1024


@contextlib.contextmanager
def started(command: list[str], log: Path, user: str | None = None) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True, user=user
        )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def measure(name: str, command: list[str], ready: Callable[[], bool], scratch: Path, user: str | None = None) -> None:
    log = scratch / f"{name}.log"
    begun = time.monotonic()
    with started(command, log, user) as process:
        while not ready():
            if process.poll() is not None or time.monotonic() - begun > READY_WITHIN:
                raise Down(f"{name} did not come up: {log.read_text(errors='replace')[-600:]}")
            time.sleep(0.05)
        seconds = time.monotonic() - begun
        print(f"  {name:<16} up in {seconds:5.1f} s, {tree_mib(process.pid):6.0f} MiB resident", flush=True)


def postgresql(scratch: Path) -> None:
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    home, port = scratch / "pg", free_port()
    home.mkdir()
    shutil.chown(home, "postgres")
    subprocess.run(
        [str(binaries / "initdb"), "-D", str(home / "data"), "-A", "trust", "--no-sync"],
        check=True,
        stdout=subprocess.DEVNULL,
        user="postgres",
        cwd=home,
    )
    command = [
        str(binaries / "postgres"),
        "-D",
        str(home / "data"),
        "-p",
        str(port),
        "-k",
        str(home),
        "-h",
        "127.0.0.1",
    ]
    measure("postgresql", command, lambda: accepts(port), scratch, "postgres")


def mosquitto(scratch: Path) -> None:
    port, conf = free_port(), scratch / "mosquitto.conf"
    conf.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\n")
    measure("mosquitto", ["mosquitto", "-c", str(conf)], lambda: accepts(port), scratch)


def nats(scratch: Path) -> None:
    port = free_port()
    command = ["nats-server", "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(scratch / "nats")]
    measure("nats-server", command, lambda: accepts(port), scratch)


def sip_peer(scratch: Path) -> None:
    port = free_port(socket.SOCK_DGRAM)
    command = [
        "sipp",
        "-sn",
        "uas",
        "-i",
        "127.0.0.1",
        "-p",
        str(port),
        "-mi",
        "127.0.0.1",
        "-nostdin",
        "-timeout",
        "60",
    ]

    def ready() -> bool:
        """A UDP port answers nothing before a call; the kernel's table says that it is bound."""
        return f":{port:04X} " in Path("/proc/net/udp").read_text()

    measure("sipp", command, ready, scratch)


def chromium(scratch: Path) -> None:
    port = free_port()
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={scratch / 'chromium'}", f"--remote-debugging-port={port}", "about:blank",
    ]  # fmt: skip
    measure("chromium", command, lambda: answers(f"http://127.0.0.1:{port}/json/version"), scratch)


def rtsp(scratch: Path) -> None:
    port, media = free_port(), scratch / "media"
    media.mkdir()
    clip = ["ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc=size=320x240:rate=10", "-t", "2"]
    subprocess.run([*clip, "-c:v", "libx264", "-pix_fmt", "yuv420p", str(media / "test.mp4")], check=True)
    home = make_venv(scratch / "rtsp-env", ["aio-rtsp-toolkit==0.1.4", "av"])
    command = [str(home / "bin/rtsp-server"), "--dir", str(media), "--host", "127.0.0.1", "--port", str(port)]
    measure("rtsp-server", command, lambda: accepts(port), scratch)


def home_assistant(scratch: Path) -> None:
    requirements = [line for line in (HERE / "home-assistant.txt").read_text().splitlines() if line]
    home = make_venv(scratch / "ha-env", requirements)
    port, config, pages = free_port(), scratch / "ha", scratch / "ha-pages" / "hass_frontend"
    config.mkdir()
    for folder in ("static", "frontend_latest", "frontend_es5"):
        (pages / folder).mkdir(parents=True)
    for page in ("service_worker.js", "robots.txt", "onboarding.html", "authorize.html", "index.html"):
        (pages / page).write_text("")
    (config / "configuration.yaml").write_text(
        "homeassistant: {name: Test, latitude: 0, longitude: 0, elevation: 0, unit_system: metric, time_zone: UTC}\n"
        f"http: {{server_host: 127.0.0.1, server_port: {port}}}\napi:\nwebsocket_api:\n"
        f"frontend: {{development_repo: {pages.parent}}}\n"
    )
    command = [str(home / "bin/hass"), "-c", str(config), "--skip-pip"]
    measure("home-assistant", command, lambda: answers(f"http://127.0.0.1:{port}/api/"), scratch)


def make_venv(home: Path, requirements: list[str]) -> Path:
    begun = time.monotonic()
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = str(home / "bin/python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "uv"], check=True)
    subprocess.run([str(home / "bin/uv"), "pip", "install", "--quiet", "--python", python, *requirements], check=True)
    size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file() and not path.is_symlink())
    print(f"  {requirements[0]:<24} installed in {time.monotonic() - begun:.0f} s, {size / 2**20:.0f} MiB", flush=True)
    return home


def main() -> int:
    scratch = Path(sys.argv[1])
    scratch.mkdir(parents=True, exist_ok=True)
    scratch.chmod(0o755)  # the database server runs as its own user
    failed = 0
    for service in (postgresql, mosquitto, nats, sip_peer, chromium, rtsp, home_assistant):
        try:
            service(scratch)
        except (Down, OSError, subprocess.CalledProcessError, IndexError) as error:
            print(f"  {service.__name__}: {error}", file=sys.stderr, flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
