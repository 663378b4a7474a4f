"""Two engines on one database: each run has one driver, the dead lose theirs, and who comes late changes and moves nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from sqlalchemy import select

from siteward.core.contract.document import State
from siteward.core.engine.catalog import Catalog
from siteward.core.engine.waits import AlreadyAnswered
from siteward.core.plugins.objects import ActionCall
from siteward.core.store.schema import alerts, events, workflow_approvals, workflow_runs
from tests.engine.house import GUARD, House
from tests.engine.test_acting import ASKS
from tests.engine.test_races import EVERY_QUARTER, LOGS
from tests.engine.test_waiting import WAITS_FOR

from .several import Several, until

WAITS = """
contract: workflow.v1
name: Waits
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - wait: 5m
  - log: "waited"
"""
LETS_IN = """
contract: workflow.v1
name: Lets in
limits: { cooldown: 0s, per_hour: 1000 }
when:
  event: { type: plate.recognized.v1, cameras: [gate] }
if:
  - in_list: { value: "{plate}", list: residents }
then:
  - gate.open: { gate: main_gate }
"""


async def owner_of(house: House, run: str | None) -> str:
    return str((await house.run(run))["lease_owner"])


async def open_question(house: House) -> str:
    found = await house.rows(select(workflow_approvals).where(workflow_approvals.c.state == "open"))
    return str(found[-1]["id"])


# -- who drives --------------------------------------------------------------------------------------------------------
async def test_an_event_that_two_engines_are_given_makes_one_run(several: Several) -> None:
    first, second = await several.engine("a"), await several.engine("b")
    await first.save(LOGS % "0s")
    await second.engine.follow()
    event = first.vehicle()
    await asyncio.gather(*(one.engine.accept(event) for one in (first, second, first, second)))
    for one in (first, second):
        await one.engine.drain()
    assert await first.states() == ["done"]
    assert await first.logged() == ["seen"]


async def test_a_run_is_left_to_the_engine_that_holds_it(several: Several) -> None:
    first, second = await several.engine("a"), await several.engine("b")
    await first.save(WAITS)
    run = await first.happens(first.vehicle())
    await first.clock.advance(301)
    assert not await second.engine.fire_due()
    assert not await second.engine.sweep()
    await first.engine.drain()
    assert (await first.run(run))["state"] == "done"
    assert await owner_of(first, run) == first.engine._parts.owner


async def test_the_waits_of_a_dead_engine_are_ended_once_by_another(several: Several) -> None:
    first, second, third = [await several.engine(name) for name in "abc"]
    await first.save(WAITS)
    run = await first.happens(first.vehicle())
    await several.kill(first)
    await first.clock.advance(301)
    for one in (second, third):
        await one.engine.follow()
    await asyncio.gather(second.engine.drain(), third.engine.drain())
    await asyncio.gather(second.engine.drain(), third.engine.drain())
    assert (await second.run(run))["state"] == "done"
    assert await second.logged() == ["waited"]


async def test_runs_of_the_dead_are_shared_by_who_takes_them_at_once(several: Several) -> None:
    first, second, third = [await several.engine(name) for name in "abc"]
    for number in range(40):
        await first.save(WAITS.replace("Waits", f"Waits {number}"))
    await first.engine.accept(first.vehicle())
    await first.engine.drain()
    await several.kill(first)
    await asyncio.gather(second.engine.sweep(), third.engine.sweep())
    owners = several.sql("SELECT lease_owner, count(*) FROM workflow_runs WHERE state = 'waiting' GROUP BY 1")
    assert sum(count for _, count in owners) == 40
    assert first.engine._parts.owner not in {owner for owner, _ in owners}


async def test_an_engine_that_stops_gives_its_runs_back_at_once(several: Several) -> None:
    first, second = await several.engine("a"), await several.engine("b")
    await first.save(WAITS)
    run = await first.happens(first.vehicle())
    await first.engine.stop()
    await second.engine.follow()
    await second.engine.sweep()
    assert await owner_of(second, run) == second.engine._parts.owner


async def test_an_engine_that_is_started_again_takes_its_own_runs_up_at_once(several: Several) -> None:
    first = await several.engine("a")
    await first.save(WAITS)
    run = await first.happens(first.vehicle())
    await first.engine._tasks.stop(0)
    again = await several.engine("a")
    assert await owner_of(again, run) == again.engine._parts.owner
    await first.engine.leases.beat()  # type: ignore[union-attr]
    assert first.engine.leases is not None
    assert first.engine.leases.replaced.is_set()


# -- who comes late ----------------------------------------------------------------------------------------------------
async def test_an_engine_that_was_frozen_in_a_move_changes_nothing_when_it_goes_on(several: Several) -> None:
    first, second = await several.engine("a"), await several.engine("b")
    thaws, acting = asyncio.Event(), asyncio.Event()

    async def freezes(_call: ActionCall) -> None:
        acting.set()
        await thaws.wait()

    first.site.lists["residents"] = [{"plate": "B1"}]
    first.outside.before["gate.open"] = freezes
    await first.save(LETS_IN)
    (run,) = await first.engine.accept(first.plate("B1"))
    await acting.wait()
    await several.freeze(first)
    await second.engine.follow()
    await second.engine.drain()
    assert (await second.run(run))["state"] == "unknown"
    assert len(await second.engine_alerts()) == 1
    assert second.outside.named("gate.open") == []
    thaws.set()
    await first.engine._drivers.idle()
    # The call of the frozen one was under way and ends; nothing more is sent, and what came of it changes no row.
    assert len(second.outside.named("gate.open")) == 1
    assert (await second.run(run))["state"] == "unknown"
    assert (await second.steps(run))["then.0"] == "unknown"
    assert len(await second.engine_alerts()) == 1


async def test_an_engine_that_was_frozen_before_its_move_sends_nothing(several: Several) -> None:
    taken = asyncio.Event()

    class FreezesAt:
        """Another engine takes the run over while this one is between its intent and its act."""

        def reach(self, name: str) -> None:
            if name == "intent.committed" and not taken.is_set():
                taken.set()
                several.sql("UPDATE workflow_runs SET fence = fence + 1, lease_owner = 'another'")

    first = await several.engine("a", FreezesAt())
    first.site.lists["residents"] = [{"plate": "B1"}]
    await first.save(LETS_IN)
    await first.engine.accept(first.plate("B1"))
    await first.engine._drivers.idle()
    assert taken.is_set()
    assert first.outside.named("gate.open") == []


@pytest.mark.parametrize("state", ["off", "test"])
@pytest.mark.parametrize("moment", ["commit.begin", "intent.committed"])
async def test_a_switch_that_nobody_told_holds_before_a_move(several: Several, state: str, moment: str) -> None:
    """Another process writes the state while this engine is about to act; no poke, no look comes between."""

    class SwitchesAt:
        def __init__(self) -> None:
            self.armed, self.switched = False, False

        def reach(self, name: str) -> None:
            if name == "step.begin":
                self.armed = True
            elif self.armed and name == moment and not self.switched:
                self.switched = True
                several.sql(f"UPDATE workflows SET state = '{state}'")

    switches = SwitchesAt()
    first = await several.engine("a", switches)
    first.site.lists["residents"] = [{"plate": "B1"}]
    await first.save(LETS_IN)
    (run,) = await first.engine.accept(first.plate("B1"))
    await first.engine._drivers.idle()
    assert switches.switched
    assert first.outside.named("gate.open") == []
    expected = {"off": "refused", "test": "would_have"}[state]
    assert (await first.steps(run))["then.0"] == expected


# -- the web process ---------------------------------------------------------------------------------------------------
async def test_the_web_process_accepts_and_answers_and_the_engine_does_the_rest(several: Several) -> None:
    engine, web = await several.engine("a"), await several.web()
    await web.save(ASKS % "")
    assert await web.engine.accept(web.vehicle()) == ()

    async def asked() -> bool:
        return bool(await web.rows(workflow_approvals))

    await until(asked)
    question = await open_question(web)
    await web.engine.answer(question, "Let in", GUARD)

    async def ended() -> bool:
        return await web.states() == ["done"]

    await until(ended)
    assert len(engine.outside.named("gate.open")) == 1


async def test_an_event_that_waits_for_an_engine_meets_one_that_knows_the_workflows(
    several: Several, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new engine hears of the event at once, and reads its workflows slowly."""
    web = await several.web()
    await web.save(LOGS % "0s")
    await web.engine.accept(web.vehicle())
    refresh = Catalog.refresh

    async def slowly(self: Catalog, *, says: bool = True) -> None:
        await asyncio.sleep(1.0)
        await refresh(self, says=says)

    monkeypatch.setattr(Catalog, "refresh", slowly)
    engine = await several.engine("a")
    await engine.engine.drain()
    assert await engine.logged() == ["seen"]


