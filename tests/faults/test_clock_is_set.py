"""The wall clock of the machine is set while the host runs, forward and back, by an hour or by years: what waits keeps the time that it had left,
no gate is silenced, schedules go by the new time and fire no time twice, and an alert tells it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from sqlalchemy import select

from siteward.core.clock import is_set
from siteward.core.engine.jumps import Jumps
from siteward.core.engine.waits import AlreadyAnswered
from siteward.core.errors import Unreachable
from siteward.core.store.errors import ReadFailed
from siteward.core.store.schema import alerts, counters, waits, workflow_approvals
from siteward.core.store.writer import Op
from siteward.sdk.simulated_clock import START, SimulatedClock
from tests.engine.house import GUARD, House
from tests.engine.test_acting import TELLS

from .guests import goes_by, until

HOUR = 3600.0
YEARS = 2 * 365 * 24 * HOUR
TO_1970 = -START.timestamp() + 60
JUMPS = pytest.mark.parametrize(
    "jump", [HOUR, -HOUR, YEARS, -YEARS, TO_1970], ids=["hour", "hour-back", "years", "years-back", "1970"]
)
ASKS = """
contract: workflow.v1
name: Gate
limits: { cooldown: 10m, per_hour: 2 }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - ask_person: { who: role:guard, message: "A car", replies: [Let in], timeout: 10m, escalate: [{ after: 5m, who: role:boss }] }
    Let in:
      - gate.open: { gate: main_gate }
    no_answer: [log: "nobody answered"]
"""
WAITS = """
contract: workflow.v1
name: Waits
limits: { cooldown: 10m }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - wait: 10m
  - log: "waited"
"""
WAITS_FOR = """
contract: workflow.v1
name: Waits for
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - wait_for: { gate.changed: { to: open }, timeout: 10m }
    happened: [log: "open"]
    not_happened: [log: "shut"]
"""
ROUNDS = """
contract: workflow.v1
name: Rounds
limits: { cooldown: 0s }
when:
  schedule: %s
then:
  - log: "round"
