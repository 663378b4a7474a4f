"""The worker process seen from the host: started when needed, asked under a deadline, and started anew when it died."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from siteward.sdk.agent import ModelDown

from .frames import head_size, packed, sizes, unpacked

START_SECONDS = 30.0
MODULE = "siteward.integrations.embedded.worker"


class Worker:
    """One worker process at most, one request at a time; others wait in line. A request that is cancelled or overdue costs the process its
    life: what it would still say belongs to nobody."""

    def __init__(self, settings: Mapping[str, Any], deadline: float, module: str = MODULE) -> None:
        self._settings = settings
        self._deadline = deadline
        self._module = module
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._asked = 0
        self.starts = 0

    @property
    def pid(self) -> int | None:
        """The process id, None where none runs."""
        return None if self._process is None or self._process.returncode is not None else self._process.pid

    async def ask(self, body: Mapping[str, Any], blobs: Sequence[bytes]) -> dict[str, Any]:
        """One request. Raises `ModelDown` where the worker cannot start, dies or does not answer in time."""
        async with self._turn:
            whole = False
            try:
                process = await self._running()
                answer = await self._exchange(process, body, blobs)
                whole = True
            finally:
                if not whole:
                    await self._end()
            return answer

    async def close(self) -> None:
        """End the process."""
        async with self._turn:
            await self._end()

    async def _exchange(
        self, process: asyncio.subprocess.Process, body: Mapping[str, Any], blobs: Sequence[bytes]
    ) -> dict[str, Any]:
        self._asked += 1
        try:
            async with asyncio.timeout(self._deadline):
                await _send(process, packed({**body, "id": self._asked}, blobs))
                answer = await _receive(process)
        except TimeoutError:
            raise ModelDown(f"The embedded perception did not answer within {self._deadline:g} seconds.") from None
        except (OSError, EOFError, ValueError):
            raise ModelDown(
                "The embedded perception stopped while it looked; it starts again for the next picture."
            ) from None
        if answer.get("id") != self._asked:
            raise ModelDown("The embedded perception answered something else.")
        return answer

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is not None and self._process.returncode is None:
            return self._process
        await self._end()
        environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "PYTHONUNBUFFERED": "1"}
        self.starts += 1
        try:
            async with asyncio.timeout(START_SECONDS):
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    self._module,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    env=environment,
                )
                await _send(self._process, packed(self._settings))
                said = await _receive(self._process)
        except TimeoutError:
            raise ModelDown(f"The embedded perception did not start within {START_SECONDS:g} seconds.") from None
        except (OSError, EOFError, ValueError):
            raise ModelDown("The embedded perception could not start.") from None
        if fault := said.get("fault"):
            raise ModelDown(str(fault))
        return self._process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        if process.returncode is None:
            process.kill()
        await process.wait()
        # the pipes' transports close when their ends are seen
        if process.stdout is not None:
            await process.stdout.read()


async def _send(process: asyncio.subprocess.Process, message: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(message)
    await process.stdin.drain()


async def _receive(process: asyncio.subprocess.Process) -> dict[str, Any]:
    assert process.stdout is not None
    try:
        text, data = sizes(await process.stdout.readexactly(head_size()))
        body, _ = unpacked(await process.stdout.readexactly(text), await process.stdout.readexactly(data))
    except asyncio.IncompleteReadError:
        raise EOFError from None
    return body