async def test_what_no_poke_told_is_found_by_looking(several: Several, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, web = await several.engine("a"), await several.web()
    monkeypatch.setattr(web.store, "notify", lambda channel: None)
    await web.save(ASKS % "")
    await web.engine.accept(web.vehicle())
    await engine.engine.follow()
    await engine.engine.drain()
    await engine.engine.drain()
    await web.engine.answer(await open_question(web), "Let in", GUARD)
    await engine.engine.drain()
    assert await web.states() == ["done"]
    assert len(engine.outside.named("gate.open")) == 1


async def test_the_first_of_two_answers_in_two_processes_wins(several: Several) -> None:
    engine, web = await several.engine("a"), await several.web()
    await engine.save(ASKS % "")
    await engine.happens(engine.vehicle())
    question = await open_question(engine)
    both = (one.engine.answer(question, "Let in", GUARD) for one in (engine, web))
    said = await asyncio.gather(*both, return_exceptions=True)
    assert sum(isinstance(one, AlreadyAnswered) for one in said) == 1
    await engine.engine.drain()
    assert len(engine.outside.named("gate.open")) == 1


async def test_off_in_one_process_ends_the_runs_of_another(several: Several) -> None:
    engine, web = await several.engine("a"), await several.web()
    workflow = await engine.save(ASKS % "")
    run = await engine.happens(engine.vehicle())
    await web.engine.follow()
    await web.engine.set_state(workflow, State.OFF, "user:admin")
    assert (await engine.run(run))["state"] == "cancelled"

    async def followed() -> bool:
        return engine.engine.catalog.get(workflow).state is State.OFF

    await until(followed)
    assert await engine.engine.accept(engine.vehicle()) == ()


# -- what comes from outside and from the clock ------------------------------------------------------------------------
async def test_an_event_that_one_engine_takes_wakes_the_run_of_another(several: Several) -> None:
    first, second = await several.engine("a"), await several.engine("b")
    await first.save(WAITS_FOR)
    run = await first.happens(first.vehicle())
    await second.engine.follow()
    await second.happens(second.event("gate.changed", {"gate": "main_gate", "to": "open"}))
    assert (await second.run(run))["state"] == "done"


async def test_a_schedule_of_two_engines_fires_once(several: Several) -> None:
    first, second = await several.engine("a"), await several.engine("b")
    await first.save(EVERY_QUARTER)
    await second.engine.follow()
    await first.clock.advance(16 * 60)
    await asyncio.gather(first.engine.drain(), second.engine.drain())
    assert await first.logged() == ["round"]
    assert len(several.sql("SELECT id FROM waits WHERE kind = 'schedule'")) == 1


async def test_events_that_nobody_matched_are_shared_out_and_none_is_left(several: Several) -> None:
    web = await several.web()
    await web.save(LOGS % "0s")
    for _ in range(30):
        await web.engine.accept(web.vehicle(camera="cam-1"))
    first, second = await several.engine("a"), await several.engine("b")

    async def over() -> bool:
        for one in (first, second):
            await one.engine.drain()
        left = await web.rows(select(events).where(events.c.matched.is_(None)))
        return not left and set(await web.states()) == {"done"}

    await until(over)
    assert len(await web.states()) == len(await web.logged()) > 0


# -- leases ------------------------------------------------------------------------------------------------------------
async def test_what_one_process_does_passes_on_when_it_is_silent(several: Several) -> None:
    first, second = await several.engine("a"), await several.engine("b")
    changes: list[str] = []
    for name, one in (("a", first), ("b", second)):
        assert one.engine.leases is not None
        one.engine.leases.want(["entry:line"], lambda name=name: changes.append(name))  # type: ignore[misc]
        await one.engine.leases.beat()
    a, b = first.engine.leases, second.engine.leases
    assert a is not None
    assert b is not None
    assert a.holds("entry:line")
    assert not b.holds("entry:line")
    assert changes == ["a"]
    await several.freeze(first)
    await b.beat()
    assert b.holds("entry:line")
    await a.beat()
    assert not a.holds("entry:line")
    assert changes == ["a", "b", "a"]


async def test_who_cannot_beat_lets_go_before_another_takes_it(
    several: Several, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await several.engine("a")
    leases = first.engine.leases
    assert leases is not None
    assert leases.holds("upkeep")
    leases._beaten -= 13

    async def away(*ops: Any) -> None:
        raise ConnectionError

    monkeypatch.setattr(first.store, "submit", away)
    with pytest.raises(ConnectionError):
        await leases.beat()
    assert not leases.holds("upkeep")


# -- many at once ------------------------------------------------------------------------------------------------------
async def test_two_engines_that_count_the_same_things_do_not_block_each_other_in_circles(several: Several) -> None:
    first, second = await several.engine("a"), await several.engine("b")
    for number in range(8):
        await first.save(LOGS.replace("Logs", f"Logs {number}") % "0s")
    await second.engine.follow()

    async def give(house: House) -> None:
        await asyncio.gather(*(house.engine.accept(house.vehicle()) for _ in range(60)))

    await asyncio.gather(give(first), give(second))
    for one in (first, second, first, second):
        await one.engine.drain()
    assert set(await first.states()) == {"done"}
    assert not await first.rows(select(events).where(events.c.matched.is_(None)))
    with psycopg.connect(several.url) as connection:
        row = connection.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").fetchone()
    assert row == (0,)
    assert await first.rows(alerts) == []
    assert len(await first.rows(workflow_runs)) >= 8
