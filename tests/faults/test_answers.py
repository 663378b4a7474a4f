"""Answers at the wrong moment, and answers that are none: the first one counts, every other is told so, and what is not clearly a yes of
somebody who was asked moves nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import select

from siteward.core.engine.waits import AlreadyAnswered
from siteward.core.errors import ConfigurationInvalid, NotAllowed, NotFound, SitewardError
from siteward.core.store.schema import workflow_approvals, workflow_runs
from siteward.core.store.writer import Op
from tests.engine.house import GUARD, House

ASKS = """
contract: workflow.v1
name: Gate
limits: { cooldown: 0s }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - ask_person: { who: role:guard, message: "A car", replies: [Let in, Send away], timeout: 10m }
    Let in:
      - gate.open: { gate: main_gate }
    Send away:
      - log: "sent away"
    no_answer: [log: "nobody answered"]
"""
TWICE = """
contract: workflow.v1
name: Twice
limits: { cooldown: 0s }
when:
  detect.vehicle_in_zone: { cameras: [gate], zone: apron }
then:
  - for_each:
      in: [first, second]
      as: visit
      do:
        - ask_person: { who: role:guard, message: "The {visit}", replies: [Let in], timeout: 10m }
          Let in:
            - gate.open: { gate: main_gate }
          no_answer: [log: "{visit}: nobody"]
