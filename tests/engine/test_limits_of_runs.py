"""One at a time, seen again, superseded, cooldown, caps, chains."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import select

from siteward.core.contract.document import State
from siteward.core.contract.registry import Provenance
from siteward.core.engine.waits import AlreadyAnswered
from siteward.core.store.schema import alerts, counters, workflow_approvals, workflow_runs, workflows
from siteward.core.store.writer import Op

from .house import House

ASKS = """
contract: workflow.v1
name: Asks
limits: { cooldown: 60s%s }
when:
  any:
    - detect.vehicle_in_zone: { cameras: [gate], zone: apron }
    - event: { type: plate.recognized.v1, cameras: [gate] }
then:
  - ask_person: { who: role:guard, message: "A car at {camera}", replies: [Let in, Send away], timeout: 10m }
    Let in: [gate.open: { gate: main_gate }]
    Send away: [log: "sent away"]
"""

LOGS = """
contract: workflow.v1
name: Logs
limits: { cooldown: %s%s }
when:
  detect.vehicle_in_zone: { cameras: [gate, yard], zone: apron }
then:
  - log: "seen at {camera}"
"""


async def counted(house: House, name: str) -> int:
    found = await house.rows(select(counters).where(counters.c.name == name))
    return sum(row["count"] for row in found)


async def test_a_repeat_while_a_run_waits_is_counted_on_it_with_the_newest_picture(house: House) -> None:
    await house.save(ASKS % "")
    first = await house.happens(house.vehicle(track="7", picture="early"))
    assert await house.happens(house.vehicle(track="7", picture="later")) is None
    assert await house.happens(house.vehicle(picture=None)) is None
    run = await house.run(first)
    assert (run["state"], run["seen_again"], run["newest_picture"]) == ("waiting", 2, "later")


async def test_the_next_car_ends_the_waiting_run_and_a_late_reply_opens_for_nobody(house: House) -> None:
    await house.save(ASKS % "")
    first = await house.happens(house.plate("AB 12"))
    old = (await house.rows(workflow_approvals))[0]["id"]
    second = await house.happens(house.plate("XY 99"))
    assert second is not None
    ended = await house.run(first)
    assert (ended["state"], ended["state_reason"]) == ("cancelled", "superseded")
    assert (await house.run(second))["state"] == "waiting"
    with pytest.raises(AlreadyAnswered, match="withdrawn"):
        await house.engine.answer(old, "Let in", "user:gerda")
    await house.engine.drain()
    assert house.outside.calls == []
    await house.reply("Let in")
    assert [call.run_id for call in house.outside.calls] == [second]


async def test_the_same_plate_on_another_track_is_the_same_visit(house: House) -> None:
    await house.save(ASKS % "")
    first = await house.happens(house.plate("AB 12"))
    assert await house.happens(house.plate("ab-12")) is None
    assert (await house.run(first))["seen_again"] == 1


async def test_a_car_with_a_plate_of_its_own_key_runs_beside_the_other(house: House) -> None:
    await house.save(ASKS % ", one_at_a_time: plate")
    await house.happens(house.plate("AB 12"))
    await house.happens(house.plate("XY 99"))
    assert await house.states() == ["waiting", "waiting"]


async def test_what_is_not_known_falls_back_to_the_camera(house: House) -> None:
    await house.save(ASKS % ", one_at_a_time: plate")
    await house.happens(house.vehicle())
    assert await house.happens(house.vehicle()) is None
    assert await house.states() == ["waiting"]


async def test_a_cooldown_refuses_with_a_counter_and_a_sampled_reason(house: House) -> None:
    await house.save(LOGS % ("60s", ""))
    await house.happens(house.vehicle())
    await house.passes(30)
    assert await house.happens(house.vehicle(id="too-soon")) is None
    refused = next(row for row in await house.rows(counters) if row["name"] == "refused.cooldown")
    assert refused["count"] == 1
    assert "too-soon" in refused["sample"] and "cooldown" in refused["sample"]
    await house.passes(30)
    await house.happens(house.vehicle())
    assert await house.states() == ["done", "done"]


async def test_the_next_car_is_not_refused_for_the_cooldown_of_the_one_before(house: House) -> None:
    await house.save(LOGS % ("60s", ""))
    await house.happens(house.vehicle(track="1"))
    await house.passes(20)
    assert await house.happens(house.vehicle(track="1")) is None
    assert await house.happens(house.vehicle(track="2")) is not None
    await house.passes(20)
    assert await house.happens(house.vehicle(track="2")) is None
    assert await house.happens(house.vehicle()) is None  # in doubt it is the same visit
    assert await house.states() == ["done", "done"]


async def test_a_cooldown_that_began_before_it_said_for_whom_holds_for_everybody(house: House) -> None:
    await house.save(LOGS % ("60s", ""))
    await house.happens(house.vehicle(track="1"))
    await house.store.submit(Op("UPDATE counters SET sample = NULL WHERE name = 'cooldown'"))
    await house.restart()
    assert await house.happens(house.vehicle(track="2")) is None


async def test_another_camera_has_its_own_cooldown(house: House) -> None:
    await house.save(LOGS % ("60s", ""))
    await house.happens(house.vehicle(camera="cam-1"))
    await house.happens(house.vehicle(camera="cam-2"))
    assert await house.states() == ["done", "done"]


async def test_the_cap_of_the_hour_is_said_in_one_alert_and_is_over_with_the_hour(house: House) -> None:
    workflow_id = await house.save(LOGS % ("0s", ", per_hour: 2"))
    for _ in range(5):
        await house.happens(house.vehicle())
    assert await house.states() == ["done", "done"]
    assert await house.engine_alerts() == ["Logs has used its 2 runs of this hour"]
    assert await counted(house, "refused.per_hour") == 3
    attention = select(workflows.c.attention).where(workflows.c.id == workflow_id)
    assert "per_hour" in (await house.rows(attention))[0]["attention"]
    await house.passes(3600)
    await house.happens(house.vehicle())
    assert await house.states() == ["done", "done", "done"]
    assert (await house.rows(attention))[0]["attention"] is None


async def test_events_at_the_same_moment_say_the_cap_of_the_hour_once(house: House) -> None:
    await house.save(LOGS % ("0s", ", per_hour: 1"))
    await house.happens(house.vehicle())
    await asyncio.gather(*(house.engine.accept(house.vehicle(camera=camera)) for camera in ("cam-1", "cam-2", "cam-3")))
    await house.engine.drain()
    assert await counted(house, "refused.per_hour") == 3
    assert await house.engine_alerts() == ["Logs has used its 1 runs of this hour"]


async def test_a_cap_that_holds_after_an_edit_needs_attention_again(house: House) -> None:
    workflow_id = await house.save(LOGS % ("0s", ", per_hour: 1"))
    for _ in range(2):
        await house.happens(house.vehicle())
    await house.engine.save_workflow(LOGS % ("1s", ", per_hour: 1"), "user:admin", workflow_id)
    attention = select(workflows.c.attention).where(workflows.c.id == workflow_id)
    assert (await house.rows(attention))[0]["attention"] is None
    await house.passes(5)
    await house.happens(house.vehicle())
    assert "per_hour" in (await house.rows(attention))[0]["attention"]
    assert len(await house.engine_alerts()) == 1


async def test_cars_that_end_each_others_runs_are_counted_by_the_cap_too(house: House) -> None:
    await house.save((LOGS % ("0s", ", per_hour: 2")) + "  - wait: 10m\n")
    runs = [await house.happens(house.vehicle(track=str(number))) for number in range(4)]
    assert runs[2:] == [None, None]
    assert await house.states() == ["cancelled", "waiting"]
    assert await counted(house, "refused.per_hour") == 2
    assert await house.engine_alerts() == ["Logs has used its 2 runs of this hour"]


async def test_a_cap_hides_no_ask_of_a_car_that_ends_anothers_run_and_is_said(house: House) -> None:
    await house.save(ASKS % ", per_hour: 1")
    for number in range(3):
        await house.happens(house.plate(f"P{number}"))
    assert await house.states() == ["cancelled", "cancelled", "waiting"]
    assert await house.engine_alerts() == ["Asks has used its 1 runs of this hour"]


async def test_a_cap_never_hides_an_ask(house: House) -> None:
    await house.save(ASKS % ", per_hour: 1, one_at_a_time: plate")
    for number in range(3):
        await house.happens(house.plate(f"P{number}"))
    assert await house.states() == ["waiting"] * 3
    assert await house.engine_alerts() == ["Asks has used its 1 runs of this hour"]


async def test_events_at_the_same_moment_make_one_run_per_key(house: House) -> None:
    await house.save(ASKS % "")
    made = await asyncio.gather(*(house.engine.accept(house.vehicle(track="7")) for _ in range(20)))
    await house.engine.drain()
    assert sum(len(runs) for runs in made) == 1
    assert [row["seen_again"] for row in await house.rows(workflow_runs)] == [19]


CHAINED = """
contract: workflow.v1
name: Chained %s
limits: { cooldown: 0s }
when:
  alert: {}
then:
  - alert: { severity: low, title: "again" }
"""


async def test_a_workflow_ignores_what_it_caused_itself(house: House) -> None:
    await house.save(CHAINED % "one")
    await house.happens(house.event("alert", {"title": "first", "severity": "low"}, provenance=Provenance.SENSOR))
    assert await house.states() == ["done"]
    assert await counted(house, "refused.own") == 1


async def test_chains_end_at_the_third_workflow(house: House) -> None:
    await house.save(CHAINED % "one")
    await house.save(CHAINED % "two")
    await house.happens(house.event("alert", {"title": "first", "severity": "low"}))
    chains = [row["chain"] for row in await house.rows(select(alerts).where(alerts.c.kind == "alert"))]
    assert max(chains) == 3
    assert await counted(house, "refused.chain") > 0
    runs = await house.rows(workflow_runs)
    assert len({row["correlation_id"] for row in runs}) == 1


async def test_off_takes_no_events(house: House) -> None:
    await house.save(LOGS % ("0s", ""), State.OFF)
    assert await house.happens(house.vehicle()) is None
    assert await house.states() == []
