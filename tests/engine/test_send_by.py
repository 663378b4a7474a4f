"""A move carries until when it may be sent, so that no slow way to a gate makes it late."""

from __future__ import annotations

from siteward.core.errors import TooLate

from .house import House
from .test_acting import ASKS, TELLS


async def test_a_move_may_be_sent_until_the_reply_that_allows_it_is_too_old(house: House) -> None:
    await house.save(ASKS % "- wait: 40s")
    await house.happens(house.vehicle())
    await house.reply("Let in")
    replied = house.clock.since_boot()
    await house.passes(40)
    (call,) = house.outside.named("gate.open")
    assert call.send_by == replied + house.site.fresh


async def test_a_move_that_came_too_late_has_expired_and_an_alert_says_so(house: House) -> None:
    house.outside.raises["gate.open"] = [TooLate("Nothing was sent.")]
    await house.save(ASKS % "")
    run_id = await house.happens(house.vehicle())
    await house.reply("Let in")
    assert (await house.run(run_id))["state"] == "expired"
    assert await house.logged() == ["always"]
    assert await house.engine_alerts() == ["Gate: gate.open expired"]


async def test_what_moves_nothing_may_be_sent_at_any_time(house: House) -> None:
    house.site.approved = frozenset({"destination:ticketing"})
    await house.save(TELLS)
    await house.happens(house.vehicle())
    assert [call.send_by for call in house.outside.named("webhook")] == [None]
