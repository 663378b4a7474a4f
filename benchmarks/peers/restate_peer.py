"""Restate 1.7.12 with its Python SDK 1.3.0: one service handler of two recorded steps, called over Restate's ingress by so many clients at once.

The unit: an HTTP call with the event -> `ctx.run` that decides the `if` -> `ctx.run` that records (its result is the record) -> the handler's result, which is the
answer. Four journal entries; the answer comes after the last is durable. A call is Restate's own way to start a run: the events of ours come in process, so
Restate also pays for HTTP here, as it would on a site.

Settings: the server as shipped (one node, RocksDB with a synced log under a temporary folder), bound to this machine, telemetry off; the service under hypercorn
with one worker (HTTP/2) in a process of its own; the client is aiohttp with as many connections as are asked for at once. `--server` is the server's binary.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import aiohttp
import restate

from benchmarks.peers.worker import Told, serve

READY_WITHIN = 60.0
LARGEST = 1000

service = restate.Service("bench")


@service.handler()
async def unit(ctx: restate.Context, event: dict[str, Any]) -> str:
    met = await ctx.run_typed("if", lambda: event["zone"] == "apron")
    if not met:
        return "not met"
    return await ctx.run_typed("record", lambda: f"seen {event['track']}")


app = restate.app([service])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def started(command: list[str], folder: Path, environment: dict[str, str]) -> Any:
    with (folder / f"{Path(command[0]).name}.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


async def registered(session: aiohttp.ClientSession, admin: int, port: int) -> None:
    """Tell the server where the service is, once both answer."""
    until = time.monotonic() + READY_WITHIN
    while True:
        with contextlib.suppress(aiohttp.ClientError):
            told = {"uri": f"http://127.0.0.1:{port}", "use_http_11": False}
            async with session.post(f"http://127.0.0.1:{admin}/deployments", json=told) as answer:
                if answer.status < 300:
                    return
                said = await answer.text()
        if time.monotonic() > until:
            raise RuntimeError(f"Restate did not take the service: {said}")
        await asyncio.sleep(0.2)


async def run(server: str, folder: Path) -> None:
    told = Told()
    ingress, admin, node, port = (free_port() for _ in range(4))
    environment = {
        "RESTATE_BASE_DIR": str(folder / "data"),
        "RESTATE_BIND_IP": "127.0.0.1",
        "RESTATE_BIND_ADDRESS": f"127.0.0.1:{node}",
        "RESTATE_ADVERTISED_ADDRESS": f"http://127.0.0.1:{node}",
        "RESTATE_INGRESS__BIND_ADDRESS": f"127.0.0.1:{ingress}",
        "RESTATE_ADMIN__BIND_ADDRESS": f"127.0.0.1:{admin}",
        "RESTATE_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "1",
        "RESTATE_LOG_FILTER": "warn",
    }
    hypercorn = [
        *(str(Path(sys.executable).parent / "hypercorn"), "--bind", f"127.0.0.1:{port}", "--workers", "1"),
        "benchmarks.peers.restate_peer:app",
    ]
    connector = aiohttp.TCPConnector(limit=LARGEST)
    with started([server], folder, environment), started(hypercorn, folder, {}):
        async with aiohttp.ClientSession(connector=connector) as session:
            await registered(session, admin, port)

            async def one(number: int) -> None:
                event = {"id": f"e{number}", "camera": "cam-1", "zone": "apron", "seconds": 5, "track": f"t{number}"}
                async with session.post(f"http://127.0.0.1:{ingress}/bench/unit", json=event) as answer:
                    said = await answer.json()
                if said != f"seen t{number}":
                    raise RuntimeError(f"Restate answered {said}")

            async def recorded() -> int:
                query = {"query": "SELECT COUNT(*) AS n FROM sys_invocation WHERE status = 'completed'"}
                headers = {"Accept": "application/json"}
                async with session.post(f"http://127.0.0.1:{admin}/query", json=query, headers=headers) as answer:
                    return int((await answer.json())["rows"][0]["n"])

            await serve(told, {"server": "as shipped", "workers": 1}, one, recorded)


def main() -> None:
    reads = argparse.ArgumentParser()
    reads.add_argument("--server", required=True)
    asked = reads.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(asked.server, Path(folder)))


if __name__ == "__main__":
    main()
