"""What any code logs while a run is driven says which run, event and step it was about."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from siteward.core.logs import LogFormat, write_logs
from siteward.core.plugins.objects import ActionCall

from .house import House
from .test_recovery import GATE


@pytest.fixture
def said() -> Iterator[io.StringIO]:
    """The log of this process, as JSON lines."""
    root = logging.getLogger()
    handlers, level, stream = root.handlers[:], root.level, io.StringIO()
    write_logs(LogFormat.JSON, stream=stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


async def test_an_integration_that_logs_says_which_run_it_was_for(house: House, said: io.StringIO) -> None:
    workflow = await house.save(GATE)

    async def complain(call: ActionCall) -> None:
        logging.getLogger("relay").warning("The relay is slow.")

    house.outside.before["gate.open"] = complain
    event = house.vehicle()
    run = await house.happens(event)
    (record,) = [one for one in map(json.loads, said.getvalue().splitlines()) if one["logger"] == "relay"]
    assert {name: record[name] for name in ("run", "workflow", "event", "correlation_id", "step")} == {
        "run": run,
        "workflow": workflow,
        "event": event.id,
        "correlation_id": event.id,
        "step": "then.0",
    }
    logging.getLogger("after").warning("Nothing in particular.")
    assert "run" not in json.loads(said.getvalue().splitlines()[-1])
