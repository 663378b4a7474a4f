"""What blocks the loop is named, once, and its end is said."""

from __future__ import annotations

import asyncio
import time

import pytest

from siteward.core import loop_watch
from siteward.core.loop_watch import LoopWatch


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_watch, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(loop_watch, "BLOCKED_SECONDS", 0.2)


def code_of_an_integration_that_never_waits(said: pytest.LogCaptureFixture) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until and not said.records:
        pass


async def test_code_that_blocks_the_loop_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with LoopWatch().running():
        await asyncio.sleep(0.05)
        code_of_an_integration_that_never_waits(caplog)
        await asyncio.sleep(0.1)
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 1
    assert "code_of_an_integration_that_never_waits" in errors[0]
    assert "test_loop_watch.py" in errors[0]
    assert any("The host goes on" in record.getMessage() for record in caplog.records)


async def test_a_loop_that_comes_round_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    with LoopWatch().running():
        await asyncio.sleep(0.05)
    assert caplog.records == []