"""


@JUMPS
async def test_a_question_stays_open_for_as_long_as_it_had_left(house: House, jump: float) -> None:
    await house.save(ASKS)
    await house.happens(house.vehicle())
    await house.passes(60)
    await house.clock.jump(jump)
    await house.passes(539)
    assert await house.states() == ["waiting"]
    await house.reply("Let in")
    assert (await house.states(), len(house.outside.calls)) == (["done"], 1)


@JUMPS
async def test_a_question_is_over_when_its_time_is(house: House, jump: float) -> None:
    await house.save(ASKS)
    await house.happens(house.vehicle())
    await house.passes(60)
    await house.clock.jump(jump)
    await house.passes(240)
    (question,) = await house.rows(workflow_approvals)
    assert "role:boss" in question["who"]
    await house.passes(301)
    assert (await house.states(), await house.logged()) == (["done"], ["nobody answered"])
    with pytest.raises(AlreadyAnswered):
        await house.engine.answer(question["id"], "Let in", GUARD)
    assert house.outside.calls == []


@JUMPS
@pytest.mark.parametrize("restarted", ["running", "restarted-after", "down-meanwhile"])
async def test_a_wait_takes_as_long_as_it_says(house: House, jump: float, restarted: str) -> None:
    await house.save(WAITS)
    await house.happens(house.vehicle())
    await house.passes(60)
    if restarted == "down-meanwhile":
        await house.close()
    await house.clock.jump(jump)
    if restarted == "restarted-after":
        await house.restart()
    elif restarted == "down-meanwhile":
        await house.open()
    await house.passes(539)
    assert await house.states() == ["waiting"]
    await house.passes(2)
    assert (await house.states(), await house.logged()) == (["done"], ["waited"])


@JUMPS
async def test_what_a_run_waits_for_may_come_for_as_long_as_it_says(house: House, jump: float) -> None:
    await house.save(WAITS_FOR)
    await house.happens(house.vehicle())
    await house.clock.jump(jump)
    await house.happens(house.event("gate.changed", {"gate": "main_gate", "to": "closed"}, camera=None))
    await house.passes(599)
    assert await house.states() == ["waiting"]
    await house.passes(2)
    assert await house.logged() == ["shut"]


@JUMPS
async def test_an_attempt_is_made_again_as_soon_as_it_would_have_been(house: House, jump: float) -> None:
    house.site.approved = frozenset({"destination:ticketing"})
    house.outside.raises["webhook"] = [Unreachable("No answer.")]
    await house.save(TELLS)
    await house.happens(house.vehicle())
    await house.clock.jump(jump)
    await house.passes(6)
    assert (await house.states(), len(house.outside.calls)) == (["done"], 2)


@JUMPS
async def test_nobody_has_to_wake_the_engine_for_it(house: House, jump: float) -> None:
    """Timer and sweeper by themselves, also where the clock they sleep by was set back by years."""
    await house.save(WAITS)
    await house.happens(house.vehicle())
    await house.clock.jump(jump)
    for _ in range(22):
        await goes_by(house, 30)
    await until(partial(done, house))
    assert await house.logged() == ["waited"]


async def done(house: House) -> bool:
    return await house.states() == ["done"]


@JUMPS
async def test_no_gate_is_silenced_for_longer_than_its_limits_say(house: House, jump: float) -> None:
    """An hour that the clock shows twice counts as one."""
    await house.save(WAITS.replace("10m }\nwhen", "10m, per_hour: 1 }\nwhen"))
    await house.happens(house.vehicle())
    await house.clock.jump(jump)
    await house.passes(601)
    await house.happens(house.vehicle())
    await house.passes(2 * HOUR)
    assert await house.happens(house.vehicle()) is not None


@JUMPS
async def test_it_is_told_once_with_what_to_look_at(house: House, jump: float) -> None:
    await house.clock.jump(jump)
    await house.passes(31)
    await house.passes(31)
    (alert,) = await house.rows(select(alerts).where(alerts.c.kind == "engine"))
    which = "forward" if jump > 0 else "back"
    assert alert["title"].startswith("The clock of this machine was set") and alert["title"].endswith(which)
    assert "time synchronisation" in alert["message"]


async def test_a_clock_that_drifts_is_no_clock_that_is_set(house: House) -> None:
    await house.save(WAITS)
    await house.happens(house.vehicle())
    for _ in range(10):
        await house.clock.jump(0.5)
        await house.passes(20)
    assert await house.engine_alerts() == []


# -- schedules -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("schedule", ["{ every: 15m }", '{ cron: "*/15 * * * *" }'])
@JUMPS
async def test_a_rhythm_goes_on_within_its_length(house: House, schedule: str, jump: float) -> None:
    await house.save(ROUNDS % schedule)
    await house.passes(15 * 60)
    assert await house.logged() == ["round"]
    await house.clock.jump(jump)
    await house.passes(1)
    before = len(await house.logged())
    assert before <= 2  # at most the newest of the times that were jumped over
    for _ in range(3):
        await house.passes(15 * 60)
    # A clock that was never set says nothing of when anything is due.
    assert len(await house.logged()) == before + (3 if is_set(house.clock.now()) else 0)


async def test_a_time_of_a_rhythm_that_the_clock_shows_again_does_not_fire_again(house: House) -> None:
    await house.save(ROUNDS % "{ every: 15m }")
    await house.passes(15 * 60)
    await house.clock.jump(-HOUR)
    await house.passes(1)
    for _ in range(4):
        await house.passes(15 * 60)
    assert await house.logged() == ["round"] * 4  # 09:15, and then 08:30 to 09:00


async def test_a_time_of_day_that_the_clock_shows_again_does_not_fire_again(house: House) -> None:
    await house.save(ROUNDS % '{ at: "10:30" }')  # 09:30 in UTC
    await house.passes(35 * 60)
    assert await house.logged() == ["round"]
    await house.clock.jump(-HOUR)
    await house.passes(55 * 60)
    assert await house.logged() == ["round"]
    await house.passes(24 * HOUR)
    assert await house.logged() == ["round", "round"]


async def test_a_time_of_day_that_was_jumped_over_fires_once_within_its_grace_and_is_told_after_it(
    house: House,
) -> None:
    await house.save(ROUNDS % '{ at: "10:30" }')
    await house.clock.jump(HOUR)
    await house.passes(1)
    assert await house.logged() == ["round"]
    await house.clock.jump(24 * HOUR + HOUR)
    await house.passes(1)
    assert await house.logged() == ["round"]
    assert any("a schedule was missed" in title for title in await house.engine_alerts())


# -- a machine without a clock of its own -----------------------------------------------------------------------------------
async def test_started_in_1970_it_asks_people_and_fires_nothing_until_the_time_is_known(house: House) -> None:
    await house.save(ASKS)
    await house.save(ROUNDS % "{ every: 15m }")
    await house.save(WAITS.replace("[gate]", "[yard]"))
    await house.happens(house.vehicle(camera="cam-2"))
    await house.close()
    # Ten minutes later it has power again, and no idea of the time.
    house.clock = SimulatedClock(datetime(1970, 1, 1, tzinfo=UTC), 20.0 - 3e8)
    await house.open()
    run_id = await house.happens(house.vehicle())
    await house.passes(120)
    assert (await house.states(), await house.logged()) == (["waiting", "waiting"], [])
    known = START + timedelta(minutes=12)
    await house.clock.jump((known - house.clock.now()).total_seconds())
    await house.passes(1)
    # What was due is done now, what has begun since the start keeps its ten minutes.
    assert sorted(await house.logged()) == ["waited"]
    assert (await house.run(run_id))["state"] == "waiting"
    await house.passes(470)
    assert (await house.run(run_id))["state"] == "waiting"
    await house.passes(10)
    assert (await house.run(run_id))["state"] == "done"
    assert house.outside.calls == []


async def test_what_a_clock_two_years_ahead_left_behind_is_not_left_for_two_years(house: House) -> None:
    await house.clock.jump(YEARS)
    await house.save(ASKS)
    await house.save(ROUNDS % "{ every: 15m }")
    await house.happens(house.vehicle())
    await house.close()
    house.clock = SimulatedClock(START + timedelta(minutes=1), 20.0 - 3e8)
    await house.open()
    await house.passes(15 * 60)
    assert sorted(await house.logged()) == ["nobody answered", "round"]
    assert house.outside.calls == []


async def test_a_database_that_cannot_be_read_then_is_asked_again(house: House) -> None:
    await house.save(WAITS)
    await house.happens(house.vehicle())
    await house.clock.jump(HOUR)
    read = house.store.read

    async def held(query: object, params: object = None) -> object:
        raise ReadFailed("the database is locked")

    house.store.read = held  # type: ignore[method-assign, assignment]
    with pytest.raises(ReadFailed):
        await house.engine.fire_due()
    house.store.read = read  # type: ignore[method-assign]
    await house.passes(598)
    assert await house.states() == ["waiting"]
    await house.passes(3)
    assert await house.states() == ["done"]


async def test_dating_anew_twice_changes_nothing_more(house: House) -> None:
    await house.save(WAITS)
    await house.happens(house.vehicle())
    await house.clock.jump(HOUR)
    await house.passes(1)
    dated = await house.rows(waits)
    await Jumps(house.engine._parts).look()
    assert await house.rows(waits) == dated


async def test_a_cooldown_from_a_clock_that_was_ahead_does_not_hold(house: House) -> None:
    await house.save(WAITS)
    await house.store.submit(Op("DELETE FROM counters"))
    await house.clock.jump(YEARS)
    await house.happens(house.vehicle())
    await house.passes(601)
    await house.clock.jump(-YEARS)
    assert await house.happens(house.vehicle()) is not None
    assert {row["name"] for row in await house.rows(counters)} >= {"cooldown"}
