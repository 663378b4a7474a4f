"""What a host writes on its log: what each record is about, one line each for programs, and never a secret."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from siteward.core.logs import LogFormat, about, write_logs

log = logging.getLogger("siteward.test_logs")


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def written(style: LogFormat, *secrets: str) -> io.StringIO:
    said = io.StringIO()
    write_logs(style, secrets=secrets, stream=said)
    return said


def records(said: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.getvalue().splitlines()]


def test_a_record_says_what_it_is_about() -> None:
    said = written(LogFormat.JSON)
    with about(run="r1", workflow="w1", correlation_id="c1"):
        with about(step="then.0", event="e1"):
            log.warning("The gate is %s.", "slow")
        log.info("after")
    log.info("outside")
    first, second, third = records(said)
    assert first["message"] == "The gate is slow."
    assert (first["level"], first["logger"]) == ("warning", "siteward.test_logs")
    assert {name: first[name] for name in ("run", "workflow", "correlation_id", "step", "event")} == {
        "run": "r1",
        "workflow": "w1",
        "correlation_id": "c1",
        "step": "then.0",
        "event": "e1",
    }
    assert ("step" in second, second["run"]) == (False, "r1")
    assert "run" not in third


async def test_two_runs_at_once_never_mix() -> None:
    said = written(LogFormat.JSON)
    there = asyncio.Barrier(2)

    async def drive(run: str) -> None:
        with about(run=run):
            await there.wait()
            log.info("I am %s", run)

    async with asyncio.TaskGroup() as group:
        for run in ("one", "two"):
            group.create_task(drive(run))
    assert sorted((one["run"], one["message"]) for one in records(said)) == [
        ("one", "I am one"),
        ("two", "I am two"),
    ]


@pytest.mark.parametrize("style", list(LogFormat))
def test_no_record_shows_a_secret(style: LogFormat) -> None:
    said = written(style, "hunter22", "no", "hunter22-and-longer")
    try:
        raise RuntimeError("http://user:hunter22-and-longer@nvr is not there")
    except RuntimeError:
        log.exception("Asked %s: no answer.", "http://user:hunter22@nvr")
    text = said.getvalue()
    assert "hunter22" not in text
    assert "and-longer" not in text
    assert "no answer" in text
    assert "RuntimeError" in text


@pytest.mark.parametrize("style", list(LogFormat))
def test_a_text_from_outside_writes_no_record_of_its_own(style: LogFormat) -> None:
    said = written(style)
    forged = "A\nERROR siteward: all is lost\x1b[2J\u2028x\udce4"
    log.warning("The plate %s is not known.", forged)
    try:
        raise ValueError(forged)
    except ValueError:
        log.exception("It broke.")
    lines = said.getvalue().splitlines()
    assert not any(line.startswith("ERROR siteward: all") for line in lines)
    assert "\x1b" not in said.getvalue()


def test_the_trace_of_an_error_stays_on_its_line() -> None:
    said = written(LogFormat.JSON)
    try:
        raise ValueError("no")
    except ValueError:
        log.exception("It broke.")
    (record,) = records(said)
    assert record["error"] == "ValueError"
    assert record["trace"].startswith("Traceback")


def test_a_line_for_a_person_names_the_run_once() -> None:
    said = written(LogFormat.TEXT)
    with about(run="01ABC", workflow="w"):
        log.warning("A step raised.")
        log.warning("Run 01ABC cannot be driven.")
    assert said.getvalue().splitlines() == [
        "WARNING siteward.test_logs: A step raised. [run 01ABC]",
        "WARNING siteward.test_logs: Run 01ABC cannot be driven.",
    ]