"""


async def question(house: House) -> str:
    found = await house.rows(select(workflow_approvals).where(workflow_approvals.c.state == "open"))
    return str(found[-1]["id"])


async def asked(house: House, text: str = ASKS) -> str:
    await house.save(text)
    await house.happens(house.vehicle())
    return await question(house)


# -- races -----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("replies", [("Let in", "Let in"), ("Let in", "Send away"), ("Send away", "Let in")])
async def test_of_many_answers_at_once_one_counts_and_all_others_are_told_whose(
    house: House, replies: tuple[str, str]
) -> None:
    approval = await asked(house)
    giving = [house.engine.answer(approval, replies[n % 2], f"user:guard{n}") for n in range(20)]
    came = await asyncio.gather(*giving, return_exceptions=True)
    await house.engine.drain()
    lost = [one for one in came if isinstance(one, BaseException)]
    assert len(lost) == 19
    (row,) = await house.rows(workflow_approvals)
    winner = f"Already answered by {row['answered_by'].removeprefix('user:')}: {row['reply']}."
    assert {str(one) for one in lost} == {winner}
    assert len(house.outside.calls) == (1 if row["reply"] == "Let in" else 0)
    assert await house.states() == ["done"]


async def test_the_same_person_again_is_told_so_and_nothing_moves_again(house: House) -> None:
    approval = await asked(house)
    await house.engine.answer(approval, "Let in", GUARD)
    await house.engine.drain()
    with pytest.raises(AlreadyAnswered, match="Already answered by gerda: Let in"):
        await house.engine.answer(approval, "Let in", GUARD)
    await house.engine.drain()
    assert len(house.outside.calls) == 1


async def test_an_answer_in_the_moment_that_its_time_is_over_is_one_of_the_two(house: House) -> None:
    for _ in range(10):
        approval = await asked(house) if not await house.rows(workflow_runs) else await again(house)
        await house.clock.advance(599.9)
        before = len(house.outside.calls)
        answering = house.engine.answer(approval, "Let in", GUARD)
        house.clock._now = house.clock.now()
        _, came = await asyncio.gather(house.passes(0.1), answering, return_exceptions=True)
        await house.engine.drain()
        (row,) = await house.rows(select(workflow_approvals).where(workflow_approvals.c.id == approval))
        moved = len(house.outside.calls) - before
        assert (row["state"], moved, isinstance(came, AlreadyAnswered)) in (
            ("answered", 1, False),
            ("no_answer", 0, True),
        )


async def again(house: House) -> str:
    await house.happens(house.vehicle())
    return await question(house)


async def test_an_answer_to_a_cancelled_run_moves_nothing(house: House) -> None:
    approval = await asked(house)
    (run,) = await house.rows(workflow_runs)
    await house.engine.cancel(run["id"], "user:admin")
    with pytest.raises(AlreadyAnswered, match="withdrawn"):
        await house.engine.answer(approval, "Let in", GUARD)
    await house.engine.drain()
    assert house.outside.calls == []


async def test_an_answer_and_a_cancel_at_once_are_one_of_the_two(house: House) -> None:
    approval = await asked(house)
    (run,) = await house.rows(workflow_runs)
    await asyncio.gather(
        house.engine.answer(approval, "Let in", GUARD),
        house.engine.cancel(run["id"], "user:admin"),
        return_exceptions=True,
    )
    await house.engine.drain()
    (state,) = await house.states()
    assert (state, len(house.outside.calls)) in (("cancelled", 0), ("done", 1))


async def test_an_answer_names_its_own_visit_and_never_opens_for_the_next(house: House) -> None:
    first = await asked(house, TWICE)
    await house.passes(601)
    second = await question(house)
    assert first != second
    with pytest.raises(AlreadyAnswered, match="over"):
        await house.engine.answer(first, "Let in", GUARD)
    await house.engine.drain()
    assert (house.outside.calls, await house.states()) == ([], ["waiting"])
    await house.engine.answer(second, "Let in", GUARD)
    await house.engine.drain()
    assert (len(house.outside.calls), await house.logged()) == (1, ["first: nobody"])


async def test_an_answer_before_its_question_is_parked_is_not_lost(house: House) -> None:
    """The question is committed, and its run not yet let go of."""
    await house.save(ASKS)
    answered = asyncio.Event()
    submit = house.store.submit

    async def answering(*ops: Any) -> None:
        await submit(*ops)
        if not answered.is_set() and any("INSERT INTO workflow_approvals" in op.sql for op in ops):
            answered.set()
            house.store.submit = submit  # type: ignore[method-assign]
            await house.engine.answer(await question(house), "Let in", GUARD)

    house.store.submit = answering  # type: ignore[method-assign]
    await house.happens(house.vehicle())
    assert answered.is_set()
    assert (await house.states(), len(house.outside.calls)) == (["done"], 1)


# -- what is no yes ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "reply",
    [
        "",
        " ",
        "let in",
        "Let in ",
        "Let in\n",
        "LET IN",
        "yes",
        "true",
        "1",
        "no_answer",
        "Let in, Send away",
        "\u0000",
    ],
)
async def test_what_is_none_of_the_replies_is_no_yes(house: House, reply: str) -> None:
    approval = await asked(house)
    with pytest.raises(ConfigurationInvalid):
        await house.engine.answer(approval, reply, GUARD)
    await house.passes(601)
    assert (house.outside.calls, await house.logged()) == ([], ["nobody answered"])


@pytest.mark.parametrize("reply", [None, True, 1, ["Let in"], {"reply": "Let in"}])
async def test_what_is_no_text_is_no_yes(house: House, reply: Any) -> None:
    approval = await asked(house)
    with pytest.raises((SitewardError, TypeError)):
        await house.engine.answer(approval, reply, GUARD)
    await house.passes(601)
    assert (house.outside.calls, await house.logged()) == ([], ["nobody answered"])


@pytest.mark.parametrize("approval", ["", "0", "' OR 1=1 --", "01ARZ3NDEKTSV4RRFFQ69G5FAV"])
async def test_an_answer_to_no_question_is_refused(house: House, approval: str) -> None:
    await asked(house)
    with pytest.raises(NotFound):
        await house.engine.answer(approval, "Let in", GUARD)
    assert house.outside.calls == []


async def test_somebody_who_was_not_asked_is_refused(house: House) -> None:
    approval = await asked(house)
    with pytest.raises(NotAllowed):
        await house.engine.answer(approval, "Let in", "user:stranger")
    await house.passes(601)
    assert (house.outside.calls, await house.logged()) == ([], ["nobody answered"])


@pytest.mark.parametrize(
    "damage",
    [
        "reply = NULL",
        "answered_by = NULL",
        "reply = ''",
        "reply = 'yes'",
        "reply = 'no_answer'",
        "answered_at = NULL",
        "answered_at = 0",
        "answered_by = NULL, reply = NULL",
    ],
)
async def test_an_answer_whose_row_is_damaged_opens_nothing(house: House, damage: str) -> None:
    """The answer was committed, its wake was not, and the row that the next start finds is not whole."""
    approval = await asked(house)
    await house.close()
    await house.open()
    now, boot = house.clock.now().timestamp(), house.clock.since_boot()
    whole = (
        "state = 'answered', reply = 'Let in', answered_by = 'user:gerda', answered_at = :now, answered_boot = :boot"
    )
    given = {"id": approval, "now": now, "boot": boot}
    await house.store.submit(Op(f"UPDATE workflow_approvals SET {whole} WHERE id = :id", given))
    await house.store.submit(Op(f"UPDATE workflow_approvals SET {damage} WHERE id = :id", {"id": approval}))
    await house.engine._guarded("sweep", house.engine.sweep())
    await house.engine._drivers.idle()
    assert house.outside.calls == []
