"""What a schedule's `missed` says of the times that passed while nobody was there to fire them."""

from __future__ import annotations

import pytest

from siteward.core.store.schema import alerts, events

from .house import House

ROUNDS = """
contract: workflow.v1
name: Rounds
limits: { cooldown: 0s }
when:
  schedule: { every: 15m%s }
then:
  - log: "a round"
"""


async def rounds(house: House) -> int:
    """How often it fired. Each is an event of its own; one that meets a run under way is counted on that, as the file's limits say."""
    return [row["type"] for row in await house.rows(events)].count("schedule")


async def told(house: House) -> list[str]:
    return [row["message"] for row in await house.rows(alerts) if "missed" in row["title"]]


@pytest.mark.parametrize(
    ("written", "fired", "said"),
    [
        ("", 1, "; fired for the newest time only."),
        (", missed: once", 1, "; fired for the newest time only."),
        (", missed: all", 3, None),
        (", missed: skip", 0, ": this schedule skips what is late."),
    ],
)
async def test_the_file_says_what_becomes_of_missed_times(
    house: House, written: str, fired: int, said: str | None
) -> None:
    await house.save(ROUNDS % written)
    due = await house.engine._next_due()
    assert due is not None
    await house.passes((due - house.clock.now()).total_seconds() + 40 * 60)
    assert await rounds(house) == fired
    assert [message for message in await told(house) if said and message.endswith(said)] == await told(house)
    assert bool(await told(house)) is (said is not None)


async def test_another_word_on_missed_times_keeps_the_due_time(house: House) -> None:
    workflow = await house.save(ROUNDS % "")
    due = await house.engine._next_due()
    assert due is not None
    # Nobody fires what is late before the file is saved: neither the timer nor the sweeper.
    await house.engine._tasks.stop(0)
    await house.clock.advance((due - house.clock.now()).total_seconds() + 35 * 60)
    await house.engine.save_workflow(ROUNDS % ", missed: all", "user:admin", workflow_id=workflow, base_version=1)
    assert await house.engine._next_due() == due
    await house.passes(1)
    assert await rounds(house) == 3
