"""The worker process: whatever it does, the host gets an answer or a `ModelDown`, and the next picture is looked at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from siteward.integrations.embedded.process import Worker
from siteward.sdk import ModelDown

FAKE = "tests.integrations.embedded.fake_worker"
DEADLINE = 20.0


@pytest_asyncio.fixture
async def worker() -> AsyncIterator[Worker]:
    made = Worker({}, DEADLINE, FAKE)
    yield made
    await made.close()


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_one_process_answers_one_request_after_the_other(worker: Worker) -> None:
    answers = await asyncio.gather(*(worker.ask({"do": "echo"}, [b"x" * n]) for n in range(3)))
    assert [answer["lengths_seen"] for answer in answers] == [[0], [1], [2]]
    assert len({answer["pid"] for answer in answers}) == worker.starts == 1


@pytest.mark.parametrize("way", ["die", "half", "flood", "stale"])
async def test_a_worker_that_breaks_is_down_once_and_starts_anew(worker: Worker, way: str) -> None:
    first = await worker.ask({"do": "echo"}, [])
    with pytest.raises(ModelDown):
        await worker.ask({"do": way}, [])
    again = await worker.ask({"do": "echo"}, [])
    assert again["pid"] != first["pid"]
    assert worker.starts == 2


async def test_a_worker_that_was_killed_in_between_starts_anew_unnoticed(worker: Worker) -> None:
    first = await worker.ask({"do": "echo"}, [])
    assert worker._process is not None
    worker._process.kill()
    await worker._process.wait()
    assert (await worker.ask({"do": "echo"}, []))["pid"] != first["pid"]


async def test_an_overdue_look_is_down_and_its_process_is_gone(worker: Worker) -> None:
    first = await worker.ask({"do": "echo"}, [])
    worker._deadline = 0.05
    with pytest.raises(ModelDown, match="did not answer within"):
        await worker.ask({"do": "hang"}, [])
    assert not alive(first["pid"])
    worker._deadline = DEADLINE
    assert (await worker.ask({"do": "echo"}, []))["lengths_seen"] == []


async def test_the_loop_goes_on_while_a_worker_thinks(worker: Worker) -> None:
    await worker.ask({"do": "echo"}, [])
    look = asyncio.create_task(worker.ask({"do": "hang"}, []))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not look.done()
    look.cancel()
    with pytest.raises(asyncio.CancelledError):
        await look


async def test_a_cancelled_look_never_answers_the_next_one(worker: Worker) -> None:
    first = await worker.ask({"do": "echo"}, [])
    look = asyncio.create_task(worker.ask({"do": "hang"}, []))
    for _ in range(10):
        await asyncio.sleep(0)
    look.cancel()
    with pytest.raises(asyncio.CancelledError):
        await look
    assert not alive(first["pid"])
    assert (await worker.ask({"do": "echo"}, [b"ab"]))["lengths_seen"] == [2]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"fault": "numpy is not installed; install `siteward[vision]`."}, "install `siteward"),
        ({"mute": True}, "could not start"),
    ],
)
async def test_a_worker_that_cannot_start_says_why(settings: dict[str, Any], sentence: str) -> None:
    worker = Worker(settings, DEADLINE, FAKE)
    with pytest.raises(ModelDown, match=sentence):
        await worker.ask({"do": "echo"}, [])
    await worker.close()


async def test_closing_ends_the_process(worker: Worker) -> None:
    pid = (await worker.ask({"do": "echo"}, []))["pid"]
    assert worker.pid == pid
    await worker.close()
    assert worker.pid is None
    assert not alive(pid)
